"""check_gpu.py - a report of a job on the simulated node against what the job knows.

  truth REPORT TRUTH          steps and their windows; classes within 2 % or 2 ms in 95 % of the steps
  findings REPORT             no finding of high or medium severity
  findings REPORT ID RANK     this one, about this rank only
"""
import json
import sys

CLASSES = ["compute", "comm_exposed", "copy_exposed", "dataloader", "checkpoint", "sync", "host", "other"]


def differs(told, true):
    limit = max(2e6, 0.02 * (true["end_ns"] - true["start_ns"]))
    far = [c for c in CLASSES if abs(told[c + "_ns"] - true[c + "_ns"]) > limit]
    return far + [e for e in ("start_ns", "end_ns") if not told["incomplete"] and abs(told[e] - true[e]) > limit]


def truth(report, true_path):
    true = {(s["rank"], s["step"]): s for s in json.load(open(true_path))["steps"]}
    told = {(s["rank"], s["step"]): s for s in report["steps"]["list"]}
    if true.keys() != told.keys():
        sys.exit("other steps: %s" % sorted(true.keys() ^ told.keys()))
    judged = [k for k in told if not told[k]["warmup"] and not told[k]["incomplete"]]
    wrong = {k: differs(told[k], true[k]) for k in judged if differs(told[k], true[k])}
    print("%d of %d steps differ: %s" % (len(wrong), len(judged), wrong))
    if not judged or len(wrong) > 0.05 * len(judged):
        sys.exit(1)


def findings(report, want=None, rank=None):
    found = [(f["id"], f["ranks"], f["severity"], f["caused_by"]) for f in report["findings"]]
    print(found)
    if want:
        sys.exit([f[1] for f in found if f[0] == want] != [[int(rank)]])
    sys.exit(any(f[2] != "low" for f in found))


if __name__ == "__main__":
    {"truth": truth, "findings": findings}[sys.argv[1]](json.load(open(sys.argv[2])), *sys.argv[3:])
