#!/bin/sh
# The tests of what can be linked with sanitizers, again under them; the analyzer under valgrind on a golden input.
. "${0%/*}/lib/tap.sh"
cd "$root" || exit 1
# make's own variables must not leak into the makes below.
unset MAKEFLAGS MAKELEVEL MFLAGS MAKEOVERRIDES SAN

for target in check-san check-tsan; do
    ok "make $target" make -s -j2 O="$O" "$target"
done

input=$(find tests/golden -name '*.events' | sort | head -n 1)
if ! command -v valgrind >/dev/null; then
    skip "valgrind: report on a golden input" "no valgrind"
elif [ -z "$input" ]; then
    fail "valgrind: there is a golden input"
else
    ok "valgrind: report on ${input##*/}" valgrind -q --error-exitcode=9 --leak-check=full \
        --errors-for-leak-kinds=definite --trace-children=no "$TR" report --json "$input"
fi
done_testing
