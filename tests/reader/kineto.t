#!/bin/sh
# Kineto traces: each known form gives the events it should, several files are the ranks of one job, real traces have
# as many events as Python finds in them, and what is damaged is read as far as it goes, with one line that says so.
. "${0%/*}/../lib/tap.sh"

inputs=$root/tests/reader/kineto
mutate=$O/tests/reader/mutate
TMPDIR=$scratch/tmp
export TMPDIR
mkdir "$TMPDIR"

read_it() { # file... -> $scratch/out; $status, $said, $events, $kernels
    "$TR" events "$@" >"$scratch/out" 2>"$scratch/err"
    status=$?
    said=$(cat "$scratch/err")
    events=$(grep -c '^[0-9]* ' "$scratch/out")
    kernels=$(grep -c '^[0-9]* [^ ]* kernel ' "$scratch/out")
}
says() { # what pattern: one line was said, with this in it
    case $said in *"$2"*) ;; *)
        fail "$1: is said"
        note "not said: $2"
        note "$said"
        return
        ;;
    esac
    is "$1: is said in one line" "$(printf '%s\n' "$said" | wc -l | tr -d ' ')" 1
}
hosts() { sed -n 's/^host [^ ]* *//p' "$scratch/out" | wc -l | tr -d ' '; }
procs() { # "rank pid host" of each, in order of rank
    sed -n 's/^[0-9]* \([^ ]*\) proc pid=\([0-9]*\) .* rank=\([-0-9]*\) .*/\3 \2 \1/p' "$scratch/out" | sort -n | tr '\n' ','
}

# ---- the forms, event by event
for form in gpu old before-kineto cpu-only rocm; do
    read_it "$inputs/$form.json"
    is "$form: status and problems" "$status $said" "0 "
    ok "$form: events" diff -u "$inputs/$form.expect" "$scratch/out"
    gzip -c "$inputs/$form.json" >"$scratch/$form.json.gz"
    read_it "$scratch/$form.json.gz"
    ok "$form: compressed, the same" diff -u "$inputs/$form.expect" "$scratch/out"
    "$TR" events - <"$scratch/$form.json.gz" >"$scratch/again" 2>"$scratch/err"
    ok "$form: from standard input" diff -u "$inputs/$form.expect" "$scratch/again"
    cat "$scratch/$form.json.gz" | "$TR" events - >"$scratch/again" 2>"$scratch/err"
    ok "$form: compressed, from a pipe" diff -u "$inputs/$form.expect" "$scratch/again"
    (sleep 0.1 && cat "$inputs/$form.json") | "$TR" events - >"$scratch/again" 2>"$scratch/err"
    ok "$form: from a slow pipe" diff -u "$inputs/$form.expect" "$scratch/again"
    "$TR" events "$scratch/out" >"$scratch/again" 2>"$scratch/err"
    ok "$form: the events are an input themselves" diff -u "$inputs/$form.expect" "$scratch/again"
done

# ---- several files
with() { # file sed-script: a variant of the small GPU trace
    sed -e "$2" "$inputs/gpu.json" >"$scratch/$1"
}
with a.json 's/"rank": 3/"rank": 0/'
with b.json 's/"rank": 3/"rank": 1/; s/: 500,/: 600,/g'
read_it "$scratch/b.json" "$scratch/a.json"
is "two ranks" "$status $said $(procs)" "0  0 500 host,1 600 host,"
is "two ranks: one order" "$(grep -o '^[0-9]* ' "$scratch/out" | sort -nc 2>&1)" ""

with b.json 's/"rank": 3/"rank": 1/'
read_it "$scratch/a.json" "$scratch/b.json"
is "two ranks of one pid are on two hosts" "$(procs) $(hosts)" "0 500 host,1 500 host-2, 2"

with b.json 's/"rank": 3/"rank": 0/; s/17000000000/17000000009/'
read_it "$scratch/b.json" "$scratch/a.json"
is "two parts of one process" "$(procs) $(hosts)" "0 500 host,0 500 host, 1"
is "two parts of one process: no id has two names" \
    "$(sed -n 's/.* name .* id=\([0-9]*\) .*/\1/p' "$scratch/out" | sort | uniq -d)" ""

with a.json '/distributedInfo/d'
with b.json '/distributedInfo/d; s/: 500,/: 600,/g'
read_it "$scratch/b.json" "$scratch/a.json"
is "ranks by the order of the files" "$(procs)" "0 600 host,1 500 host,"
read_it "$scratch/a.json"
is "one file without a rank" "$(procs)" "-1 500 host,"

with node-a.example_500.1700000000.pt.trace.json ''
with node-b_500.1700000000.pt.trace.json 's/"rank": 3/"rank": 4/'
read_it "$scratch/node-a.example_500.1700000000.pt.trace.json" "$scratch/node-b_500.1700000000.pt.trace.json"
is "hosts from torch's file names" "$(procs)" "3 500 node-a.example,4 500 node-b,"

