#!/usr/bin/env python3
"""Writes one C file per NVIDIA library that a PyTorch wheel links to and the simulated node does not have.

Usage: stubs.py TORCH_LIB_DIR SIM_DIR OUT_DIR; prints "SONAME FILE" per library.
What such a library must have is what the wheel's own libraries ask of it: undefined names bound to its version, or
without a version and with its prefix. Each says its name once and returns "not supported".
"""
import os
import re
import subprocess
import sys

# Of these all but libcudnn's version is only told to who asks; what no status can answer has an answer of its own.
TEXT = re.compile(r"Get(Last)?Error(String|Name)$|GetStatusString$")
VERSION = {"cudnnGetVersion": 90100}
NVIDIA = ("libcu", "libnv")  # also where the machine has one: the real ones want the real driver
HEAD = '#include "tests/sim/engine/engine.h"\n\n'


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def needed(path):
    return re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-d", "--wide", path))


def undefined(path):
    for line in run("nm", "-D", "--undefined-only", path).splitlines():
        name, _, version = line.split()[-1].partition("@")
        yield name, version.lstrip("@")


def prefix(soname):
    stem = soname[3:].split(".so")[0]
    return {"nvToolsExt": "nvtx"}.get(stem, stem)


def body(name):
    if TEXT.search(name):
        return f'SIM_EXPORT const char *{name}(void);\nconst char *{name}(void)\n{{\n    return "not simulated";\n}}\n'
    if name in VERSION:
        return f"SIM_EXPORT size_t {name}(void);\nsize_t {name}(void)\n{{\n    return {VERSION[name]};\n}}\n"
    return (f"SIM_EXPORT int {name}(void);\nint {name}(void)\n{{\n"
            f'    sim_say_missing("{name}");\n    return SIM_NOT_SUPPORTED;\n}}\n')


def main(torch_lib, sim, out):
    libraries = [os.path.join(torch_lib, f) for f in sorted(os.listdir(torch_lib)) if ".so" in f]
    own = {os.path.basename(p) for p in libraries} | set(os.listdir(sim))
    names = {}
    for path in libraries:
        missing = [n for n in needed(path) if n not in own and n.startswith(NVIDIA)]
        for n in missing:
            names.setdefault(n, set())
        for name, version in undefined(path):
            for n in missing:
                if version == n or (not version and name.startswith(prefix(n))):
                    names[n].add(name)
    for soname, wanted in sorted(names.items()):
        path = os.path.join(out, soname + ".c")
        with open(path, "w", encoding="ascii") as f:
            f.write(HEAD + "\n".join(body(n) for n in sorted(wanted)))
        print(soname, path)


main(*sys.argv[1:])
