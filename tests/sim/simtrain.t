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

# faults NAME CLASS PERCENT: on rank 1 that class has at least so much, and more than on rank 0 (which goes its own way:
# a rank whose kernels are short waits for the others, if it has to)
for fault in dataloader-bound:dataloader:15 pageable-copies:copy_exposed:3 launch-bound:host:40 offload-bound:host:8 \
    sync-overuse:host:3; do
    id=${fault%%:*} rest=${fault#*:}
    ok "$id: the job runs" run fault --steps 20 --gradient-mb 0 --fault "$id:rank=1"
    ok "$id: shows as ${rest%:*} on its rank alone" check fault "$scratch/fault" "${rest%:*}" "${rest#*:}"
done
# Ranks that communicate: who waits and who moves bytes follows from all ranks' starts, which the simulated NCCL tells.
ok "four ranks on two hosts" run hosts --steps 15 --ranks 4 --hosts 2
ok "sums are exact" check sums "$scratch/hosts" 4 15
ok "gradients go over beside the backward pass" check share "$scratch/hosts" 0 comm_overlapped 15 35
ok "little of it shows" check share "$scratch/hosts" 0 comm_exposed 0.5 8
ok "layers shared by two, gradients by two, all-reduces launched together" \
    run tensor --steps 12 --ranks 4 --hosts 2 --tp 2 --coalesce 3 --bucket-mb 48
ok "sums are exact" check sums "$scratch/tensor" 4 12
ok "what is within layers cannot hide" check share "$scratch/tensor" 3 comm_transfer 4 15
ok "two stages, one forward, one backward" run stages --steps 12 --ranks 4 --hosts 2 --pp 2
ok "sums are exact" check sums "$scratch/stages" 4 12
ok "stages wait as the schedule says" check bubble "$scratch/stages" 2 8
ok "four stages, all forward, then all backward" run gpipe --steps 8 --ranks 4 --pp 4 --micro 8 --gpipe
ok "sums are exact" check sums "$scratch/gpipe" 4 8
ok "stages wait as the schedule says" check bubble "$scratch/gpipe" 4 8
ok "one micro-batch: the job runs" run fault --steps 8 --ranks 2 --pp 2 --fault pipeline-bubble
ok "one micro-batch: half of the time is lost" check share "$scratch/fault" 0 pp_bubble 40 60
ok "a rank has more to compute: the job runs" run fault --steps 12 --ranks 4 --hosts 2 --fault unbalanced-work:rank=2
ok "the others wait for it" check share "$scratch/fault" 0 comm_wait 8 40
ok "it waits for nobody" check share "$scratch/fault" 2 comm_wait 0 3
ok "moving the bytes is not what takes the time" check share "$scratch/fault" 0 comm_transfer 0 12
for fault in nccl-socket-only:70:95 nccl-gdr-off:8:25 comm-bound:35:60 comm-slow:20:45 no-overlap:12:30; do
    id=${fault%%:*} rest=${fault#*:}
    ok "$id: the job runs" run fault --steps 6 --ranks 4 --hosts 2 --fault "$id"
    ok "$id: moving bytes shows" check share "$scratch/fault" 0 comm_transfer "${rest%:*}" "${rest#*:}"
done
fails "no room in /dev/shm: the job ends" timeout 30 "$job" --ranks 4 --hosts 2 --steps 5 --fault shm-limit
fails "an unknown fault is refused" run fault --fault no-such-thing
is "the work folder is removed" "$(find "$scratch" -name 'simtrain.*' | wc -l)" 0
done_testing
