#!/bin/bash
# What the user asked for, and no more: ranks, steps, levels, ranges; and what may never be recorded.
. "${0%/*}/../lib/tap.sh"
. "${0%/*}/../lib/events.sh"

mkdir -p "$scratch/files/data"
printf 'x%.0s' {1..640} >"$scratch/files/data/f"
# Marks its steps, and reads once in each.
cat >"$scratch/job.py" <<END
import ctypes, os
step = ctypes.CDLL(None).trshim_step
for i in range(20):
    step(ctypes.c_uint64(i))
    fd = os.open("$scratch/files/data/f", os.O_RDONLY)
    os.read(fd, 1000)
    os.close(fd)
END

run() { # NAME OPTIONS...
    name=$1
    shift
    "$TR" record --no-report -o "$scratch/$name" "$@" -- "$PYTHON" "$scratch/job.py" 2>"$scratch/record.err" ||
        note "$(cat "$scratch/record.err")"
    named "$scratch/$name" >"$scratch/events"
}
reads() { grep -cE " file_io .*op=read .*name=\"$scratch/files/data\"" "$scratch/events"; }
calls() {
    awk -v name="name=\"$scratch/files/data\"" '$3 == "file_io" && index($0 " ", " " name " ") && match($0, / count=[0-9]+/) {
        n += substr($0, RSTART + 7, RLENGTH - 7) } END { print n + 0 }' "$scratch/events"
}

run all
is "all: every read" "$(calls)" 20

run steps --steps 5:9
is "--steps 5:9: reads of five steps" "$(calls)" 5
is "--steps 5:9: all marks all the same" "$(grep -c ' anchor ' "$scratch/events")" 20
is "--steps 5:9: the gaps are told" "$(grep -c ' gap .*why=steps' "$scratch/events")" 3

run every --every 10:2
is "--every 10:2: two of ten" "$(calls)" 4

RANK=3 WORLD_SIZE=8 run other_rank --ranks 0-2,7
is "--ranks: another rank's detail is not recorded" "$(calls) $(grep -c ' anchor ' "$scratch/events")" "0 0"
is "--ranks: that it was left out is told" "$(grep -c ' gap .*why=ranks' "$scratch/events")" 1
RANK=7 WORLD_SIZE=8 run this_rank --ranks 0-2,7
is "--ranks: the one asked for is" "$(calls)" 20
is "the rank is known" "$(grep -c ' proc .*how=start.* rank=7 world=8 ' "$scratch/events")" 1

run light --level light
is "light: no reads" "$(reads)" 0
is "light: marks" "$(grep -c ' anchor ' "$scratch/events")" 20
run full --level full
is "full: every call an event" "$(reads)" 20

export NCCL_DEBUG=WARN NCCL_AUTH_TOKEN=s3cret-token TORCH_API_KEY=s3cret-key HOME_GROWN=s3cret-other CUDA_PASSPHRASE=s3cret-pass
"$TR" record --no-report -o "$scratch/secrets" -- "$PYTHON" "$scratch/job.py" --password s3cret-argument 2>/dev/null
"$TR" events "$scratch/secrets" >"$scratch/events"
is "an allowed variable" "$(grep -c 'attr .*key=env.NCCL_DEBUG value=WARN' "$scratch/events")" 1
is "no secret, no other variable, no argument" "$(grep -rc s3cret "$scratch/secrets" | awk -F: '{ n += $2 } END { print n }')" 0
# A job that does nothing but call us: recording must not cost it more than its budget, and says what it left out.
cat >"$scratch/job.py" <<END
import os, time
fd = os.open("$scratch/files/data/f", os.O_RDONLY)
end = time.monotonic() + 7
while time.monotonic() < end:
    for i in range(1000):
        os.pread(fd, 10, 0)
        os.stat("$scratch/files/data/f")
END
TRSHIM_BUDGET=1 run budget
is "over budget: less detail, and told" "$(grep -c ' gap .*why=budget on=1' "$scratch/events")" 1
TRSHIM_BUDGET=0 TRSHIM_HANG_S=1 run no_budget
is "no budget: all detail" "$(grep -c ' gap ' "$scratch/events")" 0
is "calls that return are no hang" "$(grep -c ' open_op ' "$scratch/events")" 0
done_testing