mkdir "$scratch/logs"
for worker in 2 10 1; do
    sed -e '/distributedInfo/d' -e "s/: 500,/: 50$worker,/g" "$inputs/gpu.json" |
        gzip >"$scratch/logs/worker$worker.1.pt.trace.json.gz"
done
echo '{}' >"$scratch/logs/other.json"
read_it "$scratch/logs"
is "a directory of them" "$status $said $(procs)" "0  0 501 host,1 502 host,2 5010 host,"

# Whatever the files are called, and in whatever order they come: each says which rank it is.
mkdir "$scratch/told"
for rank in 5 2 7; do
    sed -e "s/\"rank\": 3/\"rank\": $rank/; s/: 500,/: 60$rank,/g" "$inputs/gpu.json" >"$scratch/told/part-$((9 - rank)).pt.trace.json"
done
read_it "$scratch/told"
is "a directory of them, each with its rank" "$status $said $(procs)" "0  2 602 host,5 605 host,7 607 host,"
"$TR" report --json "$scratch/told" >"$scratch/report.json" 2>"$scratch/err"
is "and the report misses the others" "$? $(grep -o 'Only 3 of 8 ranks' "$scratch/report.json")" "0 Only 3 of 8 ranks"

with both.json '/distributedInfo/d; s/"pid": 500, "tid": 501/"pid": 600, "tid": 601/'
read_it "$scratch/both.json"
is "two processes in one file" "$(procs)" "-1 500 host,-1 600 host,"
is "two processes in one file: each its kernels" \
    "$(sed -n 's/.* kernel \(pid=[0-9]* tid=[0-9]*\) .*/\1/p' "$scratch/out" | tr '\n' ',')" "pid=500 tid=500,pid=600 tid=601,"

cp "$inputs/before-kineto.json" "$scratch/node-c_71.1.pt.trace.json"
cp "$inputs/before-kineto.json" "$scratch/node-c_72.1.pt.trace.json"
read_it "$scratch/node-c_71.1.pt.trace.json" "$scratch/node-c_72.1.pt.trace.json"
is "pids from them too, where the file has none" "$(procs)" "0 71 node-c,1 72 node-c,"

read_it "$inputs/gpu.json" "$inputs/gpu.expect"
is "together with an events text" "$status $kernels" "0 4"

"$TR" report --json "$inputs/gpu.json" >"$scratch/report.json" 2>"$scratch/err"
is "a report" "$? $(grep -c '"kind": *"kineto"' "$scratch/report.json")" "0 1"

# ---- what cannot be read
damaged() { # what text problem kernels: the file is read as far as it goes
    printf '%s' "$2" >"$scratch/bad.json"
    read_it "$scratch/bad.json"
    is "$1: the rest is there" "$status $kernels" "0 $4"
    says "$1" "$3"
}
refused() { # what text problem
    printf '%s' "$2" >"$scratch/bad.json"
    read_it "$scratch/bad.json"
    is "$1: is refused" "$status" 2
    says "$1" "$3"
}
row='{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":5,"dur":1,"args":{"grid":[1,1,1]}}'
damaged "cut within a row" "{\"traceEvents\":[$row,$row,{\"ph\":" "ends in the middle" 2
damaged "cut between rows" "{\"traceEvents\":[$row," "ends in the middle" 1
damaged "no JSON after a while" "{\"traceEvents\":[$row,$row,}" "damaged at byte 201" 2
damaged "times that are none" "[$row,{\"ph\":\"X\",\"cat\":\"kernel\",\"ts\":nan,\"dur\":1},{}]" "1 row is left out" 1
damaged "times that are too large" "[$row,{\"ph\":\"X\",\"cat\":\"kernel\",\"ts\":1e300,\"dur\":1},{}]" "1 row is left out" 1
damaged "wrong types" "[$row,{\"ph\":\"X\",\"cat\":\"kernel\",\"ts\":[5],\"dur\":{\"dur\":1}},{}]" "1 row is left out" 1
damaged "nothing that we know" '[{"ph":"X","cat":"browser","name":"x","ts":1,"dur":1}]' "none is a kernel" 0
deep=$(head -c 100000 /dev/zero | tr '\0' '[')
damaged "nested deeply" "[$row,{\"ph\":$deep" "nested too deep" 1
refused "JSON that is no trace" '{"schema": "1.0", "nodes": [{"id": 1}]}' "no Kineto trace"
refused "an array that is no trace" '[{"id": 1}, 2, [3]]' "no Kineto trace"
refused "damaged before anything was said" '{"schema" 1}' "damaged at byte"
refused "an empty object" '{}' "no Kineto trace"
printf '{"traceEvents":[]}' >"$scratch/empty.json"
read_it "$scratch/empty.json"
is "a trace without rows" "$status $events $said" "0 0 "

