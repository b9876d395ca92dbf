#!/bin/bash
# The wrapping network plugin: every interface it wraps moves bytes unchanged and is told of; what the job's plugin has not
# is not there; nothing else of it is touched.
. "${0%/*}/../lib/tap.sh"
. "${0%/*}/../lib/events.sh"
export LTTNG_UST_REGISTER_TIMEOUT=10000 # on a busy machine too, what is wanted is known when the job begins
job=$O/tests/plugin/nccl_net_job wrapper=$O/net/libnccl-net-trshim.so
build() { # FILE FLAGS... : the plugin over TCP that the tests of the simulated NCCL have
    ${CC:-gcc} -std=gnu11 -w -shared -fPIC -o "$scratch/$1" "${@:2}" "$root/tests/sim/log_net.c"
}
printf '{ global: ncclNetPlugin_v8; local: *; };\n' >"$scratch/eight.map"
printf 'int ncclCollNetPlugin_v9 = 1, ncclNetPlugin_v13 = 2, ncclTunerPlugin_v5 = 3, ncclProfiler_v6 = 4;' >"$scratch/more.c"
build libnccl-net-all.so && build eight.so -Wl,--version-script="$scratch/eight.map" &&
    build more.so "$scratch/more.c" || skip_all "no compiler"
unset NCCL_NET_PLUGIN
export TRSHIM_HOME=$scratch/home

alone() { # WHAT PLUGIN [N]: nobody listens
    TRSHIM_CORE='' TRSHIM_NCCL_NET=$2 timeout 60 "$job" "$1" "$wrapper" "$2" "${@:3}" 2>&1 || echo "status $?"
}
is "all versions of the plugin, and no more" "$(alone symbols "$scratch/libnccl-net-all.so")" "7 symbols"
is "a plugin of version 8: that one alone" "$(alone symbols "$scratch/eight.so")" "1 symbols"
is "newer versions, collective networks, tuner and profiler are the plugin's own" "$(alone symbols "$scratch/more.so")" "11 symbols"
is "no plugin: nothing to find" "$(alone symbols "$scratch/nosuch.so")" "0 symbols"
is "none: nothing to find" "$(alone symbols none)" "0 symbols"
is "by its short name" "$(LD_LIBRARY_PATH=$scratch alone symbols all | tail -n 1)" "7 symbols"
is "without a name: none installed" "$(alone symbols '')" "0 symbols"
is "around ourselves: nothing to find" "$(alone symbols "$wrapper" | tail -n 1)" "0 symbols"
is "a version that it has not" "$(alone move "$scratch/eight.so" 9)" "no ncclNetPlugin_v9"
is "init fails as it does" "$(LOG_NET_FAILS=1 alone move "$scratch/eight.so" 8)" "init 2"
is "no device" "$(LOG_NET_DEVICES=0 alone move "$scratch/eight.so" 8)" "0 devices"

all=$scratch/libnccl-net-all.so
for v in 6 7 8 9 10 11 12; do
    is "v$v: bytes are the same, nobody listening" "$(alone move "$all" $v | grep -c ' bytes$')" 1
done
command -v lttng-sessiond >/dev/null || { skip "recorded" "lttng-sessiond is not installed (make deps)"; done_testing; }
for v in 6 7 8 9 10 11 12; do
    record "$scratch/v$v" env TRSHIM_NCCL_NET="$all" timeout 60 "$job" move "$wrapper" "$all" $v >"$scratch/moved"
    is "v$v: the job's status" "$?" 0
    "$TR" events "$scratch/v$v" | grep ' nccl_net_' >"$scratch/events"
    is "v$v: its bytes are told, sent and received" \
        "$(for way in send receive; do awk -v way="way=$way" '$3 == "nccl_net_io" && index($0, way) && match($0, /size_bytes=[0-9]+/) {
            n += substr($0, RSTART + 11, RLENGTH - 11) } END { print n, "bytes" }' "$scratch/events"; done)" "$(cat "$scratch/moved" "$scratch/moved")"
    is "v$v: requests, by memory" "$(sed -n 's/.* nccl_net_io .*way=\([a-z]*\) gdr=\([01]\) count=\([0-9]*\) failed=\([0-9]*\) .*/\1 \2 \4 \3/p' "$scratch/events" |
        awk '{ n[$1 " gdr=" $2 " failed=" $3] += $4 } END { for (k in n) print k, n[k] }' | sort | tr '\n' ';')" "receive gdr=1 failed=0 200;send gdr=0 failed=0 200;"
    is "v$v: connections, from first to last" "$(sed -n 's/.* nccl_net_connection .*device=\([0-9]*\) way=\([a-z]*\) state=\([a-z]*\) .*/\1 \2 \3/p' "$scratch/events" | sort -u | tr '\n' ';')" \
        "1 receive gone;1 receive made;1 send gone;1 send made;"
    is "v$v: devices" "$(sed -n 's/.* nccl_net_device .*device=\([0-9]\) speed_mbps=\([0-9]*\) .* net=\([^ ]*\) name=\([^ ]*\) .*/\1 \2 \3 \4/p' "$scratch/events" | sort -u | tr '\n' ';')" \
        "0 100000 LogNet log0;1 100000 LogNet log1;"
done
done_testing
