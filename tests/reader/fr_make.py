"""Dumps of PyTorch's flight recorder as it would leave them: fr_make.py DIR FORM KIND.

FORM: json, or the pickle protocol (2 to 5). KIND: absent (rank 2 is in no call), mismatch (rank 1 calls a broadcast),
missing (rank 3 left no dump), stuck (all are in the call), healthy (nothing is open). Four ranks in groups of two
(tensor) and of four (default)."""
import json
import os
import pickle
import sys


def entry(i, group, name, seq, state, sizes, frames):
    return {"record_id": i, "pg_id": int(group[0]), "process_group": group, "collective_seq_id": seq, "p2p_seq_id": 0,
            "op_id": seq, "profiling_name": name, "time_created_ns": 10**18 + i * 10**6, "input_sizes": sizes,
            "input_dtypes": ["Float"], "output_sizes": sizes, "output_dtypes": ["Float"], "state": state,
            "time_discovered_started_ns": None,
            "time_discovered_completed_ns": 10**18 + i * 10**6 + 5000 if state == "completed" else None,
            "retired": state == "completed", "timeout_ms": 600000, "is_p2p": False, "frames": frames}


def dump(rank, kind):
    world, tensor = ("0", "default_pg"), (str(1 + rank // 2), "TENSOR")
    frames = [{"name": "backward", "filename": "/job/train.py", "line": 41},
              {"name": "main", "filename": "/job/train.py", "line": 77}]
    entries = [entry(1, tensor, "nccl:all_reduce", 1, "completed", [[8, 4]], frames),
               entry(2, world, "nccl:all_reduce", 1, "completed", [[1 << 20]], frames)]
    if kind != "healthy" and not (kind == "absent" and rank == 2):
        odd = kind == "mismatch" and rank == 1
        entries.append(entry(3, world, "nccl:broadcast" if odd else "nccl:all_reduce", 2, "scheduled", [[1 << 20]], frames))
    last = 2 if len(entries) == 3 else 1
    status = {"last_enqueued_collective": last, "last_started_collective": -1, "last_completed_collective": 1}
    done = dict(status, last_enqueued_collective=1)
    return {"version": "2.10", "nccl_version": "2.27.3",
            "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2, 3]"},
                          tensor[0]: {"name": tensor[0], "desc": "TENSOR",
                                      "ranks": str([rank // 2 * 2, rank // 2 * 2 + 1])}},
            "pg_status": {"0": status, tensor[0]: done}, "entries": entries}


def main():
    where, form, kind = sys.argv[1:]
    os.makedirs(where, exist_ok=True)
    for rank in range(4):
        if kind == "missing" and rank == 3:
            continue
        path = os.path.join(where, "nccl_trace_rank_%d" % rank)
        if form == "json":
            with open(path + ".json", "w") as out:
                json.dump(dump(rank, kind), out)
        else:
            with open(path, "wb") as out:
                pickle.dump(dump(rank, kind), out, protocol=int(form))


main()
