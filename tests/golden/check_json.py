"""check_json.py REPORT.json - is it a sound trshim-report/1? Prints what is not; exit status 1 then.

Sound means: every key is there with a value of its type, classes add up to their window to the nanosecond, shares lie in
0..1 and add up to 1, breakdowns are those of the step list, sentences are whole, findings are ranked.
"""
import json
import re
import sys

U, I, R, T, B = "uint", "int", "real", "text", "bool"


def optional(kind):
    return (kind, None)


CLASSES = ["compute", "comm_exposed", "copy_exposed", "dataloader", "checkpoint", "sync", "host", "other"]
PARTS = ["comm_wait", "comm_transfer", "pp_bubble", "comm_overlapped"]

STEP = {"step": U, "rank": optional(U), "warmup": B, "incomplete": B, "start_ns": U, "end_ns": U, "flop": optional(R), "kernels": optional(U), "launch_latency_ns": optional(R), "queue_depth": optional(R),
        "dataloader_host_wait_ns": optional(U), **{c + "_ns": U for c in CLASSES}, **{p + "_ns": optional(U) for p in PARTS}}
SHARES = {"steps": U, "window_ns": U, "dataloader_host_wait": optional(R), "comm_known": optional(R), **{c: R for c in CLASSES},
          **{p: optional(R) for p in PARTS}}
SCHEMA = {
    "schema": T,
    "inputs": [{"path": T, "kind": T, "events": U, "lost": U, "problem": optional(T)}],
    "ranks": [{"rank": optional(U), "attempt": U, "host": optional(T), "machine": optional(T), "pid": U, "device": optional(U),
               "gpu_name": optional(T), "rank_source": T, "versions": dict}],
    "world_size": optional(U),
    "steps": {"method": optional(T), "confidence": R, "count": U, "warmup": U, "list": [STEP]},
    "breakdown": {"mean": optional("shares"), "per_rank": [dict(SHARES, rank=I)]},
    "collectives": [{"comm": T, "role": optional(T), "op": T, "bytes": U, "count": U, "time_ns": optional(U), "wait_ns": optional(U),
                     "algbw": optional(R), "busbw": optional(R), "expected": optional(R), "algo": optional(T),
                     "proto": optional(T), "transport": optional(T)}],
    "communicators": [{"id": T, "nranks": U, "nr_known": U, "nodes": U, "role": optional(T), "role_confidence": optional(R), "ranks": [U]}],
    "transports": [{"comm": optional(T), "host": optional(T), "peer_host": optional(T), "kind": T, "channels": U,
                    "connections": U, "gdr": optional(B), "pxn": optional(B), "source": [T], "agree": optional(B), "socket_bytes": optional(U)}],
    "kernels": [{"name": optional(T), "kind": T, "count": U, "total_ns": U, "mean_ns": R, "share": R}],
    "copies": [{"kind": T, "memory": T, "count": U, "bytes": U, "time_ns": U, "bandwidth": optional(R), "expected": optional(R)}],
    "gpus": [{"rank": optional(U), "device": optional(U), "name": optional(T), "kernels": U, "mean_kernel_ns": optional(R),
              "launch_latency_ns": optional(R), "queue_depth": optional(R), "flop": optional(R), "flops": optional(R),
              "peak_flops": optional(R), "mfu": optional(R), "dtype": optional(T), "tokens_per_second": optional(R)}],
    "memory": [{"rank": optional(U), "device": optional(U), "total": optional(U), "reserved_peak": U, "allocated_peak": optional(U),
                "fragmentation_at_peak": optional(R), "split_free_at_peak": optional(U), "largest_hole": optional(U), "retries": U,
                "owners": [{"name": T, "peak": U}],
                "sites": [{"bytes": U, "segments": U, "frames": [{
                    "module": optional(T), "build_id": optional(T), "offset": U, "function": optional(T), "file": optional(T), "line": optional(U)}]}],
                "failures": [{"bytes": U, "free": optional(U), "cached_free": optional(U), "largest_hole": optional(U),
                              "short_by": optional(U), "verdict": T}]}],
    "node": [],
    "io": [{"mount": optional(T), "fstype": optional(T), "source": optional(T), "group": optional(T), "peer": optional(T),
            "opens": U, "reads": U, "writes": U, "bytes_read": U, "bytes_written": U, "mean_read": optional(R),
            "p50_read_ns": optional(R), "p95_read_ns": optional(R), "p99_read_ns": optional(R),
            "metadata_share": optional(R), "cache_share": optional(R), "sequential_share": optional(R),
            "read_ns": U, "write_ns": U, "metadata_ns": U, "files_failed": U}],
    "workers": [{"rank": optional(U), "pid": U, "reading_ns": U, "cpu_ns": U, "runnable_ns": U, "blocked_ns": U, "waiting_ns": U, "span_ns": U,
                 "batches": U, "bytes_read": U}],
    "checkpoints": [{"rank": optional(U), "path": optional(T), "bytes": U, "start_ns": U, "duration_ns": U, "stall_ns": U,
                     "step": optional(U), "sync": B, "safe": optional(B), "survives": B}],
    "findings": [{"id": T, "severity": T, "confidence": R, "lost_ns": optional(U), "lost_gpu_seconds": optional(R),
                  "ranks": [U], "victims": [U], "hosts": [T], "caused_by": optional(T), "what": T, "evidence": [T],
                  "cause": T, "fix": T, "others": [T]}],
    "notes": [{"key": T, "text": T}],
    "quality": {"events": U, "lost": U, "unmatched": U, "unknown": U, "unresolved": U, "clock_error_ns": optional(U),
                "gaps": U, "gpu_lost": U, "recorder_cpu_ns": U},
}

