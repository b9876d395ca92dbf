#!/bin/bash
# Where device memory was asked for: recorded as call stacks of files and offsets, named by the report as far as the files
# at hand tell. The program as it is, stripped, gone, and another one in its place.
. "${0%/*}/../lib/tap.sh"
. "$root/tests/lib/session.sh"
. "$root/tests/lib/simjob.sh"

need_node
[ -x "$O/tests/sim/gpu_job" ] || skip_all "not built: $O/tests/sim/gpu_job (make sim)"
"$PYTHON" -c 'import ctypes; ctypes.CDLL("libunwind.so.8")' 2>"$scratch/said" || skip_all "no libunwind.so.8 (make deps)"

# small NAME PROGRAM: records its call sites, in $scratch/NAME
small() {
    LD_LIBRARY_PATH=$O/sim TMPDIR=$scratch timeout 60 "$TR" record -o "$scratch/$1" --no-report -- "$2" sites 2>"$scratch/said"
}
# stacks NAME: one line per site: MiB, segments, frames up to main as the report names them
stacks() {
    "$TR" report --json "$scratch/$1" | "$PYTHON" -c '
import json, os, sys
for site in json.load(sys.stdin)["memory"][0]["sites"]:
    names = []
    for frame in site["frames"]:
        line = frame["file"] and frame["line"] and ":" + os.path.basename(frame["file"])
        names.append((frame["function"] or os.path.basename(frame["module"]) + "+") + (line or ""))
        if frame["function"] == "main":
            break
    print(site["bytes"] >> 20, site["segments"], *names[:3])'
}

cp "$O/tests/sim/gpu_job" "$scratch/whole"
ok "recorded" small whole.run "$scratch/whole"
is "functions, files and lines" "$(stacks whole.run | sed 's/ main:gpu_job.c//; s/[.]constprop[.]0//')" \
"24 3 take_in_public:gpu_job.c sites:gpu_job.c
4 1 take_in_private:gpu_job.c sites:gpu_job.c
1 1"
"$TR" events "$scratch/whole.run" >"$scratch/events"
is "one stack is told once, whatever is taken there" "$(grep -c ' callsite ' "$scratch/events")" 3
is "small memory has none" "$(grep ' segment ' "$scratch/events" | grep ' size_bytes=16384 ' | grep -c ' site=0')" 1
is "nor has memory that is given back" "$(grep ' segment .*act=free' "$scratch/events" | grep -v -c ' site=0')" 0
"$TR" report "$scratch/whole.run" >"$scratch/text"
ok "in the report's text" grep -q '24 MiB  *3  take_in_public (gpu_job.c:[0-9]*) < sites (gpu_job.c:[0-9]*)' "$scratch/text"

strip -o "$scratch/stripped" "$scratch/whole"
ok "stripped: recorded" small stripped.run "$scratch/stripped"
is "stripped: what is exported has its name, the rest a place in its file" "$(stacks stripped.run | cut -d ' ' -f 1-4 | sed -n 1,2p)" \
"24 3 take_in_public stripped+
4 1 stripped+ stripped+"

rm "$scratch/stripped"
is "the file is gone: places in it" "$(stacks stripped.run | cut -d ' ' -f 1-4 | sed -n 1,2p)" \
"24 3 stripped+ stripped+
4 1 stripped+ stripped+"

cp "$O/tests/sim/cupti_job" "$scratch/whole"
is "another file has taken its place: it is not asked" "$(stacks whole.run | cut -d ' ' -f 1-4 | sed -n 1p)" "24 3 whole+ whole+"

cp "$O/tests/sim/gpu_job" "$scratch/again"
ok "none wanted: recorded" env TRSHIM_SITE_KIB=0 LD_LIBRARY_PATH="$O/sim" TMPDIR="$scratch" "$TR" record -o "$scratch/none" --no-report -- \
    "$scratch/again" sites
is "none wanted: none told" "$("$TR" events "$scratch/none" | grep -c -E ' callsite | site=[1-9]')" 0

clean "nothing is left"
done_testing
