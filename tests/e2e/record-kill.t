#!/bin/sh
# kill -9 of each process of a recording: the job goes on unharmed, what was recorded is readable, nothing is left.
. "${0%/*}/../lib/tap.sh"
. "${0%/*}/../lib/session.sh"
need_lttng

# begin NAME: records a chatty job into $dir in the background; sets record_pid, job_pid.
begin() {
    dir=$scratch/$1
    TRSHIM_CORE='' "$TR" record --no-report -o "$dir" -- "$chatty" 0 1000 >"$dir.out" 2>"$dir.err" &
    record_pid=$!
    wait_for 10 job_runs
    sleep 1
}
job_runs() { job_pid=$(pids_of "^$chatty"); [ -n "$job_pid" ]; }
alive() { kill -0 "$1" 2>/dev/null; }
gone() { ! alive "$1"; }
why() { sed -n 's/.*"why": "\(.*\)",/\1/p' "$1"/*/session.json; }

# most WHAT: at least 400 of about 900 events can be read, without a hole. (On a busy machine a process may begin before
# its registration is done: it waits 100 ms for that, no longer.)
most() {
    ranges "$dir" >"$dir.nr"
    ok "$1: at least half of it can be read" test "$(wc -l <"$dir.nr")" -ge 400
    is "$1: without a hole" "$(seq "$(head -n 1 "$dir.nr")" "$(tail -n 1 "$dir.nr")" | cmp - "$dir.nr" && echo same)" same
    is "$1: trshim events reads as many" "$("$TR" events --kind range "$dir" 2>/dev/null | grep -c ' range ')" "$(wc -l <"$dir.nr" | tr -d ' ')"
    ok "$1: from near the first on" test "$(head -n 1 "$dir.nr")" -lt 300
}
end_job() {
    kill -TERM "$job_pid"
    wait "$record_pid"
}

begin job
kill -9 "$job_pid"
wait "$record_pid"
is "job killed: its status is ours" $? 137
most "job killed"
ok "job killed: the card is printed" grep -q "lost *nothing" "$dir.err"
clean "job killed: nothing is left"

begin record
kill -9 "$record_pid"
wait "$record_pid" 2>/dev/null
clean_but_job() { [ -z "$(pids_of 'lttng-\|trshim record')" ] && [ -z "$(ls "$run")" ]; }
ok "record killed: the session ends by itself" wait_for 8 clean_but_job
ok "record killed: the job goes on" alive "$job_pid"
most "record killed"
is "record killed: the trace says so" "$(why "$dir")" '`trshim record` was killed'
kill -9 "$job_pid"
clean "record killed: nothing is left"

begin sessiond
kill -9 "$(pids_of '^lttng-sessiond' | head -n 1)"
sleep 1
ok "sessiond killed: the job goes on" alive "$job_pid"
end_job
is "sessiond killed: status is the job's" $? 0
most "sessiond killed"
is "sessiond killed: the user is told" "$(grep -c 'recording ended before the job: the session daemon' "$dir.err")" 1
clean "sessiond killed: nothing is left"

begin consumerd
kill -9 $(pids_of '^lttng-consumerd')
sleep 1
ok "consumerd killed: the job goes on" alive "$job_pid"
end_job
is "consumerd killed: status is the job's" $? 0
most "consumerd killed"
is "consumerd killed: the user is told" "$(grep -c 'recording ended before the job: the consumer daemon' "$dir.err")" 1
clean "consumerd killed: nothing is left"

begin keeper
kill -9 $(pids_of "^$TR record" | grep -v "^$record_pid\$")
sleep 1
ok "keeper killed: the job goes on" alive "$job_pid"
end_job
is "keeper killed: status is the job's" $? 0
most "keeper killed"
ok "keeper killed: the user is told" grep -q "the recorder was killed" "$dir.err"
clean "keeper killed: nothing is left"

# All at once. Nobody is left to tidy up: the daemons' trace is readable, and the next record removes the home.
begin all
kill -9 $(pids_of 'lttng-\|trshim record') 2>/dev/null
ok "recorder and daemons killed: the job goes on" alive "$job_pid"
kill -9 "$job_pid"
wait "$record_pid" 2>/dev/null
most "all killed"
is "all killed: the trace still says recording" "$(grep -c '"state": "recording"' "$dir"/*/session.json)" 1
record -q --no-report -o "$scratch/next" -- true
clean "all killed: the next record removes what was left"

# SIGTERM, and SIGKILL 10 s later, to a job that does not care.
dir=$scratch/term
TRSHIM_CORE='' "$TR" record --no-report -o "$dir" -- sh -c 'trap "" TERM; echo ready; sleep 30' >"$dir.out" 2>"$dir.err" &
record_pid=$!
wait_for 10 test -s "$dir.out"
kill -TERM "$record_pid"
closed() { grep -q '"state": "ended"' "$dir"/*/session.json; }
ok "SIGTERM to a job that ignores it: the session is closed before SIGKILL comes" wait_for 9 closed
ok "and the job still runs" alive "$(pids_of '^sleep 30')"
kill -9 "$record_pid" $(pids_of '^sleep 30\|trap') 2>/dev/null
wait "$record_pid" 2>/dev/null
clean "nothing is left"
done_testing
