#!/bin/bash
# Ranks that communicate, recorded: how much of a rank's communication was hidden, how much moved bytes, how much waited for
# others, and how much of that for other stages of a pipeline, is what the simulated NCCL says of the starts it had. Four
# ranks on two hosts. `sim-nccl-truth.t NAME...` runs only those settings.
. "${0%/*}/../lib/tap.sh"
. "$root/tests/lib/session.sh"
. "$root/tests/lib/simjob.sh"

# tensor: two communicators at a time, and launches of three all-reduces. late: one rank computes more than the others.
settings='
tensor   | --tp 2 --coalesce 3 --bucket-mb 48 --marks step
stages   | --pp 2 --micro 6 --marks nvtx
gpipe    | --pp 4 --micro 4 --gpipe --marks step
late     | --fault unbalanced-work:rank=1
sockets  | --fault nccl-socket-only --steps 12 --marks step
'

need_node
names=$(printf '%s\n' "$settings" | sed -n 's/ *|.*//p')
for name in ${*:-$names}; do
    read -ra options <<<"$(printf '%s\n' "$settings" | sed -n "s/^$name  *| *//p")"
    [ "${#options[@]}" -gt 0 ] || { fail "no setting $name"; continue; }
    ok "$name: the job runs and is recorded" run "$name" --ranks 4 --hosts 2 --steps 24 --checkpoint-every 0 "${options[@]}"
    ok "$name: steps" judge "$name" --check steps
    ok "$name: sums" judge "$name" --check sums
    ok "$name: waiting and moving bytes, in all" judge "$name" --check comm
done
clean "nothing is left"
done_testing
