#!/bin/bash
# The state of the host, on the simulated node: one process tells it for all ranks, GPUs only where the job has NVML.
. "${0%/*}/../lib/tap.sh"
. "$root/tests/lib/session.sh"
. "$root/tests/lib/simjob.sh"

need_node
job=$simtrain

mkdir -p "$scratch/node/proc"
echo 'cpu  100 20 30 4000 500 6 7 8 90 0' >"$scratch/node/proc/stat"
echo '0 sm_clock 1290' >"$scratch/boards"

# sampled NAME VARIABLE=VALUE...: the job's node_sample events, in $scratch/NAME.events
sampled() {
    local name=$1
    shift
    TMPDIR=$scratch SIM_NVML=$scratch/boards timeout 60 "$TR" record -o "$scratch/$name" --no-report -- \
        env "$@" "$job" --steps 80 >"$scratch/said" 2>&1 &&
        "$TR" events "$scratch/$name" | grep ' node_sample ' >"$scratch/$name.events"
}

sampled nvml TRSHIM_NODE="$scratch/node" LD_PRELOAD="$O/libtrshim.so:$O/sim/libnvidia-ml.so.1"
is 'one process tells it' "$(sed 's/.* pid=\([0-9]*\) .*/\1/' "$scratch/nvml.events" | sort -u | wc -l)" 1
is 'what is not there is not told' "$(grep -c 'metric=io_some_us' "$scratch/nvml.events")" 0
ok 'its totals are told' grep -q 'metric=cpu_busy_ms device=0 value=1710$' "$scratch/nvml.events"
ok 'and the clock of a GPU' grep -q 'metric=gpu_clock_mhz device=0 value=1290$' "$scratch/nvml.events"

sampled none TRSHIM_NODE=none
is 'none: nothing is read' "$(wc -l <"$scratch/none.events")" 0
done_testing
