#!/bin/sh
# Public profiles of real GPU jobs (shared/cases/traces), with the verdicts they should get: one training before and after
# its data stall was fixed, and the eight ranks of one step.
. "${0%/*}/../lib/tap.sh"

cases=$root/../shared/cases/traces
[ -d "$cases/kineto" ] || skip_all "no ../shared/cases/traces/kineto here"

# report FILES PYTHON-EXPRESSION of r (the report), m (its mean) and ids (of findings of medium severity and above)
report() {
    # shellcheck disable=SC2086 # several files
    "$TR" report --json $1 >"$scratch/report.json" && "$PYTHON" - "$scratch/report.json" "$2" <<'END'
import json, sys
r = json.load(open(sys.argv[1]))
m, ids = r["breakdown"]["mean"], [f["id"] for f in r["findings"] if f["severity"] != "low"]
if not eval(sys.argv[2]):
    sys.exit("not so: %s; findings %s, mean %s" % (sys.argv[2], ids, m))
END
}

before=$cases/kineto/resnet50_workers0_a.json.gz after=$cases/kineto/resnet50_workers4_a.json.gz
ok "before: dataloader-bound, and nothing else of weight" report "$before" 'ids == ["dataloader-bound"]'
ok "before: a third of the GPU's time is idle for data" report "$before" '0.31 < m["dataloader"] < 0.35'
ok "before: the training thread waits 39 % of it" report "$before" '0.38 < m["dataloader_host_wait"] < 0.41'
ok "after: nothing of weight" report "$after" 'ids == [] and m["dataloader"] < 0.01'
ok "after: pageable copies are what is left, a little" report "$after" '[f["id"] for f in r["findings"]] == ["pageable-copies"]'
ok "eight ranks of one step" report "$cases/param/dlrm" '[k["rank"] for k in r["ranks"]] == list(range(8)) and r["world_size"] == 8'
ok "eight ranks: each has communication that is exposed" report "$cases/param/dlrm" 'all(k["comm_exposed"] > 0.1 for k in r["breakdown"]["per_rank"])'
ok "eight ranks: waiting is told from moving bytes, nearly all of it is waiting" report "$cases/param/dlrm" \
    'all(k["comm_wait"] > 0.9 * k["comm_exposed"] - 0.03 and 0.005 < k["comm_transfer"] < 0.03 for k in r["breakdown"]["per_rank"])'
ok "eight ranks: rank 7, which came last most often, waits least" report "$cases/param/dlrm" 'min(r["breakdown"]["per_rank"], key=lambda k: k["comm_wait"])["rank"] == 7'
ok "eight ranks: five AlltoAlls, three AllReduces, each of its size" report "$cases/param/dlrm" \
    'sorted((c["op"], c["bytes"], c["count"]) for c in r["collectives"]) == [("AllReduce", 448, 1), ("AllReduce", 907840, 1), ("AllReduce", 1576964, 1), ("AlltoAll", 192, 1), ("AlltoAll", 1536, 1), ("AlltoAll", 13568, 1), ("AlltoAll", 24576, 2)]'
ok "two of 128 ranks whose calls differ: a note, no guess" report "$cases/kineto/trace_filter_sampled_rank-0.json.gz $cases/kineto/trace_filter_sampled_rank-1.json.gz" \
    'r["collectives"] == [] and all("cannot be matched" in i["problem"] for i in r["inputs"])'
done_testing
