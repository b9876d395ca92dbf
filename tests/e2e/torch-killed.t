#!/bin/bash
# Kills without warning. Of a killed job, all but the last second is in the report. When the daemon or `trshim record`
# is killed, the job goes on to its end unharmed, and what was recorded until then can be read.

. "${0%/*}/../lib/tap.sh"
. "$root/tests/lib/torchjob.sh"

job=("${data_options[@]}" --out "$scratch/checkpoints" --hidden 16 --workers 1 --data packed --checkpoint-every 0 --log-every 1)

# start NAME STEPS: records a job in the background; RECORD is record's pid, $dir.job.pid holds the job's.
start() {
    dir=$scratch/$1
    # shellcheck disable=SC2016
    TMPDIR=$scratch "$TR" record -o "$dir" --no-report -- sh -c 'echo $$ >"$0.pid" && exec "$@"' "$dir.job" "${train[@]}" "${job[@]}" \
        --steps "$2" --truth "$dir.truth" >"$dir.out" 2>"$dir.log" &
    RECORD=$!
}

steps_printed() { grep -c '^step' "$dir.out"; }
steps_reach() { [ "$(steps_printed)" -ge "$1" ]; }
is_gone() { ! kill -0 "$1" 2>/dev/null; }

# The daemon of the job's recording, by the directory the job was told.
daemon() { cat "$(tr '\0' '\n' <"/proc/$(cat "$dir.job.pid")/environ" | sed -n 's/^LTTNG_HOME=//p')/.lttng/lttng-sessiond.pid"; }

# Complete windows in the report, and how far its last step is from the job's last line of progress.
complete_windows() {
    "$PYTHON" -c 'import json, sys
print(sum(not step["incomplete"] for step in json.load(open(sys.argv[1]))["steps"]["list"]))' "$dir.json"
}

# all_but_a_second STEPS: the report has the windows of STEPS steps, save those of the last second.
all_but_a_second() {
    local each_ms have
    each_ms=$("$PYTHON" -c 'import re, sys
times = sorted(float(ms) for ms in re.findall(r"([\d.]+) ms/step", open(sys.argv[1]).read()))
print(times[len(times) // 2])' "$dir.out")
    have=$(complete_windows)
    echo "the job printed $1 steps of $each_ms ms, the report has $have complete windows"
    "$PYTHON" -c 'import sys; have, made, each = map(float, sys.argv[1:]); sys.exit(have < made - 2 - 1000 / each)' \
        "$have" "$1" "$each_ms"
}

# The report says that something is missing, and why.
says() {
    "$PYTHON" -c 'import json, sys
problems = [given["problem"] for given in json.load(open(sys.argv[1]))["inputs"]]
print(problems)
sys.exit(not any(sys.argv[2] in (problem or "") for problem in problems))' "$dir.json" "$1"
}

job_ended_well() { wait_for 60 is_gone "$(cat "$dir.job.pid")" && [ "$(steps_printed)" -eq "$1" ] && [ -s "$dir.truth" ]; }

need_recorder
ok "data set" "${train[@]}" --prepare "${data_options[@]}" --data packed

start killed-job 100000
ok "job: it trains" wait_for 60 steps_reach 100
kill -9 "$(cat "$dir.job.pid")"
wait $RECORD 2>/dev/null
is "job: record's exit status says how it died" $? 137
ok "job: a report" report "$dir"
ok "job: all but the last second is in it" all_but_a_second "$(steps_printed)"
ok "job: the classes of its windows add up" judge --check sums "$dir.json"

start killed-daemon 250
ok "daemon: the job trains" wait_for 60 steps_reach 100
kill -9 "$(daemon)"
before=$(steps_printed)
wait $RECORD
is "daemon: record's exit status is still the job's" $? 0
ok "daemon: the job ended unharmed" job_ended_well 250
ok "daemon: a report of what was recorded" report "$dir"
ok "daemon: all but the last second before is in it" all_but_a_second "$before"
ok "daemon: the report says what is missing" says "ended early"

start killed-record 250
ok "record: the job trains" wait_for 60 steps_reach 100
watched=$(daemon)
{ kill -9 $RECORD && wait $RECORD; } 2>/dev/null
before=$(steps_printed)
ok "record: the job ended unharmed" job_ended_well 250
ok "record: the daemon does not outlive the job" wait_for 20 is_gone "$watched"
ok "record: a report of what was recorded" report "$dir"
ok "record: all but the last second before is in it" all_but_a_second "$before"
ok "record: the report says what is missing" says "ended early"
done_testing
