#!/bin/bash
# A recorded job on the simulated NCCL: its log, its socket bytes and its collectives are in one trace, of one process each.
. "${0%/*}/../lib/tap.sh"
. "${0%/*}/../lib/events.sh"
command -v lttng-sessiond >/dev/null || skip_all "lttng-sessiond is not installed (make deps)"
job=$O/tests/sim/nccl_job
[ -x "$job" ] || skip_all "the simulated NCCL is not built (make sim)"

# Two ranks on two hosts: 20 rings of 100,000 floats. Each sends half of it twice.
NCCL_NET=Socket record "$scratch/run" env LD_LIBRARY_PATH="$O/sim" timeout 60 "$job" 2 2 AllReduce:100000:20 >/dev/null
is "the job's status" "$?" 0
"$TR" events "$scratch/run" >"$scratch/events"
bytes() { # OP NCCL
    awk -v op="op=$1" -v nccl="nccl=$2" '$3 == "sock_io" && index($0, op) && index($0, nccl) && match($0, /size_bytes=[0-9]+/) {
        n += substr($0, RSTART + 11, RLENGTH - 11) } END { print n + 0 }' "$scratch/events"
}
is "socket bytes are NCCL's" "$(bytes read 0) $(bytes write 0)" "0 0"
enough() { [ "$(bytes write 1)" -ge 16000000 ] && [ "$(bytes write 1)" -eq "$(bytes read 1)" ]; }
ok "as many as the rings moved, both ways ($(bytes write 1))" enough
pids() { sed -n "s/.* $1 pid=\([0-9]*\) .*/\1/p" "$scratch/events" | sort -u | tr '\n' ' '; }
is "the log is of the processes that call" "$(pids nccl_channel)" "$(pids coll)"
is "a communicator has its id by the plugin, and that of the log" \
    "$(sed -n 's/.* nccl_comm .*state=made.* id=\([0-9]*\) .*/\1/p' "$scratch/events" | sort -u | wc -l)" 1
is "hook and log agree on its address in each process" \
    "$(sed -n 's/.* nccl_comm pid=\([0-9]*\) .*state=made.* comm=\([0-9]*\) .*/\1 \2/p' "$scratch/events" | sort -u | wc -l)" 2

# A call on a stream that is being captured launches nothing by itself.
if ${CC:-gcc} -o "$scratch/capture" "$root/tests/sim/nccl_capture_job.c" "$O/sim/libnccl.so.2" "$O/sim/libcudart.so.13" \
    -Wl,-rpath-link,"$O/sim" 2>"$scratch/cc.err"; then
    record "$scratch/captured" env LD_LIBRARY_PATH="$O/sim" "$scratch/capture"
    is "a captured call: the job's status" "$?" 0
    is "a captured call is told from the others" \
        "$("$TR" events "$scratch/captured" | sed -n 's/.* coll .* how=\([0-9]*\) .* count=\([0-9]*\) .*/\2 \1/p' | tr '\n' ' ')" "100 1 200 5 300 1 "
else
    skip "a captured call" "no compiler"
fi
done_testing
