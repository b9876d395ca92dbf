#!/bin/sh
# Jobs that only have the preload: `trshim start` before them, or after them, and the meeting place.
. "${0%/*}/../lib/tap.sh"
. "${0%/*}/../lib/session.sh"
need_lttng

TRSHIM_HOME=$scratch/run/meet
export TRSHIM_HOME
alive() { kill -0 "$1" 2>/dev/null; }

# What the preload sets when LTTNG_HOME is not set; chatty has no preload, because it has the provider.
job="env LTTNG_HOME=$TRSHIM_HOME LTTNG_UST_REGISTER_TIMEOUT=100 $chatty"

fails "stop without start" saying "$TR" stop
ok "and says what to do" grep -q "trshim start" "$scratch/said"

# The job first: it sleeps on a word in shared memory until a daemon wakes it.
CHATTY_WAIT_MS=0 $job 0 1000 >"$scratch/early.out" &
early=$!
sleep 0.5
ok "start" "$TR" start -o "$scratch/a"
ok "the meeting place is private" test "$(stat -c %u "$TRSHIM_HOME")" = "$(id -u)"
fails "start again" saying "$TR" start -o "$scratch/b"
ok "is refused in one line" grep -q "running at" "$scratch/said"
# At once, or within LTTng's 5 s if another session of this user has just woken it for nothing.
early_is_there() { babeltrace2 "$scratch/a" 2>/dev/null | grep ' trshim:range: ' | grep -q "pid = $early,"; }
ok "a job that ran before start is recorded" wait_for 10 early_is_there
$job 300 1000 >"$scratch/late.out"
ok "level light" "$TR" level light
$job 100 >/dev/null
ok "status" "$TR" status
ok "stop" saying "$TR" stop
ok "says where the trace is" grep -q "$scratch/a" "$scratch/said"
ok "the early job goes on" alive "$early"
kill -TERM "$early"
wait "$early"
babeltrace2 "$scratch/a" 2>/dev/null | grep ' trshim:range: ' >"$scratch/events"
is "a job that came later is recorded whole" "$(grep -cv "pid = $early," "$scratch/events")" 300
fails "nothing to stop any more" "$TR" stop

ok "start again, for a second" "$TR" start -o "$scratch/c" --duration 1s
$job 200 >/dev/null
sleep 1.5
is "it ends by itself" "$(count_ranges "$scratch/c")" 200

if [ "$(id -u)" = 0 ]; then
    mkdir "$scratch/theirs" && chown 1234 "$scratch/theirs"
    TRSHIM_HOME=$scratch/theirs
    fails "a meeting place of somebody else is refused" saying "$TR" start -o "$scratch/d"
    ok "and said so" grep -q "not a directory of yours" "$scratch/said"
    TRSHIM_HOME=$scratch/run/meet
fi
clean "nothing is left behind"
done_testing
