"""hooks.py - what a hook costs: session off, and recorded, against the plain call and a bare LTTng tracepoint.

The same program, hook_cost, runs in four settings in turn; the best of all rounds counts, since noise only adds."""

import os
import subprocess

TITLE = "Hooks: cost of one observed call"
BARE_EVENT, BARE_COUNT = "file_io", 20000
CHEAP_NS = 50  # what a hook that is off adds is told only for calls cheaper than this: in dearer ones it is noise


def run_cases(command, env):
    """Runs hook_cost; returns {case: (ns of one iteration, observed calls in it)}."""
    out = subprocess.run(command, env=env, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    rows = [line.split("\t") for line in out.splitlines()]
    return {name: (float(ns), int(calls)) for name, ns, calls in rows}


def settings(ctx):
    """name -> (command, environment), each run in turn."""
    program = [os.path.join(ctx.build, "tests/bench/hook_cost"), ctx.scratch]
    plain = dict(os.environ)
    home = os.path.join(ctx.scratch, "no-session")
    os.makedirs(home, mode=0o700, exist_ok=True)
    off = dict(plain, LD_PRELOAD=ctx.preload, TRSHIM_HOME=home, LTTNG_HOME=home)
    with_core = ["/bin/sh", "-c", 'TRSHIM_ROOT_PID=$$ exec "$@"', "sh", *program]
    return {
        "plain": lambda: (program, plain),
        "preload": lambda: (program, off),
        "core, no session": lambda: (with_core, off),
        "recorded": lambda: (ctx.record(*program), plain),
    }


def bare_tracepoint(ctx):
    """ns of one event with the payload of a file burst, by the tracepoint alone, in a session like any other."""
    program = os.path.join(ctx.build, "tests/bench/bare_tracepoint")
    env = dict(os.environ, TRSHIM_CORE="")
    out = subprocess.run(ctx.record(program, BARE_EVENT, str(BARE_COUNT)), env=env, check=True, stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL, text=True).stdout
    return float(out.split("\t")[1])


def measure(ctx):
    best, bare = {}, float("inf")
    for _ in range(ctx.runs):
        for name, make in settings(ctx).items():
            for case, (ns, calls) in run_cases(*make()).items():
                key = (name, case)
                best[key] = (min(ns, best.get(key, (ns,))[0]), calls)
        bare = min(bare, bare_tracepoint(ctx))

    clock = best["plain", "clock_gettime"][0]
    rows = [
        {"what": "two clock reads", "value": 2 * clock, "unit": "ns"},
        {"what": f"bare tracepoint, payload of {BARE_EVENT}, recorded", "value": bare, "unit": "ns"},
    ]
    for case in [c for n, c in best if n == "plain" and c != "clock_gettime"]:
        plain, calls = best["plain", case]
        for name, target in (("preload", "<= 5 ns"), ("core, no session", "<= 5 ns"), ("recorded", "")):
            if name != "recorded" and plain > CHEAP_NS:
                continue
            added = (best[name, case][0] - plain) / calls
            if name == "recorded" and case.startswith("pread, files in turn"):
                target = f"<= {bare + 2 * clock + 30:.0f} ns (bare + 2 clocks + 30)"
            rows.append({"what": f"{case}: {name}", "value": added, "unit": "ns more", "target": target,
                         "baseline": f"plain call {plain / calls:.1f} ns"})
    return rows
