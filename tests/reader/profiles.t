#!/bin/sh
# Public profiles of real GPU jobs (shared/cases/traces), with the verdicts they should get: one training before and after
# its data stall was fixed, and the eight ranks of one step.
. "${0%/*}/../lib/tap.sh"

cases=$root/../shared/cases/traces
[ -d "$cases/kineto" ] || skip_all "no ../shared/cases/traces/kineto here"

# report FILE PYTHON-EXPRESSION of r (the report), m (its mean) and ids (of findings of medium severity and above)
report() {
    "$TR" report --json "$1" >"$scratch/report.json" && "$PYTHON" - "$scratch/report.json" "$2" <<'END'
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
done_testing
