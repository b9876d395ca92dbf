#!/usr/bin/python3
"""Holds a report against what a job on the simulated node knows of itself.

    check_sim_truth.py [--check WHAT]... [options] REPORT TRUTH

TRUTH is what examples/simtrain writes with --truth: realised times, kept by the simulator. Prints what it compared, and
exits 1 if a check fails. Checks, all of them unless --check names some:

    steps     the same step numbers on every rank, in windows that begin where the job's do
    totals    each class of all complete windows of a rank within --tolerance of its time
    comm      comm_wait, comm_transfer, pp_bubble and comm_overlapped of all complete windows of a rank, none of them unknown,
              each within 2 % of what the job had, or 0.1 % of the rank's time
    each      all classes of a window within 2 % of it or 2 ms, in 95 % of a rank's windows
    sums      the classes of every window add up to it, to the nanosecond
    findings  the one of --expect is there, about the rank of --rank alone; no other has medium or high severity, unless
              it is told to be a consequence of it, is one of --allow, or the job's own times bear it out (a busy machine)

`check_sim_truth.py --same REPORT REPORT` instead: two reports say the same of steps, and come to the same verdicts."""

import json
import sys

import check_truth
from check_truth import EACH_NS, EACH_PART, Comparison, options, run

CHECKS = (*check_truth.CHECKS, "comm")

VERDICT = ("id", "severity", "confidence", "lost_ns", "ranks", "victims", "caused_by")


class SimComparison(Comparison):
    checks = CHECKS
    classes = ("compute", "comm_exposed", "copy_exposed", "dataloader", "checkpoint", "sync", "host", "other")
    comm_classes = ("comm_wait_ns", "comm_transfer_ns", "pp_bubble_ns", "comm_overlapped_ns")
    each_share = 0.02

    def __init__(self, report, truth, args):
        for step in truth:
            step.setdefault("incomplete", False)
        super().__init__(report, truth, args)

    def pairs(self, rank):
        told = {step["step"]: step for step in self.theirs.get(rank, [])}
        return [(told[step["step"]], step) for step in self.truth[rank] if step["step"] in told]

    def limit(self, step):
        return max(EACH_NS, self.each_share * (step["end_ns"] - step["start_ns"]))

    def steps(self):
        print(f"steps: by {self.report['steps']['method']}, confidence {self.report['steps']['confidence']}, "
              f"warm-up {self.report['steps']['warmup']}")
        good = sorted(self.theirs) == sorted(self.truth)
        for rank, truth in self.truth.items():
            got = {step["step"] for step in self.theirs.get(rank, [])}
            want = {step["step"] for step in truth}
            moved = [f"{true['step']}: {(told['start_ns'] - true['start_ns']) / 1e6:+.2f} ms"
                     for told, true in self.pairs(rank) if abs(told["start_ns"] - true["start_ns"]) > self.limit(true)]
            print(f"  rank {rank}: {len(got)} windows, the job: {len(want)}; numbers only the report has: "
                  f"{sorted(got - want)}, only the job: {sorted(want - got)}; begin elsewhere: {moved[:5]}")
            good &= got == want and len(moved) <= (1 - EACH_PART) * len(want)
        return good

    def totals(self):
        print(f"totals: each class within {self.args.tolerance:.0%} of a rank's time")
        good = True
        for rank in self.truth:
            pairs = [(told, true) for told, true in self.pairs(rank) if not told["incomplete"]]
            time = sum(true["end_ns"] - true["start_ns"] for _, true in pairs)
            if not time:
                print(f"  rank {rank}: no complete window")
                good = False
                continue
            for name in self.classes:
                got, want = (sum(step[name + "_ns"] or 0 for step in side) / time for side in zip(*pairs))
                close = abs(got - want) <= self.args.tolerance
                print(f"  rank {rank} {name:12} {got:.4f}, the job: {want:.4f}{'' if close else '   <-- off'}")
                good &= close
        return good

    def comm(self):
        print("comm: in ms, within 2 % or 0.1 % of a rank's time")
        good = True
        for rank in self.truth:
            pairs = [(told, true) for told, true in self.pairs(rank) if not told["incomplete"]]
            time = sum(true["end_ns"] - true["start_ns"] for _, true in pairs)
            if not time:
                print(f"  rank {rank}: no complete window")
                good = False
            for name in self.comm_classes:
                unknown = [told["step"] for told, _ in pairs if told[name] is None]
                got, want = (sum(step[name] or 0 for step in side) for side in zip(*pairs)) if pairs else (0, 0)
                close = not unknown and abs(got - want) <= max(0.02 * want, 0.001 * time)
                print(f"  rank {rank} {name:18} {got / 1e6:9.3f}, the job: {want / 1e6:9.3f} of {time / 1e6:.0f}"
                      f"{'' if close else f'   <-- off, unknown in {unknown}'}")
                good &= close
        return good

    def differences(self, told, true):
        return {name: round(((told[name + "_ns"] or 0) - true[name + "_ns"]) / 1e6, 2) for name in self.classes
                if abs((told[name + "_ns"] or 0) - true[name + "_ns"]) > self.limit(true)}

    def each(self):
        print(f"each: all classes within {self.each_share:.0%} of the window or {EACH_NS / 1e6:.0f} ms in {EACH_PART:.0%}")
        good = True
        for rank, truth in self.truth.items():
            off = {true["step"]: self.differences(told, true) for told, true in self.pairs(rank)}
            off = {step: by for step, by in off.items() if by}
            part = (len(self.pairs(rank)) - len(off)) / len(truth)
            print(f"  rank {rank}: {part:.1%} of {len(truth)}; off by ms: {dict(list(off.items())[:5])}")
            good &= part >= EACH_PART
        return good

    def findings(self):
        expected, allowed = self.args.expect, self.args.expect | self.args.allow | self.borne_out()
        print(f"findings: expected {', '.join(sorted(expected)) or 'none'}, rank {self.args.rank}")
        good = True
        for finding in self.report["findings"]:
            stray = finding["severity"] != "low" and finding["id"] not in allowed and finding["caused_by"] not in expected
            elsewhere = finding["id"] in expected and self.args.rank is not None and finding["ranks"] != [self.args.rank]
            print(f"  {finding['severity']:6} {finding['id']:20} ranks {finding['ranks']} caused by {finding['caused_by']}: "
                  f"{finding['what']}{'   <-- not expected' if stray else ''}{'   <-- other ranks' if elsewhere else ''}")
            for line in finding["evidence"]:
                print(f"           {line}")
            good &= not stray and not elsewhere
        missing = expected - {finding["id"] for finding in self.report["findings"]}
        if missing:
            print(f"  missing: {', '.join(sorted(missing))}")
        return good and not missing


def verdicts(path):
    with open(path, encoding="utf-8") as source:
        report = json.load(source)
    found = [{key: finding[key] for key in VERDICT} for finding in report["findings"]]
    return {"findings": found, "steps": report["steps"], "breakdown": report["breakdown"]}


def same(first, second):
    one, other = verdicts(first), verdicts(second)
    for part in one:
        if one[part] != other[part]:
            print(f"{part} differ:\n{json.dumps(one[part])[:2000]}\n{json.dumps(other[part])[:2000]}")
    if not one["steps"]["list"]:
        print("no steps to compare")
    sys.exit(one != other or not one["steps"]["list"])


def main():
    if sys.argv[1:2] == ["--same"]:
        same(*sys.argv[2:])
    parser = options(__doc__, 0.02, CHECKS)
    parser.add_argument("--rank", type=int, help="the rank that the expected finding is about")
    run(SimComparison, parser.parse_args())


if __name__ == "__main__":
    main()
