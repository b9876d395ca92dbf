#!/bin/sh
# Less than everything: a delay, a duration, a level, a largest size, small buffers.
. "${0%/*}/../lib/tap.sh"
. "${0%/*}/../lib/session.sh"
need_lttng

field() { sed -n "s/.*\"$2\": \"\{0,1\}\([^\",]*\).*/\1/p" "$1"/*/session.json | head -n 1; }
first() { ranges "$1" | head -n 1; }
last() { ranges "$1" | tail -n 1; }

CHATTY_WAIT_MS=0 record -q --no-report --delay 500ms -o "$scratch/delay" -- "$chatty" 1500 1000 >/dev/null
ok "--delay: the beginning is not there" test "$(first "$scratch/delay")" -gt 100
is "--delay: the end is" "$(last "$scratch/delay")" 1500

record --no-report --duration 0.5s -o "$scratch/duration" -- "$chatty" 1500 1000 >"$scratch/out" 2>"$scratch/err"
is "--duration: the command ran to its end" "$(cat "$scratch/out")" "last 1500"
ok "--duration: the beginning is there" test "$(first "$scratch/duration")" -lt 200
ok "--duration: the end is not" test "$(last "$scratch/duration")" -lt 1200
ok "--duration: the user is told" grep -q "the time asked for was over" "$scratch/err"

record -q --no-report --level light -o "$scratch/light" -- "$chatty" 1000 >/dev/null
is "--level light: no ranges, but anchors" "$(count_ranges "$scratch/light") $(anchors "$scratch/light" | wc -l)" "0 10"

# Raised and lowered while it runs.
TRSHIM_CORE='' "$TR" record -q --no-report --level light -o "$scratch/live" -- "$chatty" 0 1000 >"$scratch/out" &
pid=$!
keeper_there() { test -s "$scratch"/live/*/.keeper; }
job_runs() { job=$(pids_of "^$chatty") && [ -n "$job" ]; }
wait_for 10 keeper_there
wait_for 10 job_runs
sleep 0.3
ok "trshim level standard" "$TR" level standard -o "$scratch/live"
sleep 0.5
ok "trshim status" saying "$TR" status -o "$scratch/live"
ok "says the level" grep -q standard "$scratch/said"
ok "trshim level light" "$TR" level light -o "$scratch/live"
sleep 0.3
kill -TERM "$job"
wait "$pid"
total=$(sed 's/last //' "$scratch/out")
ok "raised: ranges begin late" test "$(first "$scratch/live")" -gt 50
ok "lowered: and end early" test "$(last "$scratch/live")" -lt $((total - 50))
fails "no such level" "$TR" level most -o "$scratch/live"
fails "nothing to stop" "$TR" stop -o "$scratch/live"

# A million events are three times 10 MB.
record -q --no-report --max-size 10M -o "$scratch/max" -- "$chatty" 1000000 200 100 >"$scratch/out"
size=$(du -sb "$scratch/max" | cut -f1)
babeltrace2 "$scratch/max" 2>/dev/null >"$scratch/max.txt"
sed -n 's/.* trshim:range: .* name = \([0-9]*\),.*/\1/p' "$scratch/max.txt" >"$scratch/max.nr"
note "size $size, first $(head -n 1 "$scratch/max.nr"), last $(tail -n 1 "$scratch/max.nr")"
ok "--max-size: it is kept" test "$size" -le 10485760
ok "--max-size: the oldest is dropped" test "$(head -n 1 "$scratch/max.nr")" -gt 100000
ok "--max-size: the newest is kept" test "$(tail -n 1 "$scratch/max.nr")" -ge 990000
is "--max-size: the steps' events are kept from the first on" \
    "$(sed -n 's/.* trshim:anchor: .* nr = \([0-9]*\),.*/\1/p' "$scratch/max.txt" | head -n 1)" 100
rm -f "$scratch/max.txt"

# 500,000 events a second do not fit buffers of 1 MiB: what was lost is counted, exactly.
record --no-report --buffers 1M -o "$scratch/small" -- "$chatty" 400000 >/dev/null 2>"$scratch/err"
lost=$(sed -n 's/.*"lost_events": \([0-9]*\).*/\1/p' "$scratch"/small/*/session.json | awk '{ s += $1 } END { print s }')
note "lost $lost: $(grep lost "$scratch/err")"
is "lost and recorded events add up" "$((lost + $(count_ranges "$scratch/small") + $(anchors "$scratch/small" | wc -l)))" 404000

clean "nothing is left behind"
done_testing
