#!/bin/bash
# A job on the simulated node, recorded: its report agrees with what the job knows of itself, step by step, through every
# way to tell steps apart; and each fault is found, on its rank.
. "${0%/*}/../lib/tap.sh"
. "$root/tests/lib/session.sh"
need_lttng
job=$O/examples/simtrain
[ -x "$job" ] || skip_all "not built: $job (make sim)"
check() { "$PYTHON" "$root/tests/e2e/check_gpu.py" "$@"; }

# run NAME ARGUMENTS...: report and truth in $scratch/NAME.json and .truth
run() {
    local name=$1
    shift
    rm -rf "$scratch/trace"
    TMPDIR=$scratch "$TR" record -o "$scratch/trace" --no-report -- "$job" --ranks 2 --steps 40 --truth "$scratch/$name.truth" "$@" &&
        "$TR" report --json "$scratch/trace" >"$scratch/$name.json"
}

# A busy host can keep a thread off its CPU long enough that what it did looks like something else, to the job's own account
# as well: what does not agree gets a second run.
agrees() {
    local name=$1 args=$2
    shift 2
    run "$name" $args && "$@" && return
    echo "a second run:"
    run "$name" $args && "$@"
}
well() { check truth "$scratch/clean.json" "$scratch/clean.truth" && check findings "$scratch/clean.json"; }

for marks in none nvtx step; do
    ok "marks $marks: steps, windows and classes are the job's own; nothing of weight is found" agrees clean "--marks $marks" well
done
for id in memory-fragmentation memory-capacity alloc-retries pageable-copies sync-overuse launch-bound offload-bound low-mfu \
    dataloader-bound; do
    ok "$id is found, on rank 1" agrees fault "--fault $id:rank=1" check findings "$scratch/fault.json" "$id" 1
done
clean "nothing is left"
done_testing
