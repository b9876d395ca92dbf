#!/bin/sh
# The simulated CUPTI keeps the real one's habits: who is called on which thread, what comes when, what goes wrong.
. "${0%/*}/../lib/tap.sh"
job=$O/tests/sim/cupti_job
[ -x "$job" ] || skip_all "not built: $job (make sim)"

# watch NAME LIBRARY [HABITS]: runs the job, leaves what it printed in $scratch/NAME
watch() {
    SIM_CUPTI=${3:-} LD_LIBRARY_PATH=$O/sim "$job" "$2" >"$scratch/$1" 2>"$scratch/$1.err"
}
# count NAME PATTERN
count() { grep -c -E "$2" "$scratch/$1"; }

for lib in 13:130000 12:26 11.8:18; do
    name=libcupti.so.${lib%%:*}
    ok "$name: the job runs" watch all "$name" nothread
    is "$name: claims version ${lib#*:}" "$(grep '^version' "$scratch/all")" "version 0 ${lib#*:}"
    is "$name: every kernel, with the length it was told" "$(count all '^kernel name=stub .* length=123456 .* grid=7 ')" 100
    is "$name: kernels of a stream follow each other" \
        "$(sed -n 's/^kernel .* start=\([0-9]*\) .*/\1/p' "$scratch/all" | sort -n | uniq | wc -l)" 100
    is "$name: the copy, from pageable to device memory" "$(count all '^copy kind=1 from=1 to=3 bytes=64 ')" 1
    is "$name: the fill" "$(count all '^set value=3 bytes=1000$')" 1
    is "$name: the allocation and its release" \
        "$(grep '^memory' "$scratch/all" | cut -d ' ' -f 2-4 | tr '\n' ' ')" \
        "operation=1 kind=3 bytes=1048576 operation=2 kind=3 bytes=1048576 "
    is "$name: the waits for the stream and for the device" "$(grep '^sync' "$scratch/all" | tr '\n' ' ')" "sync type=3 sync type=4 "
    is "$name: buffers are asked for on the job's thread" "$(count all '^request on another')" 0
    is "$name: a full buffer comes on a thread of CUPTI's" "$(count all '^buffer .* on another thread')" \
        "$(($(count all '^buffer') - 1))"
    is "$name: the second subscriber is refused" "$(grep '^subscribe again' "$scratch/all")" "subscribe again 39"
    is "$name: launches call back, before and after, with the kernel's name after" \
        "$(count all '^callback cbid=211 site=0 ') $(count all '^callback cbid=211 site=1 .* symbol=stub ')" "100 100"
    is "$name: callbacks and kernels have the same correlation ids" \
        "$(sed -n 's/^callback .* correlation=//p' "$scratch/all" | sort -u | wc -l)" \
        "$( (sed -n 's/^callback .* correlation=//p' "$scratch/all"; sed -n 's/^kernel .* correlation=\([0-9]*\) .*/\1/p' "$scratch/all") |
            sort -u | wc -l)"
done
is "single calls can be asked for from 12.5 on" "$(grep '^enable call' "$scratch/all")" "enable call 27"

watch late libcupti.so.13 late=150
is "late: nothing has come when the flush returns" "$(sed '/^flush/q' "$scratch/late" | grep -c '^kernel')" 0
is "late: all has come a little later" "$(count late '^kernel')" 100

watch zero libcupti.so.13 zero=10
is "zero: every tenth kernel has no times" "$(count zero '^kernel .* start=0 length=0 ')" 10

watch drop libcupti.so.13 drop=50
lost=$(sed -n 's/^dropped //p' "$scratch/drop")
ok "drop: lost records are counted" test "$lost" -ge 3
is "drop: what is lost is missing" "$(($(count drop '^kernel') < 100))" 1

watch taken libcupti.so.13 taken
is "taken: another tool has the subscription" "$(grep '^subscribe ' "$scratch/taken" | head -n 1)" "subscribe 39"
is "taken: activity records come all the same" "$(count taken '^kernel')" 100

watch none libcupti.so.13 nodriver
is "no driver: version and registration work" "$(grep -E '^(version|register) ' "$scratch/none" | tr '\n' ' ')" \
    "version 0 130000 register 0 "
is "no driver: everything else is unknown" "$(count none '^(enable|subscribe).* 999$')" 8
is "no driver: nothing comes" "$(count none '^(kernel|buffer|request)')" 0
done_testing
