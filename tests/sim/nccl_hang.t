#!/bin/bash
# The watchdog and NCCL on the simulated node: calls that stay open are told while they are, who never came is found,
# and calls that end raise nothing.
. "${0%/*}/../lib/tap.sh"
. "${0%/*}/../lib/events.sh"
command -v lttng-sessiond >/dev/null || skip_all "lttng-sessiond is not installed (make deps)"
job=$O/tests/sim/nccl_job
[ -x "$job" ] || skip_all "the simulated NCCL is not built (make sim)"
run() { # NAME ARG...
    local name=$1
    shift
    record "$scratch/$name" env LD_LIBRARY_PATH="$O/sim" TRSHIM_HANG_S=1 timeout 60 "$job" "$@" >"$scratch/out" 2>&1
    "$TR" events "$scratch/$name" >"$scratch/events"
    "$TR" report --json "$scratch/$name" >"$scratch/report" 2>"$scratch/err"
}
has() { grep -q "$1" "$scratch/events"; }
finding() { # FIELD
    "$PYTHON" -c 'import json, sys
for f in json.load(open(sys.argv[1]))["findings"]:
    if f["id"] in ("collective-hang", "collective-desync"): print(f[sys.argv[2]])' "$scratch/report" "$1"
}

run absent 3 1 AllReduce:1024:20 AllGather:100:3 Absent:5000:4
ok "a call that is open is told" has ' open_coll .*op=AllReduce .*ordinal=23 .*count=5000 .*done=0'
ok "and what its thread waits in" has ' open_op .*kind=cuda'
ok "and who is in none, how far it is" has ' coll_status .*entered=22'
is "the rank that never came" "$(finding ranks)" "[2]"
is "the others wait" "$(finding victims)" "[0, 1]"

run well 2 1 AllReduce:1024:20 SendRecv:1000:5 Group:1000:3 Split:1000:2
is "calls that end are never open" "$(grep -c ' open_coll ' "$scratch/events")" 0
is "and raise nothing" "$(finding id)" ""
done_testing
