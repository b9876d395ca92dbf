#!/bin/sh
# Batches of kernels come out as single kernels, from text and from CTF; damaged ones are left out and counted.
. "${0%/*}/../lib/tap.sh"

make_trace=$O/tests/reader/make_trace
same() { diff -u "$1" "$2"; }

# Two groups, (device 1, stream 7, tid 11, no graph) and (1, 8, 12, graph 5); starts 1 us after and before the base;
# queued 500 ns earlier, and not known.
group1=$(((1 << 32) + 7)),$(((11 << 32))) group2=$(((1 << 32) + 8)),$(((12 << 32) + 5))
one=$(((1000 << 32) + 300)),$((((1 << 30) + 500 << 28) + 21)),$(((77 << 32) + (256 << 4)))
two=$(printf '%u' $(((-1000 << 32) + 400))),$(printf '%u' $(((-1 << 28) + 22))),$(((78 << 32) + (64 << 4) + 1))
batch() { echo "$1 node-a kernels pid=10 base_ns=5000000000 groups=$2 records=$3"; }
cat >"$scratch/batched" <<EOF
#! trshim-events 1
host node-a boot=boot epoch_ns=7
5s node-a proc pid=10 host=node-a boot=boot
$(batch 6s "$group1,$group2" "$one,$two")
7s node-a kernel pid=10 start=6s dur=5s
EOF
cat >"$scratch/single" <<EOF
#! trshim-events 1
host node-a boot=boot epoch_ns=7
5s node-a proc pid=10 host=node-a boot=boot
6s node-a kernel pid=10 tid=11 device=1 stream=7 name=21 correlation=77 blocks=256 queued=5000000500 start=5000001000 dur=300
6s node-a kernel pid=10 tid=12 device=1 stream=8 name=22 correlation=78 blocks=64 graph=5 start=4999999000 dur=400
7s node-a kernel pid=10 start=6s dur=5s
EOF
"$TR" events "$scratch/single" >"$scratch/expected"
"$TR" events "$scratch/batched" >"$scratch/got"
ok "from text" same "$scratch/expected" "$scratch/got"
"$make_trace" "$scratch/trace" <"$scratch/batched"
"$TR" events "$scratch/trace" >"$scratch/got" 2>"$scratch/err"
ok "from CTF" same "$scratch/expected" "$scratch/got"
is "nothing is said" "$(cat "$scratch/err")" ""
is "in the trace it is one event" "$(babeltrace2 "$scratch/trace" | grep -c 'trshim:kernels:')" 1
is "the report counts kernels" "$("$TR" report --json "$scratch/trace" 2>/dev/null | tr -d ' \n' |
    sed 's/.*"inputs":\[{[^}]*"events":\([0-9]*\).*/\1/')" 4

# A group that is missing, a record without its tail, no record at all, one longer than any the recorder makes.
{
    cat "$scratch/batched"
    batch 8s "$group1" "$one,$two"
    batch 8s "$group1,$group2" "$one,77"
    batch 8s "$group1,77" "$one"
    echo "8s node-a kernels pid=10 base_ns=1"
    batch 8s "$group1" "$one$(seq 385 | sed 's/.*/,1/' | tr -d '\n')"
} >"$scratch/damaged"
for from in damaged damaged.ctf; do
    [ $from = damaged ] || "$make_trace" --packet 8192 "$scratch/$from" <"$scratch/damaged"
    "$TR" events "$scratch/$from" >"$scratch/got" 2>"$scratch/err"
    is "$from: what is whole is there" "$(grep -c ' kernel ' "$scratch/got")" 3
    is "$from: what is not is counted in one line" \
        "$(wc -l <"$scratch/err") $(grep -c '5 batches of kernels are damaged and left out' "$scratch/err")" "1 1"
done
done_testing
