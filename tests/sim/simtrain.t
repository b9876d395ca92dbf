#!/bin/sh
# simtrain tells the truth about itself: sums are exact, windows join, faults show where they should, and only there.
. "${0%/*}/../lib/tap.sh"
job=$O/examples/simtrain
[ -x "$job" ] || skip_all "not built: $job (make sim)"
command -v python3 >/dev/null || skip_all "no python3"

# run NAME ARGUMENTS...: truth in $scratch/NAME
run() {
    name=$1
    shift
    TMPDIR=$scratch "$job" --checkpoint-every 0 --truth "$scratch/$name" "$@"
}
# share NAME RANK CLASS: of the time of all steps but the first three and the last, in percent
check() { python3 "$root/tests/sim/check_truth.py" "$@"; }

ok "clean: the job runs" run clean --steps 25
ok "clean: windows join, classes add up to each, to the nanosecond" check sums "$scratch/clean" 2 25
ok "the same job again" run again --steps 25 --ranks 1
ok "kernels take as long in every run of a seed" check same-compute "$scratch/clean" "$scratch/again" 0
ok "another seed" run other --steps 25 --ranks 1 --seed 7
fails "kernels of another seed do not" check same-compute "$scratch/clean" "$scratch/other" 0

# faults NAME CLASS PERCENT: on rank 1 that class has at least so much, and more than on rank 0
for fault in dataloader-bound:dataloader:15 pageable-copies:copy_exposed:3 launch-bound:host:40 offload-bound:host:8 \
    sync-overuse:host:3; do
    id=${fault%%:*} rest=${fault#*:}
    ok "$id: the job runs" run fault --steps 20 --fault "$id:rank=1"
    ok "$id: shows as ${rest%:*} on its rank alone" check fault "$scratch/fault" "${rest%:*}" "${rest#*:}"
done
fails "an unknown fault is refused" run fault --fault no-such-thing
is "the work folder is removed" "$(find "$scratch" -name 'simtrain.*' | wc -l)" 0
done_testing
