#!/bin/sh
# The pages of findings agree with the source: every threshold they name is there with the value they give, every page
# has its four parts, and the index has every page.
. "${0%/*}/lib/tap.sh"
cd "$root/docs/findings" || exit 1

# Rows of thresholds.def as "NAME value".
sed -n 's/^TH(\([A-Z0-9_]*\), *\([^,]*\),.*/\1 \2/p' "$root/analysis/pass/thresholds.def" >"$scratch/thresholds"

# Names in parentheses that are no row.
unknown() {
    grep -o '(`[A-Z][A-Z0-9_]*`)' -- *.md | sed 's/.*(`//; s/`)//' | sort -u | while read -r name; do
        grep -q "^$name " "$scratch/thresholds" || echo "$name"
    done
}
is "every threshold named on a page is a row of thresholds.def" "$(unknown)" ""

# "... 5 % (`DATA_SHARE`)": shares and times that stand right before the name must be its value.
wrong() {
    cat -- *.md | tr '\n' ' ' | grep -o '[0-9.,]* \(%\|s\|ms\|KiB\|MiB\|MB/s\) [^0-9(|]\{0,60\}(`[A-Z0-9_]*`)' |
        sed 's/^\([0-9.,]*\) \([^ ]*\) .*(`\([A-Z0-9_]*\)`).*/\1 \2 \3/' | while read -r value unit name; do
        row=$(awk -v name="$name" '$1 == name { print $2 }' "$scratch/thresholds")
        awk -v value="$value" -v unit="$unit" -v row="$row" -v name="$name" 'BEGIN {
            gsub(",", "", value)
            factor = unit == "%" ? 0.01 : unit == "s" ? 1e9 : unit == "ms" ? 1e6 : unit == "KiB" ? 1024 : unit == "MiB" ? 1048576 : 1e6
            if (value * factor - row > 1e-9 * row || row - value * factor > 1e-9 * row)
                print name ": the page says " value " " unit ", the source " row
        }'
    done
}
is "and has the value the page gives" "$(wrong)" ""
[ "$(cat -- *.md | tr '\n' ' ' | grep -o '%[^0-9(|]\{0,60\}(`[A-Z0-9_]*`)' | wc -l)" -gt 5 ] &&
    pass "there are values to compare" || fail "there are values to compare"

for page in [a-z]*.md; do
    id=${page%.md}
    is "$id: is called so" "$(head -n 1 "$page")" "# $id"
    parts=$(grep -c -e '^## How it is decided' -e '^## Look-alikes' -e '^## Fix' "$page")
    is "$id: how it is decided, look-alikes, fix" "$parts" 3
    ok "$id: is in the index" grep -q "($page)" README.md
    ok "$id: has texts" grep -q "^TEXT(\"$id\"" "$root/analysis/report/text_en.def"
done
done_testing
