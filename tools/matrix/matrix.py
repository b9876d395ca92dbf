#!/usr/bin/python3
"""`make matrix`: how often the verdicts are right. Records simulated jobs with every fault in several strengths, clean
ones and look-alikes (cases.py), blanks who ran what, and counts what the reports say (table.py).

Each run is a line of RESULTS as soon as it is there: a second start goes on where the first was ended, unless trshim or
the job has changed since. Never judges the same seeds that thresholds were set on, unless told by --first."""

import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import types

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/e2e"))
sys.dont_write_bytecode = True

import check_sim_truth  # noqa: E402
from cases import CASES  # noqa: E402
import table  # noqa: E402

KEPT = ("id", "severity", "ranks", "hosts", "caused_by")
RUN_LIMIT_S = 120


def build_id(build):
    """Changes with anything that could change a verdict."""
    digest = hashlib.sha256()
    for name in ("trshim", "libtrshim-core.so", "libtrshim.so", "examples/simtrain"):
        digest.update((build / name).read_bytes())
    return digest.hexdigest()[:12]


def plan(seeds, wanted):
    """All runs, seed after seed, so that a part of them is a fair part."""
    for seed in seeds:
        for case in CASES:
            if wanted and case[0] not in wanted:
                continue
            for fault in case[1]:
                yield case, fault, seed


def read_json(path, otherwise):
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return otherwise


def blanked_report(build, trace, environment):
    """The report on the trace's text without what would give the job away. NCCL_HOSTID stays, which says what is a host;
    and where a variable is the fault, the variables of CUDA and NCCL."""
    keep = ["-e", "/ key=env\\.(NCCL_|CUDA_)/b" if environment else "/ key=env\\.NCCL_HOSTID /b"]
    text = trace.with_suffix(".events")
    with open(text, "w", encoding="utf-8") as out:
        events = subprocess.Popen([build / "trshim", "events", trace], stdout=subprocess.PIPE)
        subprocess.run(["sed", "-E", *keep, "-f", ROOT / "tests/lib/blank.sed"], stdin=events.stdout, stdout=out, check=True)
        events.stdout.close()
        if events.wait():
            raise subprocess.CalledProcessError(events.returncode, "trshim events")
    done = subprocess.run([build / "trshim", "report", "--json", text], capture_output=True, check=True)
    return json.loads(done.stdout)


def one(build, case, fault, seed):
    """Records and judges one job. A job may fail (some faults end it); a run without a report is a miss, not an error."""
    name, _, wanted, _, options = case
    ranks = int(options.split("--ranks ")[1].split()[0])
    rank = seed % ranks if "{r}" in fault else None
    told = fault.format(r=rank)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="trshim-matrix."))
    result = {"case": name, "fault": told, "strength": fault, "seed": seed, "rank": rank, "findings": [], "borne_out": [],
              "failed": False}
    try:
        job = [build / "examples/simtrain", "--truth", folder / "truth", "--seed", str(seed), *options.split()]
        if "--checkpoint-every" not in options:
            job += ["--checkpoint-every", "0"]
        if told:
            job += ["--fault", told]
        subprocess.run([build / "trshim", "record", "--no-report", "-o", folder / "run", "--", *job], timeout=RUN_LIMIT_S,
                       env={**os.environ, "TMPDIR": str(folder)}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        report = blanked_report(build, folder / "run", wanted == "harmful-env")
        result["findings"] = [{key: finding[key] for key in KEPT} for finding in report["findings"]]
        truth = read_json(folder / "truth", {"steps": []})["steps"]
        if truth:
            args = types.SimpleNamespace(expect=set(), allow=set(), rank=None)
            result["borne_out"] = sorted(check_sim_truth.SimComparison(report, truth, args).borne_out())
        # An effect on one rank has no rank of its own where the finding is about hosts, or about all.
        if any(f["id"] == wanted and f["hosts"] for f in result["findings"]):
            result["rank"] = None
    except (subprocess.SubprocessError, ValueError, OSError) as error:
        result["failed"], result["why"] = True, str(error)[:200]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return result


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--seeds", type=int, default=3, help="how many (default %(default)s)")
    parser.add_argument("--first", type=int, default=1000, help="the first; below 1000 is for setting thresholds")
    parser.add_argument("--jobs", type=int, default=2, help="at a time (default %(default)s)")
    parser.add_argument("--minutes", type=float, default=0, help="start no run after that time, 0: all of them")
    parser.add_argument("--write", metavar="FILE", help="put the table between this document's <!-- matrix --> marks")
    parser.add_argument("case", nargs="*", help="only these (names of cases.py)")
    return parser.parse_args()


def main():
    args = arguments()
    unknown = set(args.case) - {case[0] for case in CASES}
    if unknown:
        sys.exit(f"matrix: no case {', '.join(sorted(unknown))}; there are: {', '.join(case[0] for case in CASES)}")
    build, path = build_id(args.build), args.build / "matrix/results.jsonl"
    path.parent.mkdir(exist_ok=True)
    known = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []
    known = {(run["case"], run["strength"], run["seed"]): run for run in known if run["build"] == build}
    todo = [item for item in plan(range(args.first, args.first + args.seeds), args.case)]
    end = time.monotonic() + args.minutes * 60 if args.minutes else float("inf")

    def work(item):
        case, fault, seed = item
        key = (case[0], fault, seed)
        if key not in known and time.monotonic() < end:
            return key, {**one(args.build, case, fault, seed), "build": build}
        return key, known.get(key)

    runs = []
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool, open(path, "a", encoding="utf-8") as out:
        for key, run in pool.map(work, todo):
            if run is None:
                continue
            runs.append(run)
            if key not in known:
                out.write(json.dumps(run) + "\n")
                out.flush()
                print(f"{len(runs)}/{len(todo)} {key[0]} {run['fault']} seed {run['seed']}: "
                      f"{' '.join(f['id'] for f in run['findings']) or '-'}{' FAILED' if run['failed'] else ''}", file=sys.stderr)
    if not runs:
        sys.exit("matrix: no run was made")
    command = f"make matrix SEEDS={args.seeds}"
    text = table.render(runs, CASES, command) + (f"\n{len(todo) - len(runs)} of {len(todo)} runs were not made: time was up."
                                                 if len(runs) < len(todo) else "")
    print(text)
    if args.write:
        table.write(args.write, text)


if __name__ == "__main__":
    main()
