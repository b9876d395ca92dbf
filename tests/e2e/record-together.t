#!/bin/sh
# Several recordings at once: unrelated ones never see each other, those with one -o on one node share a session.
. "${0%/*}/../lib/tap.sh"
. "${0%/*}/../lib/session.sh"
need_lttng

sessions() { ls -d "$1"/*/session.json | wc -l | tr -d ' '; }
pids_in() { babeltrace2 "$1" 2>/dev/null | sed -n 's/.* trshim:range: .* pid = \([0-9]*\),.*/\1/p' | sort -u | wc -l | tr -d ' '; }

record -q --no-report -o "$scratch/a" -- "$chatty" 1000 500 >"$scratch/a.out" &
record -q --no-report -o "$scratch/b" -- "$chatty" 1500 500 >"$scratch/b.out" &
wait
is "two at once: the first has its own events" "$(count_ranges "$scratch/a") $(pids_in "$scratch/a")" "1000 1"
is "two at once: the second has its own events" "$(count_ranges "$scratch/b") $(pids_in "$scratch/b")" "1500 1"

# As srun or mpirun start them. The last one ends the session and prints the card.
for i in 1 2 3 4; do
    record --no-report -o "$scratch/c" -- "$chatty" $((i * 300)) 1000 >"$scratch/c$i.out" 2>"$scratch/c$i.err" &
done
wait
is "four with one -o: one session" "$(sessions "$scratch/c")" 1
is "four with one -o: all events of all four" "$(count_ranges "$scratch/c") $(pids_in "$scratch/c")" "3000 4"
is "four with one -o: one card" "$(cat "$scratch"/c?.err | grep -c ' trace ')" 1

# One of two is killed: the session goes on for the other.
TRSHIM_CORE='' "$TR" record -q --no-report -o "$scratch/d" -- sleep 30 &
first=$!
keeper_there() { test -s "$scratch"/d/*/.keeper; }
wait_for 10 keeper_there
record -q --no-report -o "$scratch/d" -- "$chatty" 2000 1000 >"$scratch/d.out" &
second=$!
sleep 0.5
kill -9 "$first"
wait "$second"
is "the first of two is killed: the other loses nothing" "$(count_ranges "$scratch/d")" 2000
is "and ends the session" "$(sed -n 's/.*"why": "\(.*\)",/\1/p' "$scratch"/d/*/session.json)" "the job ended"
kill -9 $(pids_of '^sleep 30') 2>/dev/null
wait 2>/dev/null

# One after the other: two sessions side by side.
record -q --no-report -o "$scratch/e" -- "$chatty" 100 >/dev/null
is "a second recording into the directory says so" \
    "$(record --no-report -o "$scratch/e" -- "$chatty" 200 2>&1 >/dev/null | grep -c 'holds a recording of this host already')" 1
is "and both are there" "$(sessions "$scratch/e") $(count_ranges "$scratch/e")" "2 300"

clean "nothing is left behind"
done_testing
