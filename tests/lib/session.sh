# session.sh - what tests of `trshim record` share. Source it after tap.sh.
#
#   record ARG...      trshim record, without the core and with its runtime directory in the scratch folder
#   chatty             a job that emits known events (tests/e2e/chatty.c)
#   ranges DIR         the numbers of the `range` events in a trace, in order
#   count_ranges DIR   how many
#   anchors DIR        the numbers of the `anchor` events
#   saying CMD...     what CMD prints goes to $scratch/said, for `ok`
#   clean WHAT         one check: no process, socket, directory or shared memory of this test is left
#   wait_for SECONDS CMD...   until CMD succeeds
#   pids_of PATTERN    processes whose command line has PATTERN and the scratch folder's runtime directory or its files
#
# Every test has a runtime directory of its own, so that tests can run beside each other and beside a user's sessions.

run=$scratch/run
mkdir -p "$run"
chmod 755 "$scratch" "$run"
TRSHIM_RUNTIME_DIR=$run
export TRSHIM_RUNTIME_DIR
words_before=$(ls /dev/shm)
unset TRSHIM_HOME LTTNG_HOME XDG_RUNTIME_DIR
chatty=$O/tests/e2e/chatty

CHATTY_WAIT_MS=5000
export CHATTY_WAIT_MS

record() { TRSHIM_CORE='' "$TR" record "$@"; }

saying() { "$@" >"$scratch/said" 2>&1; }

need_lttng() {
    command -v lttng-sessiond >/dev/null || skip_all "lttng-sessiond is not installed (make deps)"
    [ -x "$chatty" ] || skip_all "$chatty is not built (make tests)"
}

ranges() { babeltrace2 "$@" 2>"$scratch/bt2.err" | sed -n 's/.* trshim:range: .* name = \([0-9]*\),.*/\1/p'; }
count_ranges() { ranges "$@" | wc -l | tr -d ' '; }
anchors() { babeltrace2 "$@" 2>/dev/null | sed -n 's/.* trshim:anchor: .* nr = \([0-9]*\),.*/\1/p'; }

# Processes that carry the runtime directory in command line or environment: daemons, keepers, jobs.
pids_of() {
    grep -slF -- "$run" /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | cut -d/ -f3 | sort -nu | while read -r pid; do
        tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline" | grep -q -e "$1" && echo "$pid"
    done
}

wait_for() {
    wait_left=$(($1 * 20))
    shift
    until "$@" >/dev/null 2>&1; do
        wait_left=$((wait_left - 1))
        [ "$wait_left" -gt 0 ] || return 1
        sleep 0.05
    done
}

nothing_left() {
    left=$(pids_of 'lttng-\|trshim record\|trshim start')
    for pid in $left; do echo "process $pid: $(tr '\0' ' ' <"/proc/$pid/cmdline")"; done
    files=$(find "$run" -mindepth 1)
    [ -z "$files" ] || echo "files: $files"
    words=
    for word in /dev/shm/lttng-ust-wait-8-2[0-9]*; do
        [ -e "$word" ] && [ ! -d "/proc/$((${word##*-} - 2000000000))" ] || continue
        case "$words_before" in *"${word##*/}"*) ;; *) words="$words $word" ;; esac
    done
    [ -z "$words" ] || echo "shared memory:$words"
    [ -z "$left$files$words" ]
}

clean() {
    wait_for 5 nothing_left
    ok "$1" nothing_left
}