half=$(($(stat -c %s "$scratch/gpu.json.gz") / 2))
head -c $half "$scratch/gpu.json.gz" >"$scratch/half.json.gz"
read_it "$scratch/half.json.gz"
is "half of a compressed file: some of it is there" "$status $([ "$events" -gt 3 ] && echo some)" "0 some"
says "half of a compressed file" "The compressed file is cut off after"
{ head -c -8 "$scratch/gpu.json.gz" && printf 12345678; } >"$scratch/sum.json.gz"
read_it "$scratch/sum.json.gz"
is "a compressed file with a wrong checksum: all is there" "$status $kernels" "0 2"
says "a compressed file with a wrong checksum" "The compressed file is damaged after"

{ head -c 700 "$inputs/gpu.json" | gzip && tail -c +701 "$inputs/gpu.json" | gzip && printf 'not gzip'; } >"$scratch/parts.json.gz"
read_it "$scratch/parts.json.gz"
is "compressed in two parts, and something behind them" "$status $said $kernels" "0  2"

# ---- 200 mutations, half of them compressed
bad=0 changed=0
[ -x "$mutate" ] || fail "mutations: $mutate is there (make tests)"
for seed in $(seq 200); do
    rm -rf "$scratch/mutant"
    mkdir "$scratch/mutant"
    if [ $((seed % 2)) = 0 ]; then cp "$inputs/gpu.json" "$scratch/mutant"; else cp "$scratch/gpu.json.gz" "$scratch/mutant"; fi
    how=$("$mutate" "$seed" "$scratch/mutant") || break
    cmp -s "$scratch"/mutant/* "$inputs/gpu.json" || cmp -s "$scratch"/mutant/* "$scratch/gpu.json.gz" || changed=$((changed + 1))
    timeout 20 "$TR" events "$scratch"/mutant/* >"$scratch/out" 2>"$scratch/err"
    status=$?
    lines=$(wc -l <"$scratch/err")
    [ "$status" -eq 0 ] || [ "$status" -eq 2 ] && [ "$lines" -le 1 ] && continue
    bad=$((bad + 1))
    note "seed $seed ($how): status $status, $(head -n 3 "$scratch/err")"
done
is "mutations: none crashes, each says at most one line" "$bad" 0
ok "mutations: nearly all of them change something" [ "$changed" -gt 190 ]

# ---- real traces
cases=$root/../shared/cases/traces
if [ ! -d "$cases" ]; then skip "real traces" "no ../shared/cases/traces here"; else
    find "$cases/kineto" "$cases/param" -name '*.json.gz' ! -name '*_et.json.gz' | sort >"$scratch/list"
    while read -r trace; do
        read_it "$trace"
        name=${trace#"$cases"/}
        is "$name: status and problems" "$status $said" "0 "
        awk -f "$root/tests/reader/kineto_count.awk" "$scratch/out" >"$scratch/counted"
        "$PYTHON" "$root/tests/reader/kineto_count.py" "$trace" >"$scratch/expected"
        ok "$name: as many as Python finds" diff -u "$scratch/expected" "$scratch/counted"
    done <"$scratch/list"
    read_it "$cases"/param/dlrm/*.json.gz
    is "eight ranks of one step" "$status $said $(procs | tr ',' '\n' | wc -l) $(hosts)" "0  8 1"
    read_it "$cases"/param/resnet_2gpu_et.json.gz
    is "an execution trace is no Kineto trace" "$status" 2
fi

# ---- the PyTorch that is here, whichever form it writes
cat >"$scratch/profile.py" <<'EOF'
import sys
import torch
from torch.profiler import ProfilerActivity, profile, schedule, tensorboard_trace_handler
from torch.utils.data import DataLoader, TensorDataset

model = torch.nn.Linear(16, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
with profile(activities=[ProfilerActivity.CPU], schedule=schedule(wait=0, warmup=1, active=5, repeat=1),
             on_trace_ready=tensorboard_trace_handler(sys.argv[1], use_gzip=True)) as profiler:
    for (x,) in DataLoader(TensorDataset(torch.randn(64, 16)), batch_size=8):
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()
        profiler.step()
EOF
if ! "$PYTHON" -c 'import torch.profiler' 2>/dev/null; then skip "a profile made here" "no torch in $PYTHON"; else
    "$PYTHON" "$scratch/profile.py" "$scratch/profile" >"$scratch/err" 2>&1 || note "$(tail -n 3 "$scratch/err")"
    set -- "$scratch"/profile/*.pt.trace.json.gz
    read_it "$1"
    is "a profile made here" "$status $said $(procs)" "0  -1 $(expr "$1" : '.*_\([0-9]*\)\.') $(uname -n),"
    awk -f "$root/tests/reader/kineto_count.awk" "$scratch/out" >"$scratch/counted"
    "$PYTHON" "$root/tests/reader/kineto_count.py" "$1" >"$scratch/expected"
    ok "a profile made here: as many as Python finds" diff -u "$scratch/expected" "$scratch/counted"
    is "a profile made here: five steps" "$(grep 'anchor nvtx:' "$scratch/counted")" "anchor nvtx: 5"
fi

is "nobody left" "$(ls -A "$TMPDIR")" ""
done_testing
