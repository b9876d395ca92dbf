#!/bin/bash
# Another profiler plugin behind ours: it is told what NCCL would tell it, in its own version, by its own handles.
. "${0%/*}/../lib/tap.sh"
. "${0%/*}/../lib/events.sh"
export LTTNG_UST_REGISTER_TIMEOUT=10000 # on a busy machine too, what is wanted is known when the job begins
job=$O/tests/plugin/nccl_job plugin=$O/libnccl-profiler-trshim.so
build() { # FILE FLAGS...
    out=$1
    shift
    ${CC:-gcc} -std=gnu11 -w -shared -fPIC -I"$root" -o "$scratch/$out" "$@" "$root/tests/plugin/chained.c"
}
build libnccl-profiler-five.so -DCHAINED_V5 && build three.so -DCHAINED_V3 && build both.so -DCHAINED_V3 -DCHAINED_V5 &&
    build fails.so -DCHAINED_FAILS || skip_all "no compiler"

export CHAINED_LOG=$scratch/log TRSHIM_HOME=$scratch/home
# VERSION MASK CHAIN: the job with ours in front, nobody listening; what the chained one was told.
told() {
    : >"$CHAINED_LOG"
    CHAINED_MASK=$2 TRSHIM_NCCL_CHAIN=$3 TRSHIM_CORE='' NCCL_PROFILER_PLUGIN=$plugin timeout 60 "$job" "$1" 1 >"$scratch/mask" || echo "status $?"
    cat "$CHAINED_LOG"
}
# The same job with the other alone, as without us.
direct() {
    : >"$CHAINED_LOG"
    CHAINED_MASK=$2 NCCL_PROFILER_PLUGIN=$3 timeout 60 "$job" "$1" 1 >"$scratch/mask" || echo "status $?"
    cat "$CHAINED_LOG"
}

five=$scratch/libnccl-profiler-five.so
is "same version, all asked for: as if we were not there" "$(told 5 0xfff "$five")" "$(direct 5 0xfff "$five")"
is "its mask is NCCL's" "$(cat "$scratch/mask")" "mask 0xfff"
is "by its short name, as NCCL finds it" "$(LD_LIBRARY_PATH=$scratch told 5 0xfff five)" "$(direct 5 0xfff "$five")"

told 5 0x2 "$five" >"$scratch/two"
is "types it did not ask for stay away" "$(grep -c -e ProxyOp -e KernelLaunch "$scratch/two")" 0
is "ancestors come" "$(grep '^start' "$scratch/two" | sort -u)" \
"start Coll parent=CollApi func=AllReduce count=1000
start CollApi parent=GroupApi func=AllReduce count=1000
start Group parent=- func=- count=0
start GroupApi parent=- func=- count=0"

told 7 0xff "$scratch/three.so" >"$scratch/old"
is "an older version: launches have their group as parent" "$(grep '^start' "$scratch/old" | sort | uniq -c | sed 's/^ *//')" \
"2 start Coll parent=Group func=AllReduce count=1000
2 start Group parent=- func=- count=0
8 start ProxyOp parent=Coll func=- count=0"
is "an older version: no state it does not know" "$(grep -c '^state' "$scratch/old")" 0
is "an older version: all is stopped" "$(grep -c '^stop' "$scratch/old")" 12
is "the newest version that NCCL speaks too" "$(told 4 0xff "$scratch/both.so" | grep -c 'init rank=-1')" 2
is "one that NCCL is too old for is left out" "$(told 4 0xff "$five")" ""
is "one that fails is left out" "$(told 5 0xff "$scratch/fails.so")" ""
is "no such file" "$(told 5 0xff "$scratch/none.so")" ""
is "a chain to ourselves ends" "$(told 5 0xff "$plugin")" ""
is "none" "$(LD_LIBRARY_PATH=$scratch told 5 0xff none)" ""
cp "$five" "$scratch/libnccl-profiler.so"
: >"$CHAINED_LOG"
CHAINED_MASK=0xfff TRSHIM_CORE='' LD_LIBRARY_PATH=$scratch NCCL_PROFILER_PLUGIN=$plugin "$job" 5 1 >/dev/null
is "the one that NCCL would have found by itself" "$(cat "$CHAINED_LOG")" "$(direct 5 0xfff "$five")"

: >"$CHAINED_LOG"
ok "at random: nothing crashes" env CHAINED_MASK=0xffff TRSHIM_NCCL_CHAIN="$scratch/both.so" "$O/tests/plugin/test_stress" 50000
is "at random: it is given its own handles and contexts only" "$(grep -c FOREIGN "$CHAINED_LOG")" 0
is "at random: it is told" "$(($(wc -l <"$CHAINED_LOG") > 1000))" 1

if command -v lttng-sessiond >/dev/null; then
    : >"$CHAINED_LOG"
    CHAINED_MASK=0xfff NCCL_PROFILER_PLUGIN=$five record "$scratch/run" "$job" 5 1 >"$scratch/mask"
    cp "$CHAINED_LOG" "$scratch/recorded"
    is "recorded: both are told everything" "$(cat "$scratch/recorded")" "$(direct 5 0xfff "$five")"
    is "recorded: both are told everything" "$("$TR" events "$scratch/run" | grep -c ' coll ')" 2
fi
done_testing
