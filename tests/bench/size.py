"""size.py - bytes that an event of each kind takes in a trace.

bare_tracepoint writes many events of one kind into a session of its own; the size of the streams is divided by the
number of events that babeltrace2 counts in them. Bursts (many calls, one event) are what keeps the number of events
small: that is not in these figures."""

import glob
import os
import subprocess

TITLE = "Size: bytes of one event in the trace, stream overhead included"
KINDS = (("file_io", "<= 48 B"), ("file_meta", ""), ("pipe_io", ""), ("sock_io", ""), ("wait", ""), ("wait_sum", ""),
         ("cpu", ""), ("anchor", ""), ("file_op", ""))
COUNT = 4000


def streams_size(directory):
    files = glob.glob(os.path.join(directory, "**", "*"), recursive=True)
    return sum(os.path.getsize(f) for f in files
               if os.path.isfile(f) and "index" not in f and os.path.basename(f).startswith(("state", "steps", "data")))


def count_events(directory, kind):
    """By babeltrace2's text: one line an event. The recorder's own few events are not of these kinds."""
    out = subprocess.run(["babeltrace2", directory], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    return out.count(b" trshim:" + kind.encode() + b":")


def measure(ctx):
    program = os.path.join(ctx.build, "tests/bench/bare_tracepoint")
    env = dict(os.environ, TRSHIM_CORE="")
    rows = []
    for kind, target in KINDS:
        command = ctx.record(program, kind, str(COUNT))
        directory = command[command.index("-o") + 1]
        subprocess.run(command, env=env, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        events = count_events(directory, kind)
        rows.append({"what": kind, "value": streams_size(directory) / events, "unit": "B", "target": target,
                     "note": f"{events} events"})
    return rows
