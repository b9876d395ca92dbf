#!/bin/bash
# What `make matrix` counts is what it says: its table from runs made up here; and no fault of simtrain is without a case.
. "${0%/*}/lib/tap.sh"

counts() {
    "$PYTHON" -B - "$root" <<'PY'
import sys

sys.path.insert(0, sys.argv[1] + "/tools/matrix")
import table

CASES = [("clean", [""], None, "", ""), ("a", ["a"], "a", "side", ""), ("b", ["b"], "b", "", "")]


def run(case, *findings, rank=None, failed=False, borne_out=()):
    return {"case": case, "fault": case, "seed": 1000, "rank": rank, "failed": failed, "borne_out": list(borne_out),
            "findings": [dict({"severity": "high", "ranks": [], "hosts": [], "caused_by": None}, **f) for f in findings]}


def judged(case, *findings, **more):
    return table.judged(run(case, *findings, **more), next(c for c in CASES if c[0] == case))


def is_(what, got, want):
    if got != want:
        sys.exit(f"{what}: {got}, not {want}")


is_("found", judged("a", {"id": "a"}), (True, []))
is_("found, though of little weight", judged("a", {"id": "a", "severity": "low"}), (True, []))
is_("missed", judged("a"), (False, []))
is_("on the wrong rank: missed, and a false alarm", judged("a", {"id": "a", "ranks": [2]}, rank=1), (False, ["a"]))
is_("on the right one of two", judged("a", {"id": "a", "ranks": [1, 2]}, rank=1), (True, []))
is_("what may come of it", judged("a", {"id": "a"}, {"id": "side"}), (True, []))
is_("what the report says comes of it", judged("b", {"id": "b"}, {"id": "x", "caused_by": "b"}), (True, []))
is_("something else", judged("b", {"id": "b"}, {"id": "x"}), (True, ["x"]))
is_("something else of little weight", judged("b", {"id": "b"}, {"id": "x", "severity": "low"}), (True, []))
is_("what the job's own times bear out", judged("clean", {"id": "x"}, borne_out=["x"]), (None, []))
is_("an alarm in a clean job", judged("clean", {"id": "a"}), (None, ["a"]))

runs = [run("clean"), run("clean", {"id": "a"}), run("a", {"id": "a"}), run("a", failed=True), run("b", {"id": "b"})]
text = table.render(runs, CASES, "make matrix")
for line in ("| `a` | 2 | 1 | 50 % | 1 | 50 % |  |", "| `b` | 1 | 1 | 100 % | 0 | 100 % |  |", "| clean | 2 | nothing: 1 | – | – | – | `a` 1 |",
             "recall 67 % of 3 faults, precision 67 %; 2 jobs", "1 runs gave no report"):
    if line not in text:
        sys.exit(f"no '{line}' in\n{text}")
PY
}

# Each row of faults.def is in cases.py.
complete() {
    sed -n 's/^FAULT([A-Z_0-9]*, "\([a-z0-9-]*\)".*/\1/p' "$root/examples/simtrain/faults.def" | sort >"$scratch/faults"
    (cd "$root/tools/matrix" && "$PYTHON" -B -c 'from cases import CASES
print("\n".join(sorted({f.split(":")[0] for c in CASES for f in c[1] if f})))') >"$scratch/cases"
    [ -s "$scratch/faults" ] && diff "$scratch/faults" "$scratch/cases"
}

ok "the table counts what was found, missed and made up" counts
ok "every fault of simtrain has a case" complete
done_testing
