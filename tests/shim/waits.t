#!/bin/sh
# Waits of every kind are in the trace: how long, for what, and who ended them.
. "${0%/*}/../lib/tap.sh"
. "${0%/*}/../lib/events.sh"

record "$scratch/run" "$O/tests/shim/waits" >"$scratch/expected"
is "every wait ends as it should" "$?" 0
named "$scratch/run" >"$scratch/events"

nr=0
while read -r a b c d e f; do
    nr=$((nr + 1))
    if [ "$a" = io ]; then # io EVENT OP BYTES KEY VALUE
        found=$(awk -v e="$b" -v op=" op=$c " -v size=" size_bytes=$d " -v key=" $e=\"?$f\"? " \
            '$3 == e && index($0, op) && index($0, size) && $0 " " ~ key { n++ } END { print n + 0 }' "$scratch/events")
        is "$nr: $b $c, $d bytes, $e $f" "$found" 1
    else # KIND LOWEST_MS HIGHEST_MS OBJ WAKER
        found=$(awk -v kind=" kind=$a " -v low="$b" -v high="$c" -v obj="$d" -v waker="$e" '
            function num(key) { return match($0, " " key "=[0-9]+") ? substr($0, RSTART + length(key) + 2, RLENGTH - length(key) - 2) : "" }
            $3 == "wait" && index($0, kind) && (obj == "any" || num("obj") == obj) && num("waker") == waker &&
                num("dur_ns") + 0 >= low * 1e6 && num("dur_ns") + 0 <= high * 1e6 { n++ }
            END { print n + 0 }' "$scratch/events")
        ok "$nr: wait kind=$a obj=$d waker=$e ($found found)" test "$found" -ge 1
    fi
done <"$scratch/expected"
is "the condition's slices are one wait" "$(grep -cE ' wait .*kind=cond .*count=[456] ' "$scratch/events")" 1
done_testing
