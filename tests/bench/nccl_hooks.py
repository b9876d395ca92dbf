"""nccl_hooks.py - what the hooks of NCCL cost a call: nobody listening, and recorded, against a library that does next
to nothing (tests/shim/libs/nccl.c). A single call, and calls in groups of 8."""

import os
import subprocess

TITLE = "NCCL: the hooks, against a library that does next to nothing"
LOOPS = "20000"
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def build(directory):
    """The loop and its NCCL, in a directory of their own."""
    source = os.path.join(ROOT, "tests/shim/libs")
    library, program = os.path.join(directory, "libnccl.so.2"), os.path.join(directory, "nccl_loop")
    compiler = [os.environ.get("CC", "gcc"), "-O2", "-D_GNU_SOURCE", "-I" + ROOT]
    subprocess.run([*compiler, "-shared", "-fPIC", "-Wl,-soname,libnccl.so.2", "-o", library,
                    os.path.join(source, "nccl.c"), "-ldl", "-lpthread"], check=True)
    subprocess.run([*compiler, "-o", program, os.path.join(source, "nccl_loop.c"), library,
                    "-Wl,-rpath," + directory], check=True)
    return program


def run(command, env=None):
    out = subprocess.run(command, env=env, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    return {what: float(ns) for what, ns in (line.split() for line in out.splitlines())}


def measure(ctx):
    home = ctx.new_dir()
    os.makedirs(home, mode=0o700, exist_ok=True)
    command = [build(home), LOOPS]
    off = dict(os.environ, LD_PRELOAD=ctx.preload, TRSHIM_HOME=home, LTTNG_HOME=home)
    best = {}
    for _ in range(ctx.runs):
        for name, times in (("plain", run(command)), ("off", run(command, off)), ("recorded", run(ctx.record(*command)))):
            for what, ns in times.items():
                best[name, what] = min(ns, best.get((name, what), ns))
    rows = []
    for what, name in (("single", "a collective"), ("grouped", "a collective in a group of 8")):
        plain = best["plain", what]
        for setting, target in (("off", "<= 5 ns"), ("recorded", "")):
            rows.append({"what": f"{name}, {'nobody listens' if setting == 'off' else 'recorded'}",
                         "value": best[setting, what] - plain, "digits": 1, "unit": "ns more", "target": target,
                         "baseline": f"plain call: {plain:.0f} ns"})
    return rows
