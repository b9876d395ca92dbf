#!/bin/sh
# babeltrace2's own test traces (shared/cases/traces/ctf), none by trshim: each is counted event by event or gives a
# problem line, and the counts are babeltrace2's.
. "${0%/*}/../lib/tap.sh"

cases=$root/../shared/cases/traces/ctf
[ -d "$cases" ] || skip_all "no ../shared/cases/traces/ctf here"
command -v babeltrace2 >/dev/null || skip_all "babeltrace2 is not installed"

TMPDIR=$scratch/tmp
export TMPDIR
mkdir "$TMPDIR"

sum() { awk -v word="$1" '$1 == word { n += $3 } END { print n + 0 }' "$scratch/out"; }

find "$cases" -name metadata | sort >"$scratch/list"
while read -r metadata; do
    dir=${metadata%/metadata}
    name=${dir#"$cases"/}
    "$TR" events "$dir" >"$scratch/out" 2>"$scratch/err"
    is "$name: status" $? 0
    is "$name: a problem, in one line" "$(grep -c '^problem "' "$scratch/out") $(grep -c '^trshim: Not all was read' "$scratch/err")" "1 1"
    if ! babeltrace2 "$dir" >"$scratch/bt" 2>"$scratch/bt.err"; then
        note "$name: babeltrace2 cannot read it either"
        continue
    fi
    is "$name: events" "$(sum unknown)" "$(wc -l <"$scratch/bt" | tr -d ' ')"
    # "WARNING: Tracer discarded 3 events/packets between ..."; a number it does not know is counted as 1.
    is "$name: losses" "$(sum lost)" \
        "$(sed -n 's/.*Tracer \(discarded\|may have discarded\) \([0-9]*\).*/\2/p' "$scratch/bt.err" | awk '{ n += $1 ? $1 : 1 } END { print n + 0 }')"
done <"$scratch/list"

"$TR" events "$cases" >"$scratch/out" 2>"$scratch/err"
is "all at once: status" $? 0
is "all at once: nobody left" "$(ls "$TMPDIR")" ""
done_testing
