#!/usr/bin/env python3
"""check_truth.py - looks at simtrain's truth.

sums FILE RANKS STEPS            windows join; classes add up to each, those of communication to theirs
same-compute FILE FILE RANK      kernels take as long in both
fault FILE CLASS PERCENT         rank 1 has that much of the class, and more than rank 0
share FILE RANK CLASS LOW HIGH   that rank's part of the class, in percent
bubble FILE STAGES MICROS        no stage waits less than the schedule says, when micro-batches are all alike"""
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
            assert all(value >= 0 for value in s.values()), s
            assert s["comm_wait_ns"] + s["comm_transfer_ns"] == s["comm_exposed_ns"], s
            assert s["pp_bubble_ns"] <= s["comm_wait_ns"] and s["comm_overlapped_ns"] <= s["compute_ns"], s
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


def between(path, rank, name, low, high):
    got = share(path, rank, name)
    print("%s of rank %d: %.1f %%" % (name, rank, got))
    assert low <= got <= high


def bubble(path, stages, micros):
    least = 100.0 * (stages - 1) / (micros + stages - 1)
    for rank in sorted({s["rank"] for s in steps(path)}):
        got = share(path, rank, "pp_bubble")
        print("rank %d waits for other stages %.1f %%, the schedule: %.1f %%" % (rank, got, least))
        assert 0.8 * least <= got <= 1.6 * least + 2


def main(what, *args):
    if what == "sums":
        sums(args[0], int(args[1]), int(args[2]))
    elif what == "same-compute":
        same_compute(args[0], args[1], int(args[2]))
    elif what == "fault":
        fault(args[0], args[1], float(args[2]))
    elif what == "share":
        between(args[0], int(args[1]), args[2], float(args[3]), float(args[4]))
    elif what == "bubble":
        bubble(args[0], int(args[1]), int(args[2]))
    else:
        sys.exit(__doc__)


main(*sys.argv[1:])
