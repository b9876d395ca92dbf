#!/bin/sh
# Damaged traces: what is readable is delivered, what is missing is said in one line, nothing crashes or hangs.
. "${0%/*}/../lib/tap.sh"

make_trace=$O/tests/reader/make_trace
mutate=$O/tests/reader/mutate
scan_twice=$O/tests/reader/scan_twice
sample=$root/tests/reader/sample.events
nr_good=$(grep -c "^[0-9][0-9.]*[a-z]* *node-a " "$sample")
TMPDIR=$scratch/tmp
export TMPDIR
mkdir "$TMPDIR"

fresh() { # options: a new $scratch/trace of the sample; $dir is node-a's directory in it
    rm -rf "$scratch/trace"
    # shellcheck disable=SC2086
    "$make_trace" $1 "$scratch/trace" <"$sample"
    dir=$(echo "$scratch"/trace/node-a-*/ust/uid/1000/64-bit)
}
read_it() { # -> $events of node-a, $said on stderr, $status
    "$TR" events "$scratch/trace" >"$scratch/out" 2>"$scratch/err"
    status=$?
    events=$(grep -c '^[0-9]* node-a ' "$scratch/out")
    said=$(cat "$scratch/err")
}
says() { # what pattern...: node-a's problem is one line with these words
    what=$1
    shift
    for pattern; do
        case $said in *"$pattern"*) ;; *)
            fail "$what: is said"
            note "not said: $pattern"
            note "$said"
            return
            ;;
        esac
    done
    is "$what: is said in one line" "$(printf '%s\n' "$said" | wc -l | tr -d ' ')" 1
}

fresh "--cpus 2"
read_it
is "whole: all events" "$status $events $said" "0 $nr_good "

# ---- files
: >"$dir/data_0"
read_it
is "an empty stream is no damage" "$status $said" "0 "

fresh "--cpus 2 --packet 512"
size=$(stat -c %s "$dir/data_1")
truncate -s $((size - 100)) "$dir/data_1"
read_it
says "a stream cut within a packet" "data_1 is damaged after"
is "a stream cut within a packet: the rest is there" "$status $([ "$events" -ge 15 ] && echo many)" "0 many"

truncate -s 20 "$dir/data_1"
read_it
says "a stream cut within its first header" "data_1 is damaged after 0 of 20 bytes"

fresh "--cpus 2"
printf 'garbage of no kind at all' >"$dir/notes.txt"
read_it
says "a file that is no stream" "notes.txt is damaged"
is "a file that is no stream: all events" "$status $events" "0 $nr_good"

fresh
printf '\377\377' | dd of="$dir/data_0" bs=1 seek=84 conv=notrunc 2>/dev/null
read_it
says "an event that cannot be decoded" "data_0 is readable in part"
is "an event that cannot be decoded: the other streams are there" "$status $([ "$events" -ge 12 ] && echo many)" "0 many"

# ---- metadata
fresh
: >"$dir/metadata"
read_it
says "empty metadata" "its metadata are empty"
is "empty metadata: the other host is there" "$status $(grep -c '^[0-9]* node-b ' "$scratch/out")" "0 3"

fresh
size=$(stat -c %s "$dir/metadata")
truncate -s $((size - 4096)) "$dir/metadata"
read_it
says "metadata without their end" "its metadata are incomplete"
is "metadata without their end: what is declared is there" "$status $([ "$events" -ge 10 ] && echo many)" "0 many"

truncate -s 4096 "$dir/metadata"
read_it
is "metadata of one packet: no crash" "$status $([ -n "$said" ] && echo said)" "0 said"

printf 'hello' >"$dir/metadata"
read_it
says "metadata that are none" "its metadata are damaged"

# ---- what was lost while recording
{
    cat "$sample"
    printf 'lost node-a 12\n5.2s node-a wait pid=10 tid=21 dur=1ms\nlost node-a 5\n5.3s node-a wait pid=10 tid=21 dur=1ms\n'
} >"$scratch/lossy.events"
rm -rf "$scratch/trace"
"$make_trace" "$scratch/trace" <"$scratch/lossy.events"
read_it
is "lost events are counted" "$(grep '^lost' "$scratch/out")" "lost node-a 17"

rm -rf "$scratch/trace"
"$make_trace" --skip 3 --no-index --generate 3000 "$scratch/trace"
read_it
says "a missing packet" "data_0 lacks 1 packets"
is "a missing packet: counts as lost" "$(grep '^lost' "$scratch/out")" "lost node-a 1"

