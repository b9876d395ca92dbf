"""gpu.py - what recording costs a job that launches many small kernels: examples/simtrain on the simulated node.

CPU time is that of the job and the recorder together, less what `record` costs around a command that does nothing;
so it includes the simulated CUPTI's own work, which the real one's differs from. Not a GPU's figures: those need one."""

import os
import re
import subprocess
import time

import stats
from job import run_job

TITLE = "GPU: examples/simtrain, small kernels, level standard, paired runs"
STEPS = "300"


def count_kernels(ctx, directory):
    events = subprocess.run([ctx.trshim, "events", "--kind", "kernel", directory], check=True, capture_output=True)
    return events.stdout.count(b" kernel ")


def batched_bytes(directory):
    """Bytes of a kernel in its batch, event header included: by babeltrace2, which knows nothing of batches."""
    text = subprocess.run(["babeltrace2", directory], check=True, capture_output=True).stdout
    kernels = size = 0
    for groups, records in re.findall(rb"trshim:kernels:.*_groups_length = (\d+),.*_records_length = (\d+),", text):
        kernels += int(records) // 3
        size += 6 + 4 + 4 + 8 + 2 + 2 + 8 * (int(groups) + int(records))
    return size / kernels if kernels else float("nan")


def data_bytes(directory):
    return sum(os.path.getsize(os.path.join(at, name)) for at, _, names in os.walk(directory) for name in names)


def measure(ctx):
    simtrain = os.path.join(ctx.build, "examples/simtrain")
    if not os.path.exists(simtrain):
        return [{"what": "not measured: no simtrain in the build", "value": float("nan"), "unit": ""}]
    train = [simtrain, "--ranks", "1", "--workers", "1", "--steps", STEPS, "--fault", "launch-bound"]
    idle = min(run_job(ctx.record("true"))[1] for _ in range(ctx.runs))

    walls, cpus, per_kernel, rate, size = [], [], [], [], []
    for run in range(ctx.runs):
        result = {}
        for setting in ("plain", "recorded") if run % 2 == 0 else ("recorded", "plain"):
            command = train if setting == "plain" else ctx.record(*train)
            wall, cpu = run_job(command)
            result[setting] = (wall, cpu - (idle if setting == "recorded" else 0))
            if setting == "recorded":
                directory = command[command.index("-o") + 1]
                kernels = count_kernels(ctx, directory)
                rate.append(kernels / wall)
                size.append(data_bytes(directory) / kernels)
        walls.append((result["plain"][0], result["recorded"][0]))
        cpus.append((result["plain"][1], result["recorded"][1]))
        per_kernel.append((result["recorded"][1] - result["plain"][1]) / kernels * 1e6)
        time.sleep(0.2)

    middle = sorted(per_kernel)[len(per_kernel) // 2]
    ratio, low, high = stats.paired_ratio(cpus)
    interval = f"95 %: {stats.percent(low)} .. {stats.percent(high)}" if low else "one pair"
    plain = sum(p for p, _ in cpus) / len(cpus)
    return [
        {"what": "kernels recorded", "value": sum(rate) / len(rate), "digits": 0, "unit": "per second"},
        {"what": "CPU of recorder and simulated CUPTI", "value": middle, "digits": 2, "unit": "us per kernel",
         "target": "<= 0.5 us, CUPTI apart", "note": f"{min(per_kernel):.2f} .. {max(per_kernel):.2f}"},
        {"what": "CPU time of the job", "value": (ratio - 1) * 100, "digits": 2, "unit": "% more",
         "baseline": f"plain {plain:.2f} s", "note": interval},
        {"what": "trace, all events of the job", "value": sum(size) / len(size), "digits": 0,
         "unit": "bytes per kernel"},
        {"what": "a kernel, in its batch", "value": batched_bytes(directory), "digits": 1, "unit": "B",
         "baseline": "an event of its own: 62 B", "target": "<= 32 B"},
    ]
