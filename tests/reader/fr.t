#!/bin/sh
# Dumps of PyTorch's flight recorder as input: real ones of 16 ranks (shared/cases) give the ranks that were stopped, and
# ones made here give each verdict, in every form; what would run code is refused, damage is told.
. "${0%/*}/../lib/tap.sh"
"$PYTHON" -c '' 2>/dev/null || skip_all "no Python"

report() { "$TR" report --json "$@" >"$scratch/json"; }
# Findings with their ranks and victims, one a line.
findings() {
    "$PYTHON" -c 'import json,sys
for f in json.load(open(sys.argv[1]))["findings"]:
    print(f["id"], f["ranks"], f["victims"])' "$scratch/json"
}
make_dumps() { "$PYTHON" "$root/tests/reader/fr_make.py" "$@"; }

for form in 2 3 4 5 json; do
    make_dumps "$scratch/form-$form" "$form" absent
    report "$scratch/form-$form"
    is "form $form: the rank that never came" "$(findings)" "collective-hang [2] [0, 1, 3]"
done
"$TR" report --lang en "$scratch/form-4" >"$scratch/text"
ok "says in what call" grep -q 'never entered nccl:all_reduce #2 of default_pg' "$scratch/text"
ok "and at which line it was called" grep -q 'backward (/job/train.py:41); main (/job/train.py:77)' "$scratch/text"
report "$scratch/form-4/nccl_trace_rank_0" "$scratch/form-4/nccl_trace_rank_1" "$scratch/form-4/nccl_trace_rank_2" "$scratch/form-4/nccl_trace_rank_3"
is "file by file" "$(findings)" "collective-hang [2] [0, 1, 3]"
"$TR" events "$scratch/form-4" >"$scratch/events"
report "$scratch/events"
is "and from these events" "$(findings)" "collective-hang [2] [0, 1, 3]"

make_dumps "$scratch/mismatch" 4 mismatch
report "$scratch/mismatch"
is "a rank in another call" "$(findings)" "collective-desync [1] [0, 2, 3]"
make_dumps "$scratch/missing" 4 missing
report "$scratch/missing"
is "a rank without a dump" "$(findings)" "collective-hang [3] [0, 1, 2]"
# Case timeout-01: no rank may be named where all have entered.
make_dumps "$scratch/stuck" 4 stuck
report "$scratch/stuck"
is "all are in it: nobody is blamed" "$(findings)" "collective-hang [] [0, 1, 2, 3]"
make_dumps "$scratch/healthy" 4 healthy
report "$scratch/healthy"
is "nothing open: nothing found" "$(findings)" ""
report "$scratch/form-4" "$scratch/missing"
is "two jobs are kept apart" "$(findings | sort)" "collective-hang [2] [0, 1, 3]
collective-hang [3] [0, 1, 2]"
ok "in Chinese" "$TR" report --lang zh "$scratch/form-4"

# ---- what is no plain data
"$PYTHON" -c 'import os, pickle, sys
class Evil:
    def __reduce__(self):
        return os.system, ("touch " + sys.argv[2],)
pickle.dump({"version": "2", "pg_config": {}, "entries": [Evil()]}, open(sys.argv[1], "wb"))' "$scratch/evil" "$scratch/ran"
"$TR" report "$scratch/evil" >"$scratch/out" 2>"$scratch/err"
is "a pickle that would run code: refused" "$? $(wc -l <"$scratch/err" | tr -d ' ')" "2 1"
ok "and says so" grep -q 'it wants to run code' "$scratch/err"
is "and did not" "$(ls "$scratch/ran" 2>/dev/null)" ""
printf '{"version": "2", "pg_config": {' >"$scratch/cut.json"
"$TR" report "$scratch/cut.json" >"$scratch/out" 2>"$scratch/err"
is "JSON that breaks off: one line" "$? $(wc -l <"$scratch/err" | tr -d ' ')" "2 1"
cp "$scratch/evil" "$scratch/missing/nccl_trace_rank_3"
report "$scratch/missing" 2>"$scratch/err"
is "a bad one among good ones loses nothing" "$(findings)" "collective-hang [3] [0, 1, 2]"

# 300 damaged ones: a report comes, or one line that says why not.
damaged() {
    "$PYTHON" -c '
import random, subprocess, sys
trshim, scratch, *paths = sys.argv[1:]
random.seed(7)
for i in range(300):
    data = bytearray(open(random.choice(paths), "rb").read())
    for _ in range(random.randint(1, 8)):
        at, kind = random.randrange(len(data)), random.randrange(3)
        if kind == 0:
            data[at] = random.randrange(256)
        elif kind == 1:
            del data[at:at + random.randrange(1, 60)]
        else:
            data[at:at] = data[random.randrange(len(data)):][:random.randrange(60)]
    open(scratch, "wb").write(data)
    run = subprocess.run([trshim, "report", "--json", scratch], capture_output=True, timeout=60)
    if run.returncode not in (0, 2) or (run.returncode == 2 and run.stderr.count(b"\n") != 1):
        sys.exit("round %d: status %d, %r" % (i, run.returncode, run.stderr[-300:]))
' "$TR" "$scratch/damaged_1" "$@"
}
ok "300 damaged ones" damaged "$scratch"/form-*/*

# ---- real ones: Case hang-fr-01 is lock_gil_1st
cases=$root/../shared/cases/traces/fr
if [ -d "$cases" ]; then
    for dir in "$cases"/*/; do
        report "$dir"
        name=$(basename "$dir")
        is "$name: the ranks into which the fault was put, no others" \
            "$(findings | sed -n 's/^collective-hang \[\([^]]*\)\].*/\1/p' | tr -d ' ' | tr ',' '\n' | sort -n | tr '\n' ' ')" \
            "$(sed -n 's/^Fault ranks: \[\(.*\)\]/\1/p' "$dir/fault_injection.log" | tr -d ' ' | tr ',' '\n' | sort -n | tr '\n' ' ')"
    done
else
    skip "real dumps" "no ../shared/cases/traces/fr here"
fi
done_testing
