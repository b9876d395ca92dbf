#!/bin/sh
# Documents that are made from tables, or name files, agree with them.
. "${0%/*}/lib/tap.sh"
cd "$root" || exit 1

# make's own variables must not leak into the make below.
unset MAKEFLAGS MAKELEVEL MFLAGS MAKEOVERRIDES
generator=$O/tools/events_md
if make -s O="$O" "$generator" >/dev/null 2>&1; then
    "$generator" >"$scratch/EVENTS.md"
    ok "docs/EVENTS.md is what traces/events.def says (else: make docs/EVENTS.md)" \
        diff -u docs/EVENTS.md "$scratch/EVENTS.md"
else
    fail "docs/EVENTS.md: its generator can be built"
fi

# Relative links of every document lead to a file.
broken() {
    find . -name '*.md' -not -path './build/*' | while read -r page; do
        grep -o '](\([^)#]*\)' "$page" | cut -c3- | grep -v -e '^[a-z]*:' -e '^$' | while read -r link; do
            [ -e "${page%/*}/$link" ] || echo "$page: $link"
        done
    done
}
is "links in documents lead somewhere" "$(broken)" ""

# The manual has every command that the program has.
commands() { "$TR" --help | awk '/^  [a-z]+ +[A-Za-z]/ && $1 != "trshim" { print $1 }'; }
for command in $(commands); do
    ok "trshim $command --help" "$TR" "$command" --help
    ok "trshim(1) describes $command" grep -q "^\.SS $command\$" "$O/man/trshim.1"
done
done_testing
