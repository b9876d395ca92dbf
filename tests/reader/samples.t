#!/bin/bash
# The runs in traces/samples/, recorded once (tools/samples.sh), are read by this version as by the one that wrote them:
# whole, with steps, and with the verdict that they are there for. They stay small, and babeltrace2 reads them too.
. "${0%/*}/../lib/tap.sh"
samples=$root/traces/samples
most_bytes=300000

# says NAME "FINDING RANKS...": the gravest finding and its ranks, or "-": nothing of weight. All of it was read.
says() {
    "$TR" report --json "$samples/$1" >"$scratch/$1.json" && "$PYTHON" -B - "$scratch/$1.json" "$2" "$3" <<'PY'
import json
import sys

path, wanted, steps = sys.argv[1:]
with open(path, encoding="utf-8") as source:
    report = json.load(source)
heavy = [" ".join(map(str, [f["id"], *f["ranks"]])) for f in report["findings"] if f["severity"] != "low"]
got = len({step["step"] for step in report["steps"]["list"]})
print("findings of weight:", heavy or "-", "steps:", got, "quality:", report["quality"])
sys.exit((heavy or ["-"])[0] != wanted or got != int(steps))
PY
}

lost_nothing() { "$TR" report "$samples/$1" | grep -q 'nothing lost'; }
small() { [ "$(find "$samples/$1" -type f -printf '%s\n' | awk '{ sum += $1 } END { print sum }')" -lt $most_bytes ]; }
other_reader() { babeltrace2 "$samples/$1" >"$scratch/bt" && grep -q ' trshim:kernel' "$scratch/bt"; }

while read -r name steps wanted; do
    ok "$name: $wanted" says "$name" "$wanted" "$steps"
    ok "$name: nothing lost" lost_nothing "$name"
    ok "$name: below $most_bytes bytes" small "$name"
    if command -v babeltrace2 >/dev/null; then
        ok "$name: babeltrace2 reads it" other_reader "$name"
    else
        skip "$name: babeltrace2 reads it" "babeltrace2 is not installed"
    fi
    told="$told $name"
done <<'EOS'
clean           12 -
socket-fallback 10 nccl-socket-fallback
fragmentation   24 memory-fragmentation 0
slow-data       12 dataloader-bound 1
EOS

is "each sample is checked" "$(echo $told | tr ' ' '\n' | sort | tr '\n' ' ')" "$(cd "$samples" && ls -d */ | tr -d / | sort | tr '\n' ' ')"
done_testing
