#!/bin/sh
# trshim compare: which part of a step changed, whether that is more than noise, and what is wrong with what it was given.
. "${0%/*}/../lib/tap.sh"
golden=$root/tests/golden

# steps FILE RANKS DATA_MS [LATE_RANK [TORCH]]: 40 steps of 20 ms and of DATA_MS of waiting for data, both a little different each
# time; LATE_RANK computes 10 ms longer.
steps() {
    awk -v ranks="$2" -v data="$3" -v late="${4:--1}" -v torch="${5:-2.1.0}" 'BEGIN {
        srand(ranks + data)
        print "#! trshim-events 1"
        for (r = 0; r < ranks; r++) {
            pid = 10 + r
            printf "0 a proc pid=%d how=start schema=1 rank=%d world=%d local_rank=%d host=a boot=b comm=python3\n", pid, r, ranks, r
            printf "0 a attr pid=%d key=version.torch value=%s\n", pid, torch
            printf "0 a name pid=%d kind=range id=1 text=Optimizer.step#SGD.step\n", pid
            printf "0 a name pid=%d kind=range id=2 text=enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__\n", pid
        }
        at = 1000
        for (i = 0; i < 40; i++) {
            fetch = data + rand() * 0.4
            work = 20 + rand() * 0.4
            for (r = 0; r < ranks; r++) {
                pid = 10 + r
                extra = r == late ? 10 : 0
                printf "%.3fms a anchor pid=%d kind=dataloader name=2 start_ns=%.3fms dur_ns=%.3fms\n", at + fetch, pid, at, fetch
                printf "%.3fms a anchor pid=%d kind=optimizer name=1 start_ns=%.3fms dur_ns=1ms\n", at + fetch + work + extra, pid, at + fetch + work + extra - 1
            }
            at += fetch + work + 10
        }
    }' | { read -r first; echo "$first"; sort -s -n; } >"$1"
}
of() { "$PYTHON" -c 'import json,sys; d=json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$scratch/json" "$1"; }
compare() { "$TR" compare --json "$@" >"$scratch/json"; }
part() { of "[p['$2'] for p in d['parts'] if p['part'] == '$1'][0]"; }

steps "$scratch/a" 2 5
steps "$scratch/b" 2 15
steps "$scratch/again" 2 5.02
steps "$scratch/four" 4 25
steps "$scratch/new" 2 5 -1 2.3.1
compare "$scratch/a" "$scratch/b"
is "ten ms more of waiting for data" "$(of '(d["changed"], d["most"])')" "(True, 'dataloader')"
is "by how much, to 2 %" "$(of 'round([p["difference_ns"] for p in d["parts"] if p["part"] == "dataloader"][0] / 2e5) in range(49, 52)')" True
is "the interval has it" "$(of '[p["low_ns"] < 10e6 < p["high_ns"] for p in d["parts"] if p["part"] == "dataloader"][0]')" True
is "computing did not change" "$(part compute changed)" False
"$TR" compare --lang en "$scratch/a" "$scratch/b" >"$scratch/text"
ok "in words" grep -q 'more of a step is waiting for data' "$scratch/text"
ok "in Chinese" "$TR" compare --lang zh "$scratch/a" "$scratch/b"
compare "$scratch/a" "$scratch/again"
is "noise is no change" "$(of 'd["changed"]')" False
compare "$scratch/b" "$scratch/a"
is "the other way round it is faster" "$(of '[p["difference_ns"] < 0 for p in d["parts"] if p["part"] == "step"][0]')" True
compare "$scratch/a" "$scratch/four"
is "other sizes: efficiency" "$(of 'round(d["scaling_efficiency"], 1)')" 0.6
is "and no rows by rank" "$(of 'd["ranks"]')" "[]"
compare "$scratch/a" "$scratch/new"
is "another version" "$(of '[(v["key"], v["a"], v["b"]) for v in d["versions"]]')" "[('torch', '2.1.0', '2.3.1')]"

"$TR" compare --fail-slower 5 "$scratch/a" "$scratch/b" >"$scratch/out"
is "--fail-slower: slower" $? 1
"$TR" compare --fail-slower 5 "$scratch/a" "$scratch/again" >"$scratch/out"
is "--fail-slower: not slower" $? 0
for arguments in "$scratch/a" "$scratch/a $scratch/b $scratch/again" "$scratch/a $scratch/none" "--fail-slower x $scratch/a $scratch/b"; do
    # shellcheck disable=SC2086
    "$TR" compare $arguments >"$scratch/out" 2>"$scratch/err"
    is "wrong: ${arguments##*/}: one line" "$? $(wc -l <"$scratch/err" | tr -d ' ')" "2 1"
done

kineto=$root/../shared/cases/traces/kineto
if [ -d "$kineto" ]; then
    compare "$kineto/resnet50_workers0_a.json.gz" "$kineto/resnet50_workers4_a.json.gz"
    is "what workers brought to a real job" "$(of '(d["changed"], d["most"])')" "(True, 'dataloader')"
else
    skip "what workers brought to a real job" "no ../shared/cases/traces/kineto here"
fi
done_testing
