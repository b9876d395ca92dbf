"""nccl.py - what the profiler plugin costs NCCL's threads, and what a collective takes in the trace.

tests/plugin/nccl_cost plays NCCL to callbacks that do nothing and to the plugin in turns, with nobody listening (NCCL
itself calls nothing then), recorded, and recorded in full."""

import os
import subprocess

from size import streams_size

TITLE = "NCCL: the profiler plugin, against callbacks that do nothing"
LOOPS = "3000"
NAMES = {"call": "collective: its call and launch, one event", "ops": "proxy operation, one event",
         "step": "proxy step (level full)"}


def costs(command, env=None):
    out = subprocess.run(command, env=env, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    rows = {}
    for line in out.decode().splitlines():
        what, callbacks, empty, ours = line.split()
        rows[what] = (int(callbacks), float(empty), float(ours))
    return rows


def best(runs):
    return {what: min((run[what] for run in runs), key=lambda row: row[2] - row[1]) for what in runs[0]}


def bytes_per(ctx, kind, arguments):
    """Bytes of an event of this kind: those of a run that has them less those of one that has few."""
    sizes, counts = [], []
    for loops in ("10", "20010"):
        command = ctx.record(os.path.join(ctx.build, "tests/plugin/nccl_job"), "5", loops, *arguments)
        directory = command[command.index("-o") + 1]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        sizes.append(streams_size(directory))
        events = subprocess.run([ctx.trshim, "events", directory], check=True, stdout=subprocess.PIPE).stdout
        counts.append(events.count(b" " + kind + b" pid="))
    return (sizes[1] - sizes[0]) / (counts[1] - counts[0]), counts[1]


def measure(ctx):
    program = os.path.join(ctx.build, "tests/plugin/nccl_cost")
    off_env = dict(os.environ, TRSHIM_HOME=ctx.new_dir(),
                   NCCL_PROFILER_PLUGIN=os.path.join(ctx.build, "libnccl-profiler-trshim.so"))
    full = lambda: [*ctx.record(program, LOOPS)[:2], "--level", "full", *ctx.record(program, LOOPS)[2:]]
    off = best([costs([program, LOOPS], off_env) for _ in range(ctx.runs)])
    on = best([costs(ctx.record(program, LOOPS)) for _ in range(ctx.runs)])
    in_full = best([costs(full()) for _ in range(ctx.runs)])

    rows = []
    for what, name in NAMES.items():
        for setting, cost in (("nobody listens", off), ("recorded", in_full if what == "step" else on)):
            callbacks, empty, ours = cost[what]
            units = 2 if what == "ops" else 1
            rows.append({"what": f"{name}, {setting}", "value": (ours - empty) / units, "digits": 0, "unit": "ns more",
                         "baseline": f"{callbacks // units} empty callbacks: {empty / units:.0f} ns",
                         "note": f"{(ours - empty) / callbacks:.0f} ns a callback"})
    for kind, arguments, target in ((b"coll", ["bare"], "<= 64 B"), (b"nccl_proxy", [], "")):
        size, count = bytes_per(ctx, kind, arguments)
        if kind == b"nccl_proxy":  # two of them go with each coll
            size -= rows[-1]["value"] / 2
        rows.append({"what": f"{kind.decode()} in the trace", "value": size, "digits": 0, "unit": "B",
                     "target": target, "note": f"{count} events"})
    return rows
