# tap.sh - what a shell test needs to speak TAP. Source it first: . "${0%/*}/../lib/tap.sh" (sh and bash).
#
#   root O TR PYTHON   repository, build folder, the trshim binary, the Python with torch (set if make did not)
#   scratch            a folder of the test's own; removed at the end if every check passed, else kept and named
#   ok WHAT CMD...     one check: CMD succeeds. What it printed is shown when it does not
#   is WHAT GOT WANT   one check: two strings are equal
#   fails WHAT CMD...  one check: CMD does not succeed
#   pass, fail WHAT    a check decided by the test itself
#   skip WHAT REASON   a check that cannot be made here
#   skip_all REASON    none of this file's checks can be made here; ends the test
#   note TEXT...       for the reader; no verdict
#   (why a check failed goes to stderr, which prove shows)
#   has_pty            can a terminal be made here? (a bare chroot has none)
#   done_testing       last line of every test

root=$(cd "${0%/*}" && while [ ! -e Makefile ] && [ "$PWD" != / ]; do cd ..; done && pwd)
O=${O:-$root/build}
TR=${TR:-$O/trshim}
PYTHON=${PYTHON:-/usr/bin/python3}
scratch=$(mktemp -d "${TMPDIR:-/tmp}/trshim-test.XXXXXX")
tap_count=0 tap_failed=0

tap_end() {
    tap_status=$?
    if [ "$tap_failed" -eq 0 ] && [ "$tap_status" -eq 0 ]; then rm -rf "$scratch"; else note "kept: $scratch"; fi
}
trap tap_end EXIT

note() { printf '%s\n' "$*" | sed 's/^/# /'; }

pass() {
    tap_count=$((tap_count + 1))
    printf 'ok %d - %s\n' "$tap_count" "$1"
}

fail() {
    tap_count=$((tap_count + 1)) tap_failed=$((tap_failed + 1))
    printf 'not ok %d - %s\n' "$tap_count" "$1"
    note "failed: $1" >&2
}

skip() {
    tap_count=$((tap_count + 1))
    printf 'ok %d - %s # SKIP %s\n' "$tap_count" "$1" "$2"
}

skip_all() {
    printf '1..0 # SKIP %s\n' "$*"
    exit 0
}

ok() {
    tap_what=$1
    shift
    if "$@" >"$scratch/tap.out" 2>&1; then pass "$tap_what"; else
        tap_code=$?
        fail "$tap_what"
        note "status $tap_code: $*" >&2
        note "$(tail -n 20 "$scratch/tap.out")" >&2
    fi
}

fails() {
    tap_what=$1
    shift
    if "$@" >"$scratch/tap.out" 2>&1; then
        fail "$tap_what"
        note "succeeded, and should not: $*" >&2
        note "$(tail -n 20 "$scratch/tap.out")" >&2
    else pass "$tap_what"; fi
}

is() {
    if [ "$2" = "$3" ]; then pass "$1"; else
        fail "$1"
        note "got:  $2" >&2
        note "want: $3" >&2
    fi
}

has_pty() { "$PYTHON" -c 'import pty; pty.openpty()' 2>/dev/null; }

done_testing() {
    printf '1..%d\n' "$tap_count"
    [ "$tap_failed" -eq 0 ]
    exit
}
