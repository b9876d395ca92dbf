#!/bin/sh
# The flight recorder: nothing is written while all is well; a snapshot is when a job fails, when it stands, when it is
# asked for, and then each event once.
. "${0%/*}/../lib/tap.sh"
. "${0%/*}/../lib/session.sh"
need_lttng

# increasing WHAT: the numbers that chatty emitted are there without a hole, each once; more than $2 of them.
increasing() {
    is "$1: each event once, without a hole" "$(seq "$(head -n 1 "$scratch/nr")" "$(tail -n 1 "$scratch/nr")" | cmp - "$scratch/nr" && echo same)" same
    ok "$1: more than $2" test "$(wc -l <"$scratch/nr")" -gt "$2"
}
snapshots() { ls -d "$1"/*/snapshot-* 2>/dev/null | wc -l | tr -d ' '; }

dir=$scratch/failed
record --flight 8M -o "$dir" -- sh -c "'$chatty' 700 1000; exit 3" >"$scratch/out" 2>"$scratch/err"
is "a job that fails: its status" $? 3
is "and a snapshot" "$(snapshots "$dir")" 1
ranges "$dir" | sort -n >"$scratch/nr"
increasing "in it" 500
ok "the card says how much was written" grep -q 'wrote   1 snapshot of the last events' "$scratch/err"
ok "a report reads it" "$TR" report "$dir"

dir=$scratch/well
record --flight 8M -o "$dir" -- "$chatty" 100 1000 >"$scratch/out" 2>"$scratch/err"
is "a job that ends well: its status" $? 0
is "and nothing written" "$(snapshots "$dir")" 0
ok "which the card says" grep -q 'nothing was written' "$scratch/err"
"$TR" report "$dir" >"$scratch/out" 2>"$scratch/err"
is "a report of nothing: one line" "$? $(wc -l <"$scratch/err" | tr -d ' ')" "2 1"
ok "which says why" grep -q 'snapshot' "$scratch/err"

dir=$scratch/asked
TRSHIM_CORE='' "$TR" record --no-report --flight 8M -o "$dir" -- "$chatty" 0 1000 >"$scratch/out" 2>"$scratch/err" &
record_pid=$!
job_runs() { job_pid=$(pids_of "^$chatty"); [ -n "$job_pid" ]; }
wait_for 10 job_runs
sleep 1
ok "trshim snapshot" "$TR" snapshot -o "$dir"
sleep 1
ok "and again" "$TR" snapshot -o "$dir"
is "two snapshots" "$(snapshots "$dir")" 2
sleep 0.5
kill -9 "$job_pid"
wait "$record_pid"
is "a job that is killed: its status" $? 137
is "a third" "$(snapshots "$dir")" 3
ranges "$dir" | sort -n >"$scratch/nr"
is "together: each event once" "$(sort -nu "$scratch/nr" | cmp - "$scratch/nr" && echo same)" same
ok "together: more than a thousand" test "$(wc -l <"$scratch/nr")" -gt 1000
is "trshim events reads them all" "$("$TR" events --kind range "$dir" 2>/dev/null | grep -c ' range ')" "$(wc -l <"$scratch/nr" | tr -d ' ')"
clean "nothing is left"

# A ring: what is new overwrites what is old.
dir=$scratch/small
record --flight 1M -o "$dir" -- sh -c "'$chatty' 200000 0; exit 1" >"$scratch/out" 2>"$scratch/err"
ranges "$dir" | sort -n >"$scratch/nr"
is "a ring keeps the newest" "$(tail -n 1 "$scratch/nr")" "$(sed -n 's/^last //p' "$scratch/out")"
ok "and not the oldest" test "$(head -n 1 "$scratch/nr")" -gt 1000

# A training thread that stands: the snapshot comes while it does.
dir=$scratch/stands
cat >"$scratch/stands.py" <<'PY'
import ctypes, os, time
step = ctypes.CDLL(None).trshim_step
for i in range(20):
    step(ctypes.c_uint64(i))
    time.sleep(0.01)
print("stands", flush=True)
os.read(os.pipe()[0], 1)
PY
TRSHIM_HANG_S=1 "$TR" record --no-report --flight 8M -o "$dir" -- "$PYTHON" "$scratch/stands.py" >"$scratch/out" 2>"$scratch/err" &
record_pid=$!
has_snapshot() { [ "$(snapshots "$dir")" -ge 1 ]; }
ok "a training thread that stands gives a snapshot" wait_for 20 has_snapshot
sleep 0.5
"$TR" events "$dir" >"$scratch/events" 2>"$scratch/err"
ok "which says what it stands in" grep -q ' open_op .*age_ns=' "$scratch/events"
kill -TERM "$record_pid"
wait "$record_pid"

record --no-report -o "$scratch/plain" -- sleep 3 >"$scratch/out" 2>"$scratch/err" &
plain_runs() { "$TR" status -o "$scratch/plain"; }
wait_for 10 plain_runs
"$TR" snapshot -o "$scratch/plain" >"$scratch/out" 2>"$scratch/said"
is "a session that is no flight recorder: one line" "$? $(wc -l <"$scratch/said" | tr -d ' ')" "2 1"
wait
clean "nothing is left at the end"
done_testing
