"""reader.py - how fast traces are read: ours against babeltrace2's own reader with a muxer and a sink that does nothing.

make_trace writes one trace of BENCH_EVENTS events (default 10 M: two CPUs, mostly reads and waits) and one of as many
kernels in batches. Each program reads all of it, in turns. Events per second of CPU time count all processes of a program; memory is its largest process."""

import os
import subprocess
import time

from stats import paired_ratio

TITLE = "Reading: events per second of CPU time, per core"


def run(command):
    """(CPU seconds of it and its children, wall seconds, MiB of its largest process)"""
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"reader: {' '.join(command)}: status {process.returncode}")
    return usage.ru_utime + usage.ru_stime, time.monotonic() - start, usage.ru_maxrss / 1024


def has_report(ctx):
    text = subprocess.run([ctx.trshim, "--help"], stdout=subprocess.PIPE, check=True).stdout
    return b"\n  report" in text


def measure(ctx):
    return read(ctx, "") + read(ctx, " of kernels in batches", "--kernels")


def read(ctx, what, *options):
    events = int(os.environ.get("BENCH_EVENTS", "10000000"))
    trace = ctx.new_dir()
    subprocess.run([os.path.join(ctx.build, "tests/reader/make_trace"), "--cpus", "2", "--packet", "262144",
                    "--generate", str(events), *options, trace], check=True)

    programs = {
        "babeltrace2, dummy sink": (["babeltrace2", "--output-format=dummy", trace], ""),
        "trshim events --kind=proc (decode, merge)": ([ctx.trshim, "events", "--kind=proc", trace], ">= 1.5 M/s"),
        "trshim events (and print)": ([ctx.trshim, "events", trace], ""),
    }
    if has_report(ctx):
        programs["trshim report"] = ([ctx.trshim, "report", "--json", trace], ">= 0.8 M/s, < 1 GiB")

    results = {name: [] for name in programs}
    for _ in range(ctx.runs):
        for name, (command, _) in programs.items():
            results[name].append(run(command))

    base = "babeltrace2, dummy sink"
    rows = []
    for name, (_, target) in programs.items():
        best = min(results[name])
        ratio = paired_ratio([(b[0], r[0]) for b, r in zip(results[base], results[name])])[0]
        rows.append({"what": name + what, "value": events / best[0] / 1e6, "unit": "M/s", "digits": 2, "target": target,
                     "baseline": "" if name == base else f"{1 / ratio:.2f} x {base.split(',')[0]}",
                     "note": f"{events / best[1] / 1e6:.2f} M/s wall, {best[2]:.0f} MiB"})
    return rows
