"""job.py - how much a real PyTorch DataLoader job slows down when recorded at the standard level.

examples/torch_train.py runs plain and recorded in turn, in an order that alternates, on a data set made once.
Wall time is the job's own loop by --truth, so that the start of the daemon and imports are told apart; CPU time is
that of the job's processes."""

import json
import os
import resource
import subprocess
import time

import stats

TITLE = "Job: examples/torch_train.py, level standard, paired runs"
STEPS = "150"


def run_job(command):
    """Returns (seconds of the whole command, CPU seconds of it and its children)."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wall = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def loop_seconds(truth):
    with open(truth, encoding="utf-8") as file:
        steps = json.load(file)["steps"]
    return (steps[-1]["end_ns"] - steps[0]["start_ns"]) / 1e9


def has_torch(python):
    probe = "import importlib.util as u, sys; sys.exit(u.find_spec('torch') is None)"
    return subprocess.run([python, "-c", probe], check=False).returncode == 0


def measure(ctx):
    if not has_torch(ctx.python):
        return [{"what": f"not measured: no torch in {ctx.python}", "value": float("nan"), "unit": ""}]
    data, truth = ctx.new_dir(), os.path.join(ctx.scratch, "truth.json")
    train = [ctx.python, os.path.join(ctx.root, "examples/torch_train.py"), "--data-dir", data, "--workers", "2",
             "--steps", STEPS, "--truth", truth]
    subprocess.run([*train, "--prepare"], check=True, stdout=subprocess.DEVNULL)

    pairs = {"loop": [], "wall": [], "cpu": []}
    for run in range(ctx.runs):
        result = {}
        for setting in ("plain", "recorded") if run % 2 == 0 else ("recorded", "plain"):
            wall, cpu = run_job(train if setting == "plain" else ctx.record(*train))
            result[setting] = {"loop": loop_seconds(truth), "wall": wall, "cpu": cpu}
        for key in pairs:
            pairs[key].append((result["plain"][key], result["recorded"][key]))

    names = {"loop": ("training loop, wall time", "<= +1 %"), "wall": ("whole command, wall time", ""),
             "cpu": ("CPU time of the command (its daemon included)", "<= +1 %")}
    rows = []
    for key, (what, target) in names.items():
        ratio, low, high = stats.paired_ratio(pairs[key])
        interval = f"95 %: {stats.percent(low)} .. {stats.percent(high)}" if low else "one pair"
        mean = sum(p for p, _ in pairs[key]) / len(pairs[key])
        rows.append({"what": what, "value": (ratio - 1) * 100, "digits": 2, "unit": "% more", "target": target,
                     "baseline": f"plain {mean:.2f} s", "note": interval})
    return rows
