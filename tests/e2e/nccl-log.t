#!/bin/bash
# What NCCL logs is in the trace, and what the user sees is what he would have seen: nothing, warnings, or all of it.
. "${0%/*}/../lib/tap.sh"
. "${0%/*}/../lib/events.sh"

logs=$O/tests/shim/nccl_logs
[ -x "$logs" ] || skip_all "$logs is not built (make tests)"
unset NCCL_DEBUG NCCL_DEBUG_SUBSYS NCCL_DEBUG_FILE NCCL_CONF_FILE
export HOME=$scratch # nobody's .nccl.conf
nr=0

# same WHAT [ENV...] -- ARG...: what is printed, apart from process numbers, is what is printed without us.
same() {
    what=$1 env=()
    shift
    while [ "$1" != -- ]; do env+=("$1") && shift; done
    shift
    nr=$((nr + 1)) run=$scratch/run$nr
    { env "${env[@]}" "$logs" "$@" >"$scratch/plain"; } 2>/dev/null
    alone=$?
    { env "${env[@]}" timeout 60 "$TR" record -q --no-report -o "$run" "${more[@]}" -- "$logs" "$@" >"$scratch/seen"; } 2>/dev/null
    is "$what: the job ends as it would" "$?" "$alone"
    is "$what: the user sees what he would" "$(sed 's/:[0-9]*:[0-9]* /: /' "$scratch/seen")" "$(sed 's/:[0-9]*:[0-9]* /: /' "$scratch/plain")"
}

kept() { cat "$run"/*/nccl/*.log 2>/dev/null | grep -c -- "$1"; }

for way in fwrite vfprintf; do
    same "$way, nothing wished" -- $way
    is "$way, nothing wished: INFO is in the trace" "$(kept 'NCCL INFO') $(kept 'NCCL WARN')" "4 1"
    same "$way, warnings wished" NCCL_DEBUG=WARN -- $way
    is "$way, warnings wished: INFO is in the trace" "$(kept 'NCCL INFO') $(kept 'NCCL WARN')" "4 1"
    same "$way, INFO wished" NCCL_DEBUG=INFO -- $way
    is "$way, INFO wished: it is in the trace too" "$(kept 'NCCL INFO') $(kept 'NCCL WARN')" "4 1"
    same "$way, set by the job itself" -- $way change INFO
    is "$way, set by the job itself: it is in the trace" "$(kept 'NCCL INFO')" 4
    same "$way, killed" NCCL_DEBUG=WARN -- $way kill
    is "$way, killed: all of it is in the trace" "$(kept 'NCCL INFO') $(kept 'NCCL WARN')" "4 1"
done
same "the version wished" NCCL_DEBUG=VERSION -- fwrite
is "the version wished: INFO is in the trace" "$(kept 'NCCL INFO')" 4
same "warnings in a file of the user's" NCCL_DEBUG=WARN NCCL_DEBUG_FILE="$scratch/user.%p" -- fwrite
is "warnings in a file of the user's: they are there, and in the trace" "$(cat "$scratch"/user.* | grep -c WARN) $(kept 'NCCL WARN')" "2 1"
is "and nothing more is" "$(cat "$scratch"/user.* | grep -c INFO) $(kept 'NCCL INFO')" "0 0"
echo "NCCL_DEBUG=INFO" >"$scratch/.nccl.conf"
same "INFO by nccl.conf" -- fwrite
echo "NCCL_DEBUG_FILE=/somewhere" >"$scratch/.nccl.conf"
nr=90
same "a file by nccl.conf" -- fwrite
is "a file by nccl.conf: left alone" "$(grep -c NCCL_DEBUG=INFo <(env -i HOME="$HOME" PATH="$PATH" "$TR" record -q --no-report -o "$scratch/conf" -- env))" 0
rm "$scratch/.nccl.conf"
same "a job that closes what it does not know" NCCL_DEBUG=INFO -- fwrite close
is "a job that closes what it does not know: the lines are in the trace" "$(kept 'NCCL INFO')" 5
more=(--no-nccl-log)
same "--no-nccl-log" NCCL_DEBUG=INFO -- fwrite
is "--no-nccl-log: none is kept" "$(kept NCCL) $(ls -d "$run"/*/nccl 2>/dev/null)" "0 "
more=()

# The report finds it, and its process is the one of the trace.
mkdir "$scratch/py"
cat >"$scratch/job.py" <<END
import os, time
with open("$scratch/data", "wb") as f: f.write(b"x" * 2000000)
os.execv("$logs", ["nccl_logs", "fwrite"])
END
record "$scratch/job" "$PYTHON" "$scratch/job.py" >/dev/null
"$TR" events "$scratch/job" >"$scratch/events"
is "the log's events are the process's" \
    "$(sed -n 's/.* \(nccl_comm\|nccl_channel\) pid=\([0-9]*\) .*/\2/p' "$scratch/events" | sort -u)" \
    "$(sed -n 's/.* proc pid=\([0-9]*\) .*/\1/p' "$scratch/events" | sort -u | tail -n 1)"
is "and stand in its time" "$(awk '$3 == "nccl_comm" || $3 == "nccl_channel" { n += $1 < 1000000 }  END { print n + 0 }' "$scratch/events")" 0
ok "the report tells the transport" sh -c "'$TR' report --json '$scratch/job' | grep -q NET/Socket"
is "our file is none of the job's" "$(count "$scratch/job" ' name2?="[^"]*/nccl[/"]')" 0

# Two snapshots of a flight recorder have one log.
cat >"$scratch/twice.sh" <<END
"$logs" fwrite
"$TR" snapshot -o "$scratch/flight"
exit 3
END
record_flight() { timeout 60 "$TR" record -q --no-report --flight 4M -o "$scratch/flight" -- "$PYTHON" -c "import subprocess, sys; sys.exit(subprocess.call(['bash', '$scratch/twice.sh']))"; }
record_flight >/dev/null 2>&1
is "flight recorder: two snapshots, the log once" \
    "$(ls -d "$scratch"/flight/*/snapshot-* | wc -l) $("$TR" events "$scratch/flight" | grep -c ' nccl_channel ')" "2 1"
done_testing