rm -rf "$scratch/trace"
"$make_trace" --no-index --generate 3000 "$scratch/trace"
dir=$(echo "$scratch"/trace/node-a-*/ust/uid/1000/64-bit)
tail -c +8193 "$dir/data_0" >"$scratch/newest" && mv "$scratch/newest" "$dir/data_0"
read_it
says "the oldest packets dropped" "the oldest events are not there"
is "the oldest packets dropped: is no loss" "$(grep -c '^lost' "$scratch/out")" 0

fresh
cat >"$scratch/trace/node-a-863b58c6-0096-489b-b224-ed075169b2d7/session.json" <<'EOF'
{ "state": "ended", "why": "the job ended", "complete": true, "channels": [
    { "name": "state", "lost_events": 2, "lost_packets": 0 }, { "name": "data", "lost_events": 40, "lost_packets": 1 } ] }
EOF
read_it
is "losses that only session.json tells" "$(grep '^lost' "$scratch/out") $said" "lost node-a 43 "
is "losses of one channel" "$("$TR" events --channel=state "$scratch/trace" | grep '^lost')" "lost node-a 2"

fresh "--foreign"
read_it
is "another provider's trace: events are counted as unknown" "$(grep '^unknown' "$scratch/out")" \
    "unknown node-a $nr_good
unknown node-b 3"
is "another provider's trace: is said" "$(grep -c 'not recorded by trshim' "$scratch/err")" 2

# ---- directories
fresh
if [ "$(id -u)" -eq 0 ]; then skip "a directory that cannot be entered" "root can enter every one"; else
    mkdir "$scratch/trace/secret"
    chmod 0 "$scratch/trace/secret"
    read_it
    chmod 700 "$scratch/trace/secret"
    says "a directory that cannot be entered" "secret cannot be looked into"
fi
mkdir "$scratch/empty"
fails "no trace: fails" "$TR" events "$scratch/empty"
is "no trace: one line" "$("$TR" events "$scratch/empty" 2>&1 | grep -c 'no LTTng trace in it')" 1

# ---- processes
rm -rf "$scratch/long"
"$make_trace" --cpus 2 --packet 65536 --generate 300000 "$scratch/long"
ok "readers that are killed: no child left, order kept" sh -c '"$1" kill "$2" >"$3"' - "$scan_twice" "$scratch/long" "$scratch/killed"
is "readers that are killed: is said" "$(grep -c 'killed by signal 9.*is missing' "$scratch/killed")" 1
is "readers that are killed: the next scan is whole" "$(tail -n 1 "$scratch/killed")" "rc 0, 300000 events"
is "a scan that is stopped, and another" "$("$scan_twice" stop "$scratch/long")" "rc 42, 1000 events
rc 0, 300000 events"
"$TR" events "$scratch/long" >/dev/null &
pid=$!
sleep 0.1
children=$(cat /proc/$pid/task/$pid/children 2>/dev/null)
kill -9 $pid
wait $pid 2>/dev/null
sleep 0.3
alive=
for child in $children; do [ -d "/proc/$child" ] && ! grep -q '^State:.*Z' "/proc/$child/status" && alive="$alive $child"; done
is "readers end with their parent" "$alive" ""

# ---- mutations
"$make_trace" --cpus 2 --packet 512 "$scratch/whole" <"$sample"
bad=0 seed=0
[ -x "$mutate" ] || fail "mutations: $mutate is there (make tests)"
while [ $seed -lt ${MUTATIONS:-200} ]; do
    rm -rf "$scratch/trace"
    cp -r "$scratch/whole" "$scratch/trace"
    how=$("$mutate" $seed "$scratch/trace") || { bad=$((bad + 1)); break; }
    timeout 60 "$TR" events "$scratch/trace" >"$scratch/out" 2>"$scratch/err"
    status=$?
    # In builds with sanitizers babeltrace2's own last words are seen; they are no fault of ours.
    if [ $status -ne 0 ] || grep -v -e '^trshim: ' -e '^$' -e ' Assertion ' -e ' F [A-Z]*/' "$scratch/err" >"$scratch/more"; then
        bad=$((bad + 1))
        note "seed $seed: status $status: $how"
        note "$(head -n 20 "$scratch/more")"
    fi
    seed=$((seed + 1))
done
is "mutations: no crash, no hang, status 0" $bad 0
is "no temporary directory is left" "$(ls "$TMPDIR")" ""
done_testing
