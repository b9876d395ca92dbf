#!/bin/sh
# format.sh [--check] FILE... - clang-format with the version that .clang-format was written for.
#
# Other versions lay out a few constructs in another way: rather than fight, say so and leave the files alone.
set -eu
wanted=14
mode=-i
[ "${1:-}" != --check ] || { mode=--dry-run; shift; }

version=$("${CLANG_FORMAT:-clang-format}" --version 2>/dev/null | sed -n 's/.*version \([0-9]*\).*/\1/p') || :
if [ "${version:-none}" != "$wanted" ]; then
    echo "format: skipped, needs clang-format $wanted and found ${version:-none} (package clang-format-$wanted)"
    exit 0
fi
if [ "$mode" = --dry-run ]; then exec "$CLANG_FORMAT" --dry-run -Werror "$@"; else exec "$CLANG_FORMAT" -i "$@"; fi
