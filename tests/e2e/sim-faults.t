#!/bin/bash
# Each fault of the simulated job gives its finding, about its rank, and nothing else of weight that is not said to be a
# consequence; a healthy job gives none. What a trace says of who ran what does not decide: with names, arguments and
# environment blanked the verdicts are the same. `sim-faults.t FAULT...` runs only those; `healthy` is one of them.
# SIM_SEED=N: another job of the kind. tools/seeds runs many.
. "${0%/*}/../lib/tap.sh"
. "$root/tests/lib/session.sh"
. "$root/tests/lib/simjob.sh"

faults='healthy memory-fragmentation memory-capacity alloc-retries pageable-copies sync-overuse launch-bound offload-bound
    low-mfu dataloader-bound'

# The rank that has the fault changes from one fault to the next. A rank of short kernels waits for the others where it
# has to exchange gradients with them, so it is bound by nothing of its own: those ranks go apart.
rank=1
alone=' launch-bound '
verdict() {
    local name=$1
    if [ "$name" = healthy ]; then
        ok "healthy: the job runs and is recorded" run healthy --ranks 2 --steps 50 --seed "${SIM_SEED:-0}" --checkpoint-every 0
        ok "healthy: nothing of weight is found" judge healthy --check findings
        return
    fi
    rank=$((1 - rank))
    local apart=()
    [[ $alone != *" $name "* ]] || apart=(--gradient-mb 0)
    ok "$name: the job runs and is recorded" \
        run "$name" --ranks 2 --steps 50 --seed "${SIM_SEED:-0}" --checkpoint-every 0 "${apart[@]}" \
        --fault "$name:rank=$rank"
    # Products at a small part of the peak, on one rank, are kernels slower than its peers' as well.
    local also=()
    [ "$name" != low-mfu ] || also=(--allow gpu-slow)
    ok "$name: is found, on rank $rank, and nothing else" \
        judge "$name" --check findings --expect "$name" --rank $rank "${also[@]}"
}

# Without names of processes and threads, their arguments, and what was recorded of the environment.
who=' (proc|thread) '
blanked() { "$TR" events "$1" | sed -E -f "$root/tests/lib/blank.sed"; }

same_when_blanked() {
    blanked "$scratch/$1" >"$scratch/$1.events" || return
    grep -E "$who" "$scratch/$1.events" | grep -E ' (comm|cmd)=([^x]|x[^ ])' && return 1
    grep -E ' key=env\.[^ ]* value=[^x]' "$scratch/$1.events" && return 1
    "$TR" report --json "$scratch/$1.events" >"$scratch/$1.blank.json" &&
        "$PYTHON" -B "$root/tests/e2e/check_sim_truth.py" --same "$scratch/$1.json" "$scratch/$1.blank.json"
}

need_node
for name in ${*:-$faults}; do verdict "$name"; done
for name in ${*:-healthy dataloader-bound memory-fragmentation offload-bound}; do
    ok "$name: the verdict is the same with names, arguments and environment blanked" same_when_blanked "$name"
done
clean "nothing is left"
done_testing
