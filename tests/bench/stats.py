"""stats.py - medians, and the interval of a paired ratio."""

import math
import statistics

# Two-sided 95 % points of Student's t for 1, 2, ... degrees of freedom; beyond the table the normal one is near enough.
T95 = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13, 2.12, 2.11, 2.10, 2.09)


def paired_ratio(pairs):
    """pairs: (baseline, value) of runs made one after the other. Returns the geometric mean of value/baseline and
    its 95 % interval, (ratio, low, high); the interval is None for a single pair."""
    logs = [math.log(value / baseline) for baseline, value in pairs]
    mean = statistics.fmean(logs)
    if len(logs) < 2:
        return math.exp(mean), None, None
    t = T95[len(logs) - 2] if len(logs) - 2 < len(T95) else 1.96
    half = t * statistics.stdev(logs) / math.sqrt(len(logs))
    return math.exp(mean), math.exp(mean - half), math.exp(mean + half)


def percent(ratio):
    """A ratio as a change: 1.012 -> +1.2 %."""
    return f"{(ratio - 1) * 100:+.1f} %"
