#!/bin/bash
# Golden tests: events in, report out, compared byte by byte. `golden.t NAME...` runs some of them.
# The first comment of each NAME.events says what it proves. After a change that is meant: tests/golden/bless.sh.

. "${0%/*}/../lib/tap.sh"
golden=$root/tests/golden
. "$golden/golden.sh"

compare() { golden_run "$1" "$2" >"$scratch/out" && diff -u "$golden/$1.$2" "$scratch/out"; }
sound() { golden_run "$1" json.expect >"$scratch/$1.json" && "$PYTHON" "$golden/check_json.py" "$scratch/$1.json"; }

[ $# -gt 0 ] || set -- $(cd "$golden" && ls *.events | sed 's/\.events$//')
for name; do
    for kind in expect zh.expect json.expect; do
        [ -e "$golden/$name.$kind" ] && ok "$name.$kind" compare "$name" "$kind"
    done
    [ -e "$golden/$name.expect" ] || fail "$name.expect exists"
    ok "$name: JSON is sound" sound "$name"
done
done_testing
