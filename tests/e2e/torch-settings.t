#!/bin/bash
# A PyTorch job in many settings: what the report says of its steps is what the job's own timers say, and the finding
# is the right one. `torch-settings.t NAME...` runs only those settings; NAME-waits is NAME with PyTorch's ranges off.
# ALL=1: all of them; otherwise those are left out (a minute) whose ground others cover too.

. "${0%/*}/../lib/tap.sh"
. "$root/tests/lib/torchjob.sh"

# name | steps and load | findings that must be there | findings that may be | checks left out
# fast-pinned: a training thread that is off the CPU inside queue.get(), outside any range, looks as if it computed.
# checkpoint-copy: while its writer holds the GIL, training is blocked on the checkpoint for the report, and computes for
# the job's timers. That is within the tolerance of the shares, and beyond it in the few windows concerned.
settings='
fast-files        | --workers 2 --hidden 64                                                           |                   |
fast-inline       | --workers 0 --data packed --hidden 64                                             |                   |
fast-pinned       | --workers 2 --data packed --pin-thread --hidden 64                                |                   |  | each
fast-epochs       | --workers 2 --batch 128 --eval-every 15                                           |                   |
slow-sleep        | --workers 4 --delay 15ms --delay-kind sleep                                       | dataloader-bound  |
slow-inline       | --workers 0 --delay 1ms --delay-kind cpu                                          | dataloader-bound  |
slow-cpu          | --workers 2 --delay 4ms --delay-kind cpu                                          | dataloader-bound  |
slow-read         | --workers 2 --delay 6ms --delay-kind read                                         | dataloader-bound  | storage-slow
slow-store        | --workers 4 --data http --store-delay 15ms                                        | dataloader-bound  | storage-slow
spawn-packed      | --workers 2 --start-method spawn --data packed --delay 6ms                        | dataloader-bound  |
accumulate        | --workers 2 --accumulate 3 --delay 4ms --pin-thread --steps 30                    | dataloader-bound  |
checkpoint-sync   | --workers 2 --checkpoint-every 10 --checkpoint-size 128 --hidden 64               | checkpoint-sync   |
checkpoint-async  | --workers 2 --checkpoint-every 20 --checkpoint-size 16 --checkpoint async --hidden 64 |               |
checkpoint-copy   | --workers 2 --checkpoint-every 10 --checkpoint-size 128 --checkpoint async --hidden 64 | checkpoint-sync | | each
checkpoint-unsafe | --workers 2 --start-method forkserver --checkpoint-every 10 --keep 1 --unsafe --hidden 64 | checkpoint-unsafe | checkpoint-retention
'
also_covered='fast-inline fast-epochs slow-inline slow-read checkpoint-async slow-store-waits spawn-packed-waits'
# Ranges switched off: the waits of the training thread alone must tell, within 0.05.
without_ranges='slow-sleep slow-store spawn-packed accumulate'

row() { printf '%s\n' "$settings" | sed -n "s/^$1  *| *//p"; }
column() { printf '%s' "$1" | cut -d '|' -f "$2" | tr -d ' '; }

run() {
    local name=$1 dir=$2 options
    shift 2
    read -ra options <<<"$(row "$name" | cut -d '|' -f 1)"
    env "$@" "$TR" record -o "$dir" --no-report -- "${train[@]}" "${data_options[@]}" --steps 40 --hidden 32 \
        --checkpoint-every 0 "${options[@]}" --truth "$dir.truth" >"$dir.log" 2>&1
}

setting() {
    local name=$1 dir=$scratch/$1
    ok "$name: the job runs and is recorded" run "$name" "$dir" TRSHIM_RANGES=1
    if ! report "$dir"; then
        fail "$name: a report"
        note "$(tail -n 20 "$dir.log")"
        return
    fi
    for check in steps sums totals each; do
        [ "$(column "$(row "$name")" 4)" = $check ] && continue
        ok "$name: $check" judge --check $check "$dir.json" "$dir.truth"
    done
    ok "$name: findings" judge --check findings --expect "$(column "$(row "$name")" 2)" \
        --allow "$(column "$(row "$name")" 3)" "$dir.json" "$dir.truth"
}

setting_without_ranges() {
    local name=$1 dir=$scratch/$1-waits
    ok "$name without ranges: the job runs and is recorded" run "$name" "$dir" TRSHIM_RANGES=0
    if ! report "$dir"; then
        fail "$name without ranges: a report"
        return
    fi
    ok "$name without ranges: totals" judge --check totals --tolerance 0.05 "$dir.json" "$dir.truth"
}

need_recorder
names=$(printf '%s\n' "$settings" | sed -n 's/ *|.*//p')
ok "data set" make_data
left_out() { [ $# -eq 1 ] && [ -z "${ALL:-}" ] && case " $also_covered " in *" $1 "*) ;; *) false ;; esac; }
for name in ${*:-$names}; do
    [ $# -eq 0 ] && left_out "$name" && continue
    [ -n "$(row "${name%-waits}")" ] || { fail "no setting $name"; continue; }
    case $name in
    *-waits) setting_without_ranges "${name%-waits}" ;;
    *) setting "$name" ;;
    esac
done
if [ $# -eq 0 ]; then
    for name in $without_ranges; do left_out "$name-waits" || setting_without_ranges "$name"; done
fi
done_testing
