#!/usr/bin/python3
"""Holds a report against the job's own timers.

    trshim report --json DIR | check_truth.py [--check WHAT]... [options] - TRUTH [TRUTH.1 ...]

TRUTH is what examples/torch_train.py writes with --truth, one file a rank. Prints what it compared, with all figures, and
exits 1 if a check fails. Checks, all of them unless --check names some:

    steps     as many windows as the job made optimizer steps, on every rank
    totals    dataloader and checkpoint shares of all complete windows within --tolerance of the job's
    each      the same, window by window: within 3 % of the window or 2 ms, in 95 % of them
    sums      the classes of every window add up to it, to the nanosecond
    findings  those of --expect are there, and no other of medium or high severity, except those of --allow and those
              that the job's own timers bear out: on a busy machine a healthy job does wait for its data"""

import argparse
import json
import sys

CHECKS = ("steps", "totals", "each", "sums", "findings")
WINDOW_CLASSES = ("compute_ns", "comm_exposed_ns", "copy_exposed_ns", "dataloader_ns", "checkpoint_ns", "sync_ns",
                  "host_ns", "other_ns")
EACH_NS = 2_000_000
EACH_PART = 0.95
BORNE_OUT = {"dataloader-bound": ("dataloader", 0.05), "checkpoint-sync": ("checkpoint", 0.02)}


def by_rank(steps):
    ranks = {}
    for step in sorted(steps, key=lambda step: (step["rank"], step["step"])):
        ranks.setdefault(step["rank"], []).append(step)
    return ranks


def complete(steps):
    return [step for step in steps if not step["incomplete"]]


def share(steps, name):
    total = sum(step["end_ns"] - step["start_ns"] for step in steps)
    return sum(step[name + "_ns"] for step in steps) / total if total else float("nan")


class Comparison:
    checks = CHECKS
    classes = ("dataloader", "checkpoint")
    each_share = 0.03

    def __init__(self, report, truth, args):
        self.report = report
        self.args = args
        self.theirs = by_rank(report["steps"]["list"])
        self.truth = by_rank(truth)
        if len(self.truth) == 1 and len(self.theirs) == 1:  # a job of one rank may not know its number
            self.theirs = dict(zip(self.truth, self.theirs.values()))

    def steps(self):
        print(f"steps: by {self.report['steps']['method']}, confidence {self.report['steps']['confidence']}, "
              f"warm-up {self.report['steps']['warmup']}")
        good = sorted(self.theirs) == sorted(self.truth)
        if not good:
            print(f"  ranks {sorted(self.theirs)}, the job had {sorted(self.truth)}")
        for rank, truth in self.truth.items():
            theirs = self.theirs.get(rank, [])
            print(f"  rank {rank}: {len(theirs)} windows, {len(complete(theirs))} complete; "
                  f"the job: {len(truth)}, {len(complete(truth))}")
            good &= len(theirs) == len(truth) and len(complete(theirs)) == len(complete(truth))
        return good

    def totals(self):
        print(f"totals: shares within {self.args.tolerance}")
        good = True
        for rank, truth in self.truth.items():
            theirs = self.theirs.get(rank, [])
            for name in self.classes:
                got, want = share(complete(theirs), name), share(complete(truth), name)
                close = abs(got - want) <= self.args.tolerance
                print(f"  rank {rank} {name:10} {got:.4f}, the job: {want:.4f}{'' if close else '   <-- off'}")
                good &= close
        return good

    def each(self):
        print(f"each: within {self.each_share:.0%} of the window or {EACH_NS / 1e6:.0f} ms in {EACH_PART:.0%} of them")
        good = True
        for rank, truth in self.truth.items():
            theirs = self.theirs.get(rank, [])
            if len(theirs) != len(truth):
                print(f"  rank {rank}: windows cannot be paired")
                good = False
                continue
            pairs = [(t, w) for t, w in zip(theirs, truth) if not w["incomplete"]]
            for name in self.classes:
                good &= self.each_of(rank, name + "_ns", pairs)
        return good

    def each_of(self, rank, name, pairs):
        off = []
        for got, want in pairs:
            allowed = max(EACH_NS, self.each_share * (want["end_ns"] - want["start_ns"]))
            if abs(got[name] - want[name]) > allowed:
                off.append((got[name] - want[name], want["step"]))
        part = 1 - len(off) / len(pairs) if pairs else 0.0
        worst = ", ".join(f"window {step}: {by / 1e6:+.2f} ms" for by, step in sorted(off, key=lambda o: -abs(o[0]))[:5])
        print(f"  rank {rank} {name:13} {part:.1%} of {len(pairs)}{'   worst: ' + worst if off else ''}")
        return part >= EACH_PART

    def sums(self):
        wrong = [step["step"] for step in self.report["steps"]["list"]
                 if sum(step[name] or 0 for name in WINDOW_CLASSES) != step["end_ns"] - step["start_ns"]]
        print(f"sums: {len(wrong)} windows whose classes do not add up{': ' if wrong else ''}{wrong[:5] or ''}")
        return not wrong

    def borne_out(self):
        """Findings that the job's own timers call for."""
        return {finding for finding, (name, least) in BORNE_OUT.items()
                if any(share(complete(truth), name) >= least for truth in self.truth.values())}

    def findings(self):
        expected = self.args.expect
        allowed = self.args.expect | self.args.allow | self.borne_out()
        found = self.report["findings"]
        print(f"findings: expected {', '.join(sorted(expected)) or 'none'}")
        for finding in found:
            stray = finding["severity"] != "low" and finding["id"] not in allowed
            print(f"  {finding['severity']:6} {finding['id']:20} {finding['what']}{'   <-- not expected' if stray else ''}")
            for line in finding["evidence"]:
                print(f"           {line}")
        missing = expected - {finding["id"] for finding in found}
        stray = {finding["id"] for finding in found if finding["severity"] != "low"} - allowed
        if missing:
            print(f"  missing: {', '.join(sorted(missing))}")
        return not missing and not stray


def ids(text):
    return set(filter(None, text.split(",")))


def options(what, tolerance, checks=CHECKS):
    parser = argparse.ArgumentParser(description=what, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("report", help="what `trshim report --json` printed; - for standard input")
    parser.add_argument("truth", nargs="*", help="files of the job's timers, one a rank")
    parser.add_argument("--check", action="append", choices=checks, help="only this; may be given again")
    parser.add_argument("--tolerance", type=float, default=tolerance, help="of the shares in total (default %(default)s)")
    parser.add_argument("--expect", type=ids, default=set(), help="ids of findings that must be there: a,b")
    parser.add_argument("--allow", type=ids, default=set(), help="ids of findings that may be there as well")
    return parser


def run(kind, args):
    """Makes a comparison of that kind and exits 1 if one of the checks asked for fails."""
    with sys.stdin if args.report == "-" else open(args.report, encoding="utf-8") as source:
        report = json.load(source)
    truth = []
    for path in args.truth:
        with open(path, encoding="utf-8") as source:
            truth += json.load(source)["steps"]
    comparison = kind(report, truth, args)
    failed = [check for check in args.check or kind.checks if not getattr(comparison, check)()]
    if failed:
        print(f"not as the job says: {', '.join(failed)}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    run(Comparison, options(__doc__, 0.03).parse_args())
