#!/bin/bash
# GPU times by every CUPTI there is: launch times by records of single calls, by callbacks and from records of all calls;
# the job's own truth is met with each. Beside other users of CUPTI; with records lost; with graphs.
. "${0%/*}/../lib/tap.sh"
. "$root/tests/lib/session.sh"
. "$root/tests/lib/simjob.sh"

need_node
job=$O/tests/sim/gpu_job
[ -x "$job" ] || skip_all "not built: $job (make sim)"

# small NAME HABITS JOB: the events of one of gpu_job's jobs, in $scratch/NAME.events
small() {
    SIM_CUPTI=$2 LD_LIBRARY_PATH=$O/sim TMPDIR=$scratch timeout 60 "$TR" record -o "$scratch/$1" --no-report -- "$job" "$3" 2>"$scratch/said" &&
        "$TR" events "$scratch/$1" >"$scratch/$1.events"
}
# n NAME PATTERN
n() { grep -c -E -- "$2" "$scratch/$1.events"; }
how() { sed -n 's/.* key=gpu.recorder value="\(.*\)"$/\1/p' "$scratch/$1.events" | tail -n 1; }
# known NAME: kernels, copies, memsets; in brackets those without launch time or thread
known() {
    local kind all without
    for kind in kernel gpu_copy gpu_set; do
        all=$(n "$1" " $kind ")
        without=$(grep " $kind " "$scratch/$1.events" | grep -c -E ' tid=0 | queued_ns=0 ')
        printf '%s(%s) ' "$all" "$without"
    done
}

# release | CUDA of simtrain, none: only the small job | how launch times are got
versions='
11.8       | 12 | CUPTI 18, launches by callbacks
11.8,taken | 12 | CUPTI 18, launches from records of all calls
12.0       |    | CUPTI 19, launches by callbacks
12.4       | 12 | CUPTI 22, launches by callbacks
12.5       |    | CUPTI 23
12.9       |    | CUPTI 27
13.4       | 13 | CUPTI 130400
'
while IFS='|' read -r version cuda want; do
    version=${version// /} cuda=${cuda// /} want=${want# }
    [ -n "$version" ] || continue
    small "launches.$version" "version=$version" launches
    is "$version: launch times" "$(how "launches.$version")" "$want"
    is "$version: all is told, with its thread and when it was asked for" "$(known "launches.$version")" "30(0) 3(0) 3(0) "
    [ -n "$cuda" ] || continue
    export SIM_CUPTI=version=$version
    recorded() { run "$version" --ranks 2 --steps 20 --marks nvtx; }
    ok "$version: simtrain is recorded" saying recorded
    ok "$version: steps" judge "$version" --check steps
    ok "$version: sums" judge "$version" --check sums
    # what a busy machine delays, and only that, gets a second run
    agrees() { judge "$version" --check totals || { rm -rf "${scratch:?}/$version"; recorded && judge "$version" --check totals; }; }
    ok "$version: totals" agrees
    unset SIM_CUPTI
done <<<"$versions"

fails "a version that is none is said" env SIM_CUPTI=version=9.0 LD_LIBRARY_PATH="$O/sim" "$O/tests/sim/cupti_job" libcupti.so.12

# The one place for callbacks is given up to who asks for it, and taken again after it.
ok "callbacks of the job's own: not refused" small subscribe version=11.8 subscribe
is "callbacks of the job's own: ours have launch times all the while" "$(known subscribe)" "30(0) 3(0) 3(0) "
ok "activities of the job's own: it gets them" small register version=11.8 register
is "activities of the job's own: before and after it all is told" "$(known register)" "20(0) 2(0) 2(0) "

# A graph: 3 kernels before it, 3 kernels and a copy at each of 5 launches, a product's kernel and 4 kernels after it.
for version in 13.0 11.8; do
    ok "graph, $version: the job runs" small "capture.$version" "version=$version" capture
    is "graph, $version: all is told, with its thread and launch" "$(known "capture.$version")" "23(0) 5(0) 0(0) "
    is "graph, $version: kernels of its launches carry its id" "$(grep ' kernel ' "$scratch/capture.$version.events" | grep -v -c ' graph=0 ')" 15
    is "graph, $version: each launch has its own correlation" \
        "$(grep ' kernel ' "$scratch/capture.$version.events" | sed -n '/ graph=[1-9]/s/.* correlation=\([0-9]*\) .*/\1/p' | sort | uniq -c | awk '{ print $1 }' | tr '\n' ' ')" "3 3 3 3 3 "
    is "graph, $version: its products are work at each launch" "$(sed -n 's/.* gemm .* flop=\([0-9]*\) .*/\1/p' "$scratch/capture.$version.events" | tr '\n' ' ')" \
        "65536 65536 65536 65536 65536 1024 "
    # by the tender and at the end
    ok "graph, $version: what was captured holds nothing back" awk '
        $3 == "kernel" && match($0, / start_ns=[0-9]+/) { last = substr($0, RSTART + 10, RLENGTH - 10) + 0 }
        $3 == "gpu_until" && match($0, / until_ns=[0-9]+/) { good += last && substr($0, RSTART + 10, RLENGTH - 10) + 0 > last }
        END { exit good < 2 }' "$scratch/capture.$version.events"
done

# The same as a whole: one piece for each launch.
export TRSHIM_GRAPHS=launches
ok "whole graphs: the job runs" small whole version=12.4 capture
is "whole graphs: each launch is one piece, and its copy is in it" "$(known whole)" "13(0) 0(0) 0(0) "
is "whole graphs: with id and length" "$(grep ' kernel ' "$scratch/whole.events" | grep ' graph=[1-9]' | grep -c ' dur_ns=[1-9]')" 5
ok "whole graphs: the report says so" sh -c "'$TR' report --json '$scratch/whole' | grep -q '\"whole-graphs\"'"
unset TRSHIM_GRAPHS

# Lost records.
small zero zero=3 launches
is "records without times are counted" "$(sed -n 's/.* gpu_lost .* untimed=\([0-9]*\) .*/\1/p' "$scratch/zero.events" | tail -n 1)" 10
SIM_CUPTI=drop=20 saying run drop --ranks 2 --steps 30 --marks nvtx
"$TR" events "$scratch/drop" >"$scratch/drop.events"
ok "records that CUPTI dropped are told" test "$(n drop ' gpu_lost .*dropped=[1-9]')" -ge 2
ok "the report counts them and lowers what it claims" "$PYTHON" - "$scratch/drop.json" <<'END'
import json, sys
report = json.load(open(sys.argv[1]))
quality = [f for f in report["findings"] if f["id"] == "trace-quality"]
assert report["quality"]["gpu_lost"] > 100, report["quality"]
assert any("dropped by CUPTI" in line for f in quality for line in f["evidence"]), quality
END
"$TR" report "$scratch/drop" >"$scratch/drop.txt"
ok "so does its text" grep -q "GPU records lost" "$scratch/drop.txt"

clean "nothing is left"
done_testing
