"""A job's own timers, step by step: what an outside tool's report is judged by.

Window i runs from the end of optimizer step i to the end of the next one, on CLOCK_MONOTONIC; the last one ends
with the loop and is marked incomplete. So N steps make N windows, numbered from 0; what comes before the first step
ends is in none. All times are of the training thread:

    dataloader_ns   in next() of a DataLoader's iterator
    checkpoint_ns   in saving a checkpoint, or in handing it over to the thread that does
    compute_ns      in forward, backward and the optimizer, with what they wait for other ranks
    start_ns        of the window, end_ns likewise"""

import contextlib
import json
import os
import time

now_ns = time.monotonic_ns


class StepTimers:
    def __init__(self, rank):
        self.rank = rank
        self.steps = []
        self.window = None  # the open one
        self.discard = self.new_window(0)  # takes what comes before the first step ends

    def new_window(self, start_ns):
        return {"step": len(self.steps), "rank": self.rank, "incomplete": False, "start_ns": start_ns, "end_ns": None,
                "dataloader_ns": 0, "checkpoint_ns": 0, "compute_ns": 0}

    @contextlib.contextmanager
    def time(self, what):
        start_ns = now_ns()
        try:
            yield
        finally:
            (self.window or self.discard)[what + "_ns"] += now_ns() - start_ns

    def step_ended(self):
        at_ns = now_ns()
        self.close(at_ns)
        self.window = self.new_window(at_ns)

    def loop_ended(self):
        self.close(now_ns(), incomplete=True)

    def close(self, at_ns, incomplete=False):
        if self.window:
            self.steps.append({**self.window, "end_ns": at_ns, "incomplete": incomplete})
            self.window = None

    def write(self, path):
        with open(path, "w", encoding="utf-8") as out:
            json.dump({"pid": os.getpid(), "steps": self.steps}, out)
            out.write("\n")
