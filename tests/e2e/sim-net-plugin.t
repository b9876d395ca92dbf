#!/bin/bash
# record --wrap-net: a job whose NCCL uses an external network plugin does what it does without us, and the report names
# that network from its log, its proxies and the bytes that went through our plugin around it.
. "${0%/*}/../lib/tap.sh"
. "${0%/*}/../lib/events.sh"
export LTTNG_UST_REGISTER_TIMEOUT=10000 # on a busy machine too, what is wanted is known when the job begins
command -v lttng-sessiond >/dev/null || skip_all "lttng-sessiond is not installed (make deps)"
job=$O/tests/sim/nccl_job log=$O/tests/sim/lib/libnccl-net-log.so
[ -x "$job" ] && [ -e "$log" ] || skip_all "the simulated NCCL is not built (make sim)"
unset NCCL_NET NCCL_NET_PLUGIN TRSHIM_NCCL_NET

# NAME VERSION PLUGIN: two ranks on two hosts. What the plugin was called for is in NAME.calls, without us in NAME.want.
run() {
    local set=() name=$1 version=$2
    [ -z "$3" ] || set=(NCCL_NET_PLUGIN="$3")
    export SIM_NCCL=version=$version
    env "${set[@]}" LOG_NET="$scratch/$name-want" LD_LIBRARY_PATH="$O/sim:$scratch/lib" timeout 60 "$job" 2 2 AllReduce:100000:100 >"$scratch/$name.out"
    env "${set[@]}" LOG_NET="$scratch/$name-calls" timeout -k 10 120 "$TR" record --no-report --wrap-net -o "$scratch/$name" -- \
        env LD_LIBRARY_PATH="$O/sim:$scratch/lib" timeout 60 "$job" 2 2 AllReduce:100000:100 >"$scratch/$name.wrapped" 2>"$scratch/record.err"
}
printed() { sed 's/ comm=[0-9a-f]*//; s/ start=.*//' "$scratch/$1" | sort; } # but times and ids, new in each run
calls() { cat "$scratch/$1".* 2>/dev/null | sort | uniq -c; }
moved() { # NAME WAY
    "$TR" events "$scratch/$1" | awk -v way="way=$2" '$3 == "nccl_net_io" && index($0, way) && match($0, /size_bytes=[0-9]+/) {
        n += substr($0, RSTART + 11, RLENGTH - 11) } END { print n + 0 }'
}
transports() {
    "$TR" report --json "$scratch/$1" 2>"$scratch/report.err" | "$PYTHON" -c '
import json, sys
for t in json.load(sys.stdin)["transports"]:
    print(t["kind"], t["source"], t["agree"])' | sort -u
}

for version in 2.18.3 2.19.3 2.20.5 2.24.3 2.26.2 2.28.9 2.30.7; do
    run "v$version" "$version" "$log"
    is "$version: the job's status" "$?" 0
    is "$version: the job prints the same" "$(printed "v$version.wrapped")" "$(printed "v$version.out")"
    is "$version: the plugin is called as without us" "$(calls "v$version-calls")" "$(calls "v$version-want")"
    is "$version: what is sent is received" "$(moved "v$version" receive)" "$(moved "v$version" send)"
    is "$version: as much as its requests say" "$(moved "v$version" send)" \
        "$(cat "$scratch/v$version-calls".* | awk '$1 == "isend" { n += $2 } END { print n + 0 }')"
done
is "the report: all agree" "$(transports v2.28.9)" "NET/LogNet ['log', 'proxy', 'net'] True"

mkdir "$scratch/lib" && cp "$log" "$scratch/lib/libnccl-net.so"
run default 2.28.9 ''
is "the one that NCCL would find by itself" "$(calls default-calls)" "$(calls default-want)"
is "it was called" "$(calls default-calls | grep -c ' init ')" 1
run list 2.28.9 "$scratch/nosuch.so,$log"
is "of a list the first is missing: the next one" "$(calls list-calls)" "$(calls list-want)"
rm "$scratch/lib/libnccl-net.so"
run missing 2.28.9 "$scratch/nosuch.so"
is "a plugin that is not there: the job goes on by what NCCL has" "$(printed "missing.wrapped")" "$(printed "missing.out")"
is "nothing is told of it" "$("$TR" events "$scratch/missing" | grep -c ' nccl_net_[a-z]* ')" 0
run none 2.28.9 none
is "none: left alone" "$("$TR" events "$scratch/none" | grep -c 'TRSHIM_NCCL_NET\|NCCL_NET_PLUGIN.*trshim')" 0
LOG_NET_FAILS=1 run fails 2.28.9 "$log"
is "a plugin that fails: as without us" "$(printed "fails.wrapped") $(calls fails-calls)" "$(printed "fails.out") $(calls fails-want)"
done_testing
