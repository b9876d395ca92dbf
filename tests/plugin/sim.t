#!/bin/bash
# The profiler plugin in jobs on the simulated NCCL, of each version that brought an interface: with the hooks, which see
# the same calls, and alone; and with what real NCCL does to plugins: foreign pointers, stops that never come.
. "${0%/*}/../lib/tap.sh"
. "${0%/*}/../lib/events.sh"
export LTTNG_UST_REGISTER_TIMEOUT=10000 # on a busy machine too, what is wanted is known when the job begins
command -v lttng-sessiond >/dev/null || skip_all "lttng-sessiond is not installed (make deps)"
job=$O/tests/sim/nccl_job
[ -x "$job" ] || skip_all "the simulated NCCL is not built (make sim)"

run() { # NAME SETTINGS VARIABLE... : two ranks on two hosts
    name=$1 settings=$2
    shift 2
    SIM_NCCL=$settings record "$scratch/$name" env "$@" LD_LIBRARY_PATH="$O/sim" timeout 60 "$job" 2 2 AllReduce:1000:5 \
        SendRecv:100:3 Group:50:2 Broadcast:10:2 AlltoAll:8:2 AllGather:10:2 Reduce:7:2 >"$scratch/$name.out"
}

# Calls by operation: how many, and by whom they were told (1 hook, 2 plugin, 3 both).
calls() {
    "$TR" events "$scratch/$1" | awk '
        function field(key) { return match($0, " " key "=[^ ]*") ? substr($0, RSTART + length(key) + 2, RLENGTH - length(key) - 2) : "" }
        $3 == "coll" { n[field("op") " how=" field("how") (field("algo") == "unknown" ? "" : " " field("algo"))]++ }
        END { for (k in n) print k, n[k] }' | sort
}
proxies() { "$TR" events "$scratch/$1" | grep ' nccl_proxy ' | grep -c -- "$2" || :; }

# Instances of the all-reduce of 4000 bytes in the report.
reported() {
    "$TR" report --json "$scratch/$1" 2>"$scratch/report.err" | "$PYTHON" -c '
import json, sys
rows = [c for c in json.load(sys.stdin)["collectives"] if c["op"] == "AllReduce" and c["bytes"] == 4000]
print(*((c["count"], c["algo"], c["proto"]) for c in rows))'
}

both='AllGather how=3 Ring 4
AllReduce how=3 Ring 18
AlltoAll how=3 4
Broadcast how=3 Ring 4
Recv how=3 6
Reduce how=3 Ring 4
Send how=3 6'
# Alone it sees an AlltoAll as NCCL runs it: a Send and a Recv to each rank.
alone='AllGather how=2 Ring 4
AllReduce how=2 Ring 18
Broadcast how=2 Ring 4
Recv how=2 14
Reduce how=2 Ring 4
Send how=2 14'

for v in 2.23.4 2.24.3 2.26.2 2.27.7 2.28.9 2.30.7 2.31.2; do
    want=$both want_alone=$alone
    case $v in
    2.3*) # a Broadcast runs as AllGatherV there: nothing is told of its launch
        want=${both/Broadcast how=3 Ring/Broadcast how=1}
        want_alone=${alone/Broadcast how=2 Ring/Broadcast how=2} ;;
    esac
    run "with-$v" version=$v
    is "$v with the hooks: the job's status" "$?" 0
    is "$v with the hooks: each call once" "$(calls "with-$v")" "$want"
    is "$v with the hooks: proxy work of both ranks, both ways" \
        "$(proxies "with-$v" 'way=send op=AllReduce') $(proxies "with-$v" 'way=receive op=AllReduce')" "18 18"
    is "$v with the hooks: in the report" "$(reported "with-$v")" "(5, 'Ring', 'LL')"
    run "alone-$v" version=$v -u LD_PRELOAD
    is "$v alone: the job's status" "$?" 0
    is "$v alone: each call once" "$(calls "alone-$v")" "$want_alone"
    is "$v alone: in the report" "$(reported "alone-$v")" "(5, 'Ring', 'LL')"
    is "$v alone: proxy work" "$(proxies "alone-$v" 'op=AllReduce')" 36
done

run pxn version=2.28.9,pxn=1
is "foreign pointers: the job's status" "$?" 0
is "foreign pointers: each call once" "$(calls pxn)" "$both"
is "foreign pointers: work of nobody's call" "$(proxies pxn ' nr=0 ')" "$(proxies pxn ' op=other .* nr=0 ')"
is "foreign pointers: there is some" "$(($(proxies pxn ' nr=0 ') > 0))" 1
run lost version=2.28.9,lost_stops=1
is "stops that never come: the job's status" "$?" 0
is "stops that never come: each call once" "$(calls lost)" "$both"
is "stops that never come: what did end is told" "$(($(proxies lost 'op=AllReduce') > 10))" 1

cp "$O/tests/sim/lib/libnccl-profiler-log.so" "$scratch/"
LOG_PROFILER=$scratch/log TRSHIM_NCCL_CHAIN=$scratch/libnccl-profiler-log.so run chained version=2.30.7
is "chained to another: the job's status" "$?" 0
is "chained to another: each call once" "$(calls chained)" "${both/Broadcast how=3 Ring/Broadcast how=1}"
is "chained to another: it is told of each launch" "$(cat "$scratch"/log.* | grep -c ' Coll .*func=AllReduce')" 18
done_testing
