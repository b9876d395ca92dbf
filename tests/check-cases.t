#!/bin/sh
# docs/CASES.md and the tests agree: each case has one row, a row names tests that exist, say `Case ID` and know its
# findings, or says what is missing; a test that says `Case ID` is named there. Where the cases are at hand, there is a
# row for each of them and no other, and a log that is read has its expectation.
. "${0%/*}/lib/tap.sh"
list=$root/docs/CASES.md
cases=$root/../shared/cases

# "id|findings|test" of each row, test as NAME NAME... or "not yet: ...".
sed -n '/^|/p' "$list" | grep -v -e '^| case ' -e '^|---' | awk -F'|' '{
    gsub(/^ +| +$/, "", $2); gsub(/[` ]+/, " ", $4); gsub(/^ +| +$/, "", $4)
    test = $5
    gsub(/^ +| +$/, "", test)
    while (match(test, /\[[^]]*\]\(\.\.\/[^)]*\)/)) {
        link = substr(test, RSTART, RLENGTH)
        sub(/^.*\(\.\.\//, "", link); sub(/\)$/, "", link)
        test = substr(test, 1, RSTART - 1) link substr(test, RSTART + RLENGTH)
    }
    print $2 "|" $4 "|" test
}' >"$scratch/rows"
[ "$(wc -l <"$scratch/rows")" -gt 50 ] && pass "there is a list" || fail "there is a list"
is "no case has two rows" "$(cut -d'|' -f1 "$scratch/rows" | sort | uniq -d)" ""

# What a test says on a case: the events and their report for golden ones, else the source.
text_of() { case $1 in *.events) cat "$root/$1" "$root/${1%.events}.expect" ;; *) cat "$root/$1" ;; esac; }

while IFS='|' read -r id findings tests; do
    case $tests in
    'not yet: '?*) continue ;;
    '' | 'not yet'*) fail "$id: has a test, or what is missing"; continue ;;
    esac
    text=
    for test in $tests; do
        [ -e "$root/$test" ] || { fail "$id: $test exists"; continue; }
        text="$text$(text_of "$test")"
        [ "$test" = tests/reader/nccl_log.t ] || ok "$id: $test says so" grep -q "Case $id\([^0-9a-z-]\|\$\)" "$root/$test"
    done
    case $tests in *nccl_log.t*) [ -e "$cases/expect.json" ] || continue; text=$(grep -F "\"$id.log\"" "$cases/expect.json") ;; esac
    for finding in $findings; do
        ok "$id: its test knows $finding" sh -c 'case $1 in *"$2"*) ;; *) exit 1 ;; esac' - "$text" "$finding"
    done
    [ -n "$text" ] && pass "$id: is read by its test" || fail "$id: is read by its test"
done <"$scratch/rows"

unlisted() {
    grep -ro 'Case [a-z][a-z0-9-]*-[0-9][0-9]*[a-z-]*' "$root/tests" --include='*.c' --include='*.events' --include='*.t' \
        --include='*.json' | sort -u | while IFS=: read -r file id; do
        id=${id#Case } file=${file#"$root"/}
        grep -q "^$id|.*$file" "$scratch/rows" || echo "$id is not said to be covered by $file"
    done
}
is "every test that says Case ID is in the list" "$(unlisted)" ""

if [ ! -e "$cases/cases.jsonl" ]; then skip "the list is that of the cases" "no ../shared/cases here"; else
    "$PYTHON" -c 'import json, sys
for line in open(sys.argv[1], encoding="utf-8"):
    print(json.loads(line)["id"])' "$cases/cases.jsonl" | sort >"$scratch/want"
    cut -d'|' -f1 "$scratch/rows" | sort >"$scratch/got"
    ok "the list is that of the cases" diff -u "$scratch/want" "$scratch/got"
fi
done_testing
