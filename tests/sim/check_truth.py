#!/usr/bin/env python3
"""check_truth.py - looks at simtrain's truth: sums FILE RANKS STEPS | same-compute FILE FILE RANK | fault FILE CLASS PERCENT."""
import json
import sys

CLASSES = ["compute", "comm_exposed", "copy_exposed", "dataloader", "checkpoint", "sync", "host", "other"]


def steps(path, rank=None):
    return [s for s in json.load(open(path))["steps"] if rank is None or s["rank"] == rank]


def sums(path, ranks, count):
    for rank in range(ranks):
        mine = steps(path, rank)
        assert [s["step"] for s in mine] == list(range(count)), "steps of rank %d: %d" % (rank, len(mine))
        for s in mine:
            assert sum(s[c + "_ns"] for c in CLASSES) == s["end_ns"] - s["start_ns"], s
            assert all(s[c + "_ns"] >= 0 for c in CLASSES), s
        for a, b in zip(mine, mine[1:]):
            assert a["end_ns"] == b["start_ns"] > a["start_ns"], (a, b)


def same_compute(first, second, rank):
    a, b = ([s["compute_ns"] for s in steps(p, rank)] for p in (first, second))
    assert a == b, [(x, y) for x, y in zip(a, b) if x != y][:3]


def share(path, rank, name):
    mine = steps(path, rank)[3:-1]
    return 100.0 * sum(s[name + "_ns"] for s in mine) / sum(s["end_ns"] - s["start_ns"] for s in mine)


def fault(path, name, percent):
    healthy, faulty = share(path, 0, name), share(path, 1, name)
    print("%s: rank 0 %.1f %%, rank 1 %.1f %%" % (name, healthy, faulty))
    assert faulty >= percent and faulty > healthy


def main(what, *args):
    if what == "sums":
        sums(args[0], int(args[1]), int(args[2]))
    elif what == "same-compute":
        same_compute(args[0], args[1], int(args[2]))
    elif what == "fault":
        fault(args[0], args[1], float(args[2]))
    else:
        sys.exit(__doc__)


main(*sys.argv[1:])