problems = []


def fits(value, kind, where):
    if isinstance(kind, tuple):
        return value is None or fits(value, SHARES if kind[0] == "shares" else kind[0], where)
    if isinstance(kind, list):
        if not isinstance(value, list):
            problems.append(f"{where}: no array")
        elif not kind and value:
            problems.append(f"{where}: not empty, though nothing fills it yet")
        else:
            for i, element in enumerate(value):
                fits(element, kind[0], f"{where}[{i}]")
        return
    if isinstance(kind, dict):
        if not isinstance(value, dict):
            problems.append(f"{where}: no object")
            return
        for key in kind.keys() - value.keys():
            problems.append(f"{where}: no key {key}")
        for key in value.keys() - kind.keys():
            problems.append(f"{where}: unknown key {key}")
        for key in kind.keys() & value.keys():
            fits(value[key], kind[key], f"{where}.{key}")
        return
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    good = {U: number and isinstance(value, int) and value >= 0, I: number and isinstance(value, int), R: number,
            T: isinstance(value, str) and value != "", B: isinstance(value, bool), dict: isinstance(value, dict)}[kind]
    if not good:
        problems.append(f"{where}: {value!r} is no {kind}")


def check(condition, message):
    if not condition:
        problems.append(message)


def check_steps(report):
    for row in report["steps"]["list"]:
        window = row["end_ns"] - row["start_ns"]
        total = sum(row[c + "_ns"] for c in CLASSES)
        check(total == window, f"step {row['step']} rank {row['rank']}: classes make {total}, the window {window}")
    check(report["steps"]["count"] == len({row["step"] for row in report["steps"]["list"]}), "steps.count is not that of the list")


def check_breakdown(report):
    per_rank = report["breakdown"]["per_rank"]
    for name, row in [("mean", report["breakdown"]["mean"])] + [(f"rank {r['rank']}", r) for r in per_rank]:
        if row is None:
            continue
        total = sum(row[c] for c in CLASSES)
        check(row["window_ns"] == 0 or abs(total - 1) < 1e-6, f"{name}: shares add up to {total}")
        check(all(0 <= row[c] <= 1 for c in CLASSES), f"{name}: a share is not in 0..1")
    for row in per_rank:
        mine = [s for s in report["steps"]["list"] if (-1 if s["rank"] is None else s["rank"]) == row["rank"]]
        steady = [s for s in mine if not s["warmup"] and not s["incomplete"]] or mine
        check(row["steps"] == len(steady), f"rank {row['rank']}: {row['steps']} windows, the list has {len(steady)}")
        check(row["window_ns"] == sum(s["end_ns"] - s["start_ns"] for s in steady), f"rank {row['rank']}: other windows than the list")


def check_findings(report):
    order = {"high": 0, "medium": 1, "low": 2}
    severities = [order.get(f["severity"], 9) for f in report["findings"]]
    check(severities == sorted(severities) and 9 not in severities, "findings are not ranked by severity")
    ranks = {r["rank"] for r in report["ranks"]}
    for f in report["findings"]:
        check(0 <= f["confidence"] <= 1, f"{f['id']}: confidence {f['confidence']}")
        check(f["evidence"], f"{f['id']}: no evidence")
        check(set(f["ranks"]) <= ranks, f"{f['id']}: ranks {f['ranks']} are not in the trace")
        for text in [f["what"], f["cause"], f["fix"], *f["evidence"], *f["others"]]:
            check(not re.search(r"[?{]|\[[a-z_]", text), f"{f['id']}: a parameter is missing: {text}")
    names = [f["id"] for f in report["findings"]]
    for f in report["findings"]:
        check(f["caused_by"] is None or f["caused_by"] in names, f"{f['id']}: caused by {f['caused_by']}, which is not there")


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        report = json.load(file)
    fits(report, SCHEMA, "report")
    if not problems:
        check(report["schema"] == "trshim-report/1", "another schema")
        check_steps(report)
        check_breakdown(report)
        check_findings(report)
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
