#!/usr/bin/python3
"""bench.py [--json FILE] [PART...] - what recording costs and how fast reports are, each against a named baseline.

Parts: hooks startup job gpu nccl nccl_hooks size reader (default: all). `make bench` runs it. Every ratio comes from runs that alternate
on the same machine within the same minutes, and is printed with its baseline; nothing here passes or fails.
BENCH_RUNS=N sets how many times each pair is run (default 3; 20 for figures worth quoting)."""

import argparse
import importlib
import json
import os
import platform
import shutil
import sys
import tempfile
import unicodedata

PARTS = ("hooks", "startup", "job", "gpu", "nccl", "nccl_hooks", "size", "reader")  # each a module beside this one
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Context:
    """Where things are, for every part."""

    def __init__(self, scratch):
        self.root = ROOT
        self.build = os.path.abspath(os.environ.get("O", os.path.join(ROOT, "build")))
        self.trshim = os.path.join(self.build, "trshim")
        self.preload = os.path.join(self.build, "libtrshim.so")
        self.python = os.environ.get("PYTHON", "/usr/bin/python3")
        self.runs = int(os.environ.get("BENCH_RUNS", "3"))
        self.scratch = scratch
        self.count = 0

    def new_dir(self):
        """A directory that does not exist yet."""
        self.count += 1
        return os.path.join(self.scratch, f"d{self.count}")

    def record(self, *command):
        """The command line that records another one, quietly."""
        return [self.trshim, "record", "--no-report", "-o", self.new_dir(), "--", *command]


def width(text):
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def print_table(title, rows):
    """rows: dicts with what, value, unit, baseline, target (text), note; the columns that no row has are left out."""
    print(f"\n## {title}\n")
    columns = [c for c in ("what", "value", "baseline", "target", "note") if any(r.get(c) for r in rows)]
    cells = [columns] + [[render(row, c) for c in columns] for row in rows]
    widths = [max(width(line[i]) for line in cells) for i in range(len(columns))]
    for n, line in enumerate(cells):
        print("| " + " | ".join(text + " " * (w - width(text)) for text, w in zip(line, widths)) + " |")
        if n == 0:
            print("|" + "|".join("-" * (w + 2) for w in widths) + "|")
    sys.stdout.flush()


def render(row, column):
    if column == "value":
        return f"{row['value']:.{row.get('digits', 1)}f} {row['unit']}"
    return str(row.get(column) or "")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", metavar="FILE", help="also write the rows as JSON")
    parser.add_argument("parts", nargs="*", metavar="PART", help="hooks startup job gpu size reader")
    args = parser.parse_args()
    unknown = [p for p in args.parts if p not in PARTS]
    if unknown:
        parser.error(f"no such part: {', '.join(unknown)}")

    scratch = tempfile.mkdtemp(prefix="trshim-bench-")
    result = {"machine": platform.machine(), "cpus": len(os.sched_getaffinity(0)), "kernel": platform.release()}
    try:
        context = Context(scratch)
        result["runs"] = context.runs
        print(f"{result['cpus']} CPUs, {context.runs} runs of each pair")
        for name in args.parts or PARTS:
            part = importlib.import_module(name)
            rows = part.measure(context)
            result[name] = rows
            print_table(part.TITLE, rows)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
