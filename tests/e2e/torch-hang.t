#!/bin/bash
# A job of two ranks that stands: the flight recorder writes it down while it does, and the report names the rank, the
# call and the line of Python. One that only was slow for longer than the watchdog waits raises nothing.
. "${0%/*}/../lib/tap.sh"
. "${0%/*}/../lib/torchjob.sh"
need_recorder
job=$root/tests/e2e/hang_job.py

# hangs WHAT: records until the report says so, or the job ends. Snapshots are asked for as well: on a busy machine the
# start of a worker may be what raises the first alarm.
hangs() {
    local dir=$scratch/$1 port pid
    port=$("$PYTHON" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    mkdir "$scratch/in-$1"
    cd "$scratch/in-$1" || return
    TRSHIM_HANG_S=2 timeout -k 5 90 "$TR" record --no-report --flight 16M -o "$dir" -- "$PYTHON" "$job" "$1" "$port" \
        >"$dir.log" 2>&1 &
    pid=$!
    if [ "$1" != slow ]; then
        wait_for 60 compgen -G "$dir/*/snapshot-*/*" >/dev/null
        wait_for 40 is_found "$1" "$dir"
        kill -TERM "$pid"
    fi
    wait "$pid"
    [ "$1" != slow ] || "$TR" report --json "$dir" >"$dir.json" 2>"$dir.err"
}
is_found() {
    "$TR" report --json "$2" >"$2.json" 2>"$2.err"
    [ -n "$(finding "$1" id)" ] || { sleep 2; "$TR" snapshot -o "$2" >"$2.said" 2>&1; false; }
}
finding() { # WHAT FIELD
    "$PYTHON" -c 'import json, sys
print(*[f[sys.argv[2]] for f in json.load(open(sys.argv[1]))["findings"] if f["id"] == "collective-hang"])' "$scratch/$1.json" "$2"
}
line() { echo "hang_job.py:$(grep -n "# $1\$" "$job" | cut -d : -f 1))"; }

for what in worker loop save slow; do hangs "$what" & done
wait
is "a worker that sleeps: its rank" "$(finding worker ranks) $(finding worker victims)" "[1] [0]"
ok "and the line" grep -qF "Data.__getitem__ (" <(finding worker evidence)
ok "which is that one" grep -qF "$(line WORKER)" <(finding worker evidence)
is "a loop that sleeps" "$(finding loop ranks) $(finding loop victims)" "[1] [0]"
ok "and the line" grep -qF "$(line LOOP)" <(finding loop evidence)
is "a checkpoint that nobody takes" "$(finding save ranks) $(finding save victims)" "[0] [1]"
ok "and the line" grep -qF "$(line SAVE)" <(finding save evidence)
is "a rank that was slow is none" "$(finding slow id)" ""
done_testing
