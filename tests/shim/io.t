#!/bin/sh
# Every hooked call on files is in the trace, with its bytes, under its directory or file.
. "${0%/*}/../lib/tap.sh"
. "${0%/*}/../lib/events.sh"

mkdir "$scratch/files"
record "$scratch/run" "$O/tests/shim/io_calls" "$scratch/files" >"$scratch/expected"
is "the calls return what they should" "$?" 0
[ -s "$scratch/expected" ] || note "$(cat "$scratch/record.err")"
named "$scratch/run" >"$scratch/events"

while read -r event op bytes path; do
    found=$(awk -v e="$event" -v op="op=$op" -v name="name=\"$path\"" '
        $3 == e && index($0, " " op " ") && index($0 " ", " " name " ") && match($0, / size_bytes=[0-9]+/) {
            sum += substr($0, RSTART + 12, RLENGTH - 12); n++ }
        END { print n ? sum : "none" }' "$scratch/events")
    is "$event $op of $path" "$found" "$bytes"
done <"$scratch/expected"
done_testing
