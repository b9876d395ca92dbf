#!/bin/bash
# A job on the simulated node, recorded: the report has the job's own step numbers, windows and times by class, whichever
# way steps are told apart and whichever CUDA the job is built for. `sim-truth.t NAME...` runs only those settings.
. "${0%/*}/../lib/tap.sh"
. "$root/tests/lib/session.sh"
. "$root/tests/lib/simjob.sh"

# launches: a step is 12 ms in which the GPU waits for the host all the time, so that every delay of a thread on a busy
# machine shows; its windows are not held against the job's one by one.
# name | CUDA | arguments
settings='
none        | 13 |
nvtx        | 13 | --marks nvtx
step        | 13 | --marks step
none-12     | 12 | --fault dataloader-bound:rank=1
nvtx-12     | 12 | --marks nvtx --fault pageable-copies:rank=0
step-12     | 12 | --marks step
data        | 13 | --marks step --fault dataloader-bound:rank=1
syncs       | 13 | --marks nvtx --fault sync-overuse:rank=1
launches    | 13 | --marks step --fault launch-bound:rank=0 --ranks 1
offload     | 12 | --marks step --fault offload-bound:rank=0
checkpoints | 13 | --marks step --checkpoint-every 10
inline      | 13 | --marks step --workers 0
'

# column NAME NUMBER
column() { printf '%s\n' "$settings" | sed -n "s/^$1  *| *//p" | cut -d '|' -f "$2" | sed 's/^ *//; s/ *$//'; }

# On a busy machine a thread that is woken may wait long for a CPU. From outside it waits for whom it waited for, to the
# job's own account it goes on; so what does not agree in time, and only that, gets a second run.
recorded() { run "$name" --ranks 2 --steps 40 "${options[@]}"; }
agrees() {
    judge "$name" --check "$1" && return
    echo "a second run:"
    rm -rf "${scratch:?}/$name"
    recorded && judge "$name" --check "$1"
}

setting() {
    local name=$1 options
    read -ra options <<<"$(column "$name" 2)"
    cuda=$(column "$name" 1)
    ok "$name: the job runs and is recorded" recorded
    ok "$name: steps" judge "$name" --check steps
    ok "$name: sums" judge "$name" --check sums
    ok "$name: totals" agrees totals
    [ "$name" = launches ] || ok "$name: each" agrees each
}

need_node
names=$(printf '%s\n' "$settings" | sed -n 's/ *|.*//p')
for name in ${*:-$names}; do
    [ -n "$(column "$name" 1)" ] || { fail "no setting $name"; continue; }
    setting "$name"
done
clean "nothing is left"
done_testing
