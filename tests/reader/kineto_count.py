"""What Python's json finds in a Kineto trace, as `kineto_count.awk` counts it in the events: an independent count.

Usage: kineto_count.py FILE.json[.gz]; one line per number, sorted."""
import collections
import decimal
import gzip
import json
import sys

path = sys.argv[1]
with (gzip.open if path.endswith(".gz") else open)(path, "rt", errors="replace") as file:
    trace = json.load(file, parse_float=decimal.Decimal)

kinds = {"kernel": "kernel", "gpu_memcpy": "gpu_copy", "memcpy": "gpu_copy", "gpu_memset": "gpu_set",
         "memset": "gpu_set", "cuda_runtime": "cuda_call", "runtime": "cuda_call", "cuda_driver": "cuda_call"}
anchors = {"ProfilerStep#": "nvtx", "Optimizer.step#": "optimizer", "enumerate(DataLoader)#": "dataloader"}
if isinstance(trace, list):  # PyTorch without Kineto
    categories = {"CPU functions": "operator", "CUDA functions": "kernel"}
    trace = {"traceEvents": [dict(row, cat=categories.get(row["pid"], "")) for row in trace]}
rows = [row for row in trace["traceEvents"] if row.get("ph") == "X"]
calls = {row["args"]["correlation"]: row for row in rows if kinds.get(row.get("cat", "").lower()) == "cuda_call"}
count = collections.Counter()

for row in rows:
    category, name = row.get("cat", "").lower(), row["name"]
    kind = kinds.get(category)
    dur_ns = int(decimal.Decimal(row["dur"]) * 1000)
    if kind:
        count[kind] += 1
        count[kind + " ns"] += dur_ns
    if kind == "gpu_copy":
        count["bytes copied"] += row["args"]["bytes"]
    if kind in ("kernel", "gpu_copy", "gpu_set"):
        call = calls.get(row["args"]["correlation"])
        count[kind + " launched by a thread"] += call is not None
        count["on device %d" % row["args"]["device"]] += 1
    if category in ("user_annotation", "cpu_op", "operator"):
        for begin, anchor in anchors.items():
            if name.startswith(begin):
                count["anchor " + anchor] += 1
                count["anchor " + anchor + " ns"] += dur_ns
                break
        else:
            if category == "user_annotation" and not name.startswith("Optimizer.zero_grad#"):
                count["annotation"] += 1
            elif name == "record_param_comms":
                count["record_param_comms"] += 1

rank = trace.get("distributedInfo", {}).get("rank", -1)
print("\n".join(sorted("%s: %d" % item for item in count.items() if item[1])))
print("rank:", rank)
