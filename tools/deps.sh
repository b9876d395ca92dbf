#!/bin/sh
# deps.sh - what trshim needs from the system, and how to get it. `make deps` runs it.
#
#   deps.sh            install what is missing (Debian, Ubuntu); says what, before it does; silent when nothing is
#   deps.sh --check    install nothing: name what the build lacks, exit 1
#   deps.sh --list     print the table
#
# The table is the only place that names packages. The names are the same in Debian 12 and 13 and in Ubuntu 22.04
# and 24.04 (there: universe); 24.04 has no python3-torch. A row is: need, probe, package, what for.
#   need     build  nothing compiles without it      check  the tests and the demo use it
#            maybe  used when it is there: what needs it is skipped, with the reason
#   probe    cmd:NAME on PATH   pc:MODULE of pkg-config   hdr:HEADER of the compiler   py:MODULE of $PYTHON
#            lib:NAME that the loader finds
# A probe, not the package database, decides: what was built from source counts as well.
set -u

table() {
    cat <<'TABLE'
build cmd:gcc              gcc                  compiler
build cmd:make             make                 build
build hdr:stdio.h          libc6-dev            C library headers
build cmd:pkg-config       pkg-config           finds the libraries below
build pc:lttng-ust         liblttng-ust-dev     tracepoints of the recorder
build pc:lttng-ctl         liblttng-ctl-dev     sessions of `trshim record`
build pc:babeltrace2       libbabeltrace2-dev   reads traces
build pc:yajl              libyajl-dev          writes JSON
build pc:zlib              zlib1g-dev           reads compressed input
build pc:libdw            libdw-dev            names of functions at call sites
check cmd:lttng-sessiond   lttng-tools          the daemon that `trshim record` starts, privately
check cmd:babeltrace2      babeltrace2          the reference reader
check pc:cmocka            libcmocka-dev        unit tests
check cmd:prove            perl                 runs the tests
check cmd:diff             diffutils            golden tests
check cmd:ps               procps               tests that nothing is left behind
check cmd:readelf          binutils             symbol checks
check py:json              python3              checks JSON
maybe py:torch             python3-torch        demo-torch, and the tests on a real PyTorch job
maybe lib:libunwind.so.8   libunwind8           call stacks of device memory, when recording
maybe cmd:valgrind         valgrind             one run of the analyzer under valgrind
TABLE
}

PYTHON=${PYTHON:-/usr/bin/python3}
mode=${1:-install}

say() { printf '%s\n' "deps: $*"; }
die() { printf '%s\n' "deps: $*" >&2; exit 1; }

probe() {
    case $1 in
    cmd:lttng-sessiond) command -v lttng-sessiond || [ -x /usr/bin/lttng-sessiond ] ;;
    cmd:*) command -v "${1#cmd:}" ;;
    pc:*) pkg-config --exists "${1#pc:}" ;;
    lib:*) "$PYTHON" -c "import ctypes, sys; ctypes.CDLL(sys.argv[1])" "${1#lib:}" ;;
    hdr:*) echo "#include <${1#hdr:}>" | gcc -E - ;;
    py:*) "$PYTHON" -c "import importlib.util as u, sys; sys.exit(u.find_spec('${1#py:}') is None)" ;;
    esac >/dev/null 2>&1
}

# Prints "need package" of each row whose probe fails, for the needs given as one pattern.
missing() {
    table | while read -r need what package _; do
        case " $* " in *" $need "*) probe "$what" || echo "$need $package" ;; esac
    done
}

packages() { awk '{ printf "%s%s", sep, $2; sep = " " } END { if (NR) print "" }'; }

as_root() {
    if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi
}

apt_install() {
    # shellcheck disable=SC2086 # one word per package is wanted
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y install --no-install-recommends $* </dev/null
}

available() { apt-cache --quiet policy "$1" 2>/dev/null | grep -q '^  Candidate: [0-9]'; }

all_available() {
    for package in "$@"; do available "$package" || return 1; done
}

install() {
    lacking=$(missing build check maybe)
    [ -n "$lacking" ] || return 0
    needed=$(printf '%s\n' "$lacking" | grep -v '^maybe ' | packages)
    wanted=$(printf '%s\n' "$lacking" | grep '^maybe ' | packages)

    if ! command -v apt-get >/dev/null; then
        [ -n "$needed" ] || { say "not here, what needs it is skipped: $wanted"; return 0; }
        die "no apt-get here. Install what these Debian packages hold, then try again: $needed"
    fi
    if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; then
        [ -n "$needed" ] || { say "not here, what needs it is skipped: $wanted"; return 0; }
        die "not root and no sudo. Run as root: apt-get install --no-install-recommends $needed"
    fi

    # shellcheck disable=SC2086
    all_available $needed $wanted || {
        say "updating the package lists"
        as_root apt-get -q update </dev/null || die "apt-get update failed: see above; is there a network?"
    }
    list=$needed
    for package in $wanted; do
        if available "$package"; then list="$list $package"
        else say "$package is not in this release: what needs it is skipped"; fi
    done
    [ -n "$list" ] || return 0

    say "installing: $list"
    case " $list " in *" lttng-tools "*)
        say "lttng-tools may start its system-wide lttng-sessiond; trshim never uses that one" ;;
    esac
    # A list that is old names files that are gone: one more try with a fresh one.
    apt_install "$list" || {
        as_root apt-get -q update </dev/null
        apt_install "$list" || die "apt-get could not install: $list"
    }
    still=$(missing build check | packages)
    [ -z "$still" ] || die "installed, and yet not found: $still"
}

check() {
    still=$(missing build | packages)
    [ -z "$still" ] || die "cannot build: missing $still. Run \`make deps\`, or install them yourself."
}

case $mode in
install) install ;;
--check) check ;;
--list) table ;;
*) die "unknown argument: $mode (none, --check or --list)" ;;
esac
