#!/bin/bash
# The example job by itself: what it promises about exit statuses, what it leaves behind, its timers and its store. The
# other end-to-end tests stand on these.

. "${0%/*}/../lib/tap.sh"
. "$root/tests/lib/torchjob.sh"

"$PYTHON" -c 'import torch, numpy' 2>/dev/null || skip_all "no torch for $PYTHON (Debian: python3-torch)"
export TMPDIR=$scratch/tmp
mkdir "$TMPDIR"
small=(--hidden 4 --batch 8 --samples 512 --workers 1)

status_of() {
    "$@" >"$scratch/out" 2>&1
    echo $?
}

# What a job left in its temporary directory, and which of its processes are still there.
left_behind() { ls "$TMPDIR"; }
processes() { pgrep -f "$scratch" | grep -vx $$ | xargs -r ps -o pid=,args= -p; }

# stopped_by SIGNAL OPTIONS...: the status of a job whose whole group got the signal once it trained.
stopped_by() {
    local signal=$1 pid
    shift
    : >"$scratch/out" # or the steps of the run before this one would be taken for its own
    setsid "${train[@]}" "${small[@]}" --steps 100000 --log-every 1 "$@" >"$scratch/out" 2>&1 &
    pid=$!
    wait_for 60 grep -q '^step' "$scratch/out"
    kill -"$signal" -- -$pid
    wait $pid
    echo $?
}

# Windows, complete windows, and whether they join without a gap.
windows() {
    "$PYTHON" -c 'import json, sys
steps = json.load(open(sys.argv[1]))["steps"]
whole = [step for step in steps if not step["incomplete"]]
joined = all(a["end_ns"] == b["start_ns"] for a, b in zip(steps, steps[1:]))
within = all(s["dataloader_ns"] + s["checkpoint_ns"] + s["compute_ns"] <= s["end_ns"] - s["start_ns"] for s in steps)
print(len(steps), len(whole), joined, within)' "$1"
}

is "a wrong option" "$(status_of "${train[@]}" --no-such-option)" 2
is "a size that cannot be" "$(status_of "${train[@]}" --size 30)" 2

is "a run: status" "$(status_of "${train[@]}" "${small[@]}" --steps 24 --checkpoint-every 4 --keep 2 --out "$scratch/kept" \
    --truth "$scratch/truth")" 0
is "a run: as many windows as steps, the last one incomplete" "$(windows "$scratch/truth")" "24 23 True True"
is "a run: two checkpoints kept" "$(ls "$scratch/kept" | tr '\n' ' ')" "step-000020.pt step-000024.pt "
is "a run: nothing left behind" "$(left_behind)" ""

is "one checkpoint, overwritten: status" "$(status_of "${train[@]}" "${small[@]}" --steps 8 --checkpoint-every 2 --keep 1 \
    --unsafe --checkpoint async --out "$scratch/last")" 0
is "one checkpoint, overwritten: its name" "$(ls "$scratch/last")" "last.pt"

is "epochs: it ends with the last one" "$(status_of "${train[@]}" "${small[@]}" --epochs 1 --data packed --pin-thread \
    --truth "$scratch/truth")" 0
is "epochs: a step for each batch" "$(windows "$scratch/truth")" "64 63 True True"

is "SIGINT: status" "$(stopped_by INT --data http)" 130
is "SIGINT: nothing left behind" "$(left_behind)$(processes)" ""
is "SIGTERM to two ranks: status" "$(stopped_by TERM --ranks 2)" 143
is "SIGTERM to two ranks: nothing left behind" "$(left_behind)$(processes)" ""

mkdir "$scratch/objects"
echo hello >"$scratch/objects/one"
"$PYTHON" "$root/examples/objstore.py" --delay 1ms "$scratch/objects" >"$scratch/store" &
store=$!
wait_for 20 grep -q ready "$scratch/store"
get() {
    "$PYTHON" - "$(sed 's/ready //' "$scratch/store")" "$@" <<'PY'
import http.client, sys, urllib.parse
connection = http.client.HTTPConnection(urllib.parse.urlsplit(sys.argv[1]).netloc)
for path in sys.argv[2:]:
    connection.request("GET", path)
    answer = connection.getresponse()
    body = answer.read()
    print(answer.status, body.decode().strip() if answer.status == 200 else "", end="; ")
PY
}
is "the store: objects over one connection, no way out of its root" \
    "$(get /one /two /../store /%2e%2e/store /one)" "200 hello; 404 ; 404 ; 404 ; 200 hello; "
kill $store
wait $store
is "the store: SIGTERM ends it well" $? 0
done_testing
