"""startup.py - what starting a program costs more: `sh -c true` and `python3 -c pass`, preload alone and recorded.

A child process starts each program in turn without and with the preload, many times; the recorded case is the same
child inside `trshim record`. The median of the differences counts."""

import json
import os
import statistics
import subprocess
import sys
import time

TITLE = "Start-up: time added to a program"
PROGRAMS = (("sh -c true", ["/bin/sh", "-c", "true"], "<= 1 ms"),
            ("python3 -c pass", [sys.executable, "-c", "pass"], ""))
PAIRS_PER_RUN = 15


def start_once(argv, env):
    start = time.monotonic()
    os.waitpid(os.posix_spawn(argv[0], argv, env), 0)
    return (time.monotonic() - start) * 1e3


def alternate(pairs):
    """Runs in the environment to be judged. Prints JSON: per program the plain median and the median difference, ms."""
    with_preload = dict(os.environ)
    plain = {k: v for k, v in with_preload.items() if k not in ("LD_PRELOAD", "TRSHIM_ROOT_PID")}
    result = {}
    for name, argv, _ in PROGRAMS:
        times = [(start_once(argv, plain), start_once(argv, with_preload)) for _ in range(pairs)]
        result[name] = (statistics.median(p for p, _ in times), statistics.median(w - p for p, w in times))
    json.dump(result, sys.stdout)


def measure(ctx):
    pairs = str(PAIRS_PER_RUN * ctx.runs)
    child = [sys.executable, os.path.abspath(__file__), pairs]
    home = os.path.join(ctx.scratch, "no-session")
    os.makedirs(home, mode=0o700, exist_ok=True)
    off = dict(os.environ, LD_PRELOAD=ctx.preload, TRSHIM_HOME=home, LTTNG_HOME=home)
    rows = []
    for setting, command, env in (("preload, no session", child, off), ("recorded", ctx.record(*child), None)):
        out = subprocess.run(command, env=env, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
        for (name, _, target), (plain, more) in zip(PROGRAMS, json.loads(out).values()):
            rows.append({"what": f"{name}: {setting}", "value": more, "digits": 2, "unit": "ms more", "target": target,
                         "baseline": f"plain {plain:.2f} ms"})
    return rows


if __name__ == "__main__":
    alternate(int(sys.argv[1]))
