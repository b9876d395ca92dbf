#!/bin/bash
# Forks, threads, signals, exec, kill -9, hidden libraries: each scenario of lives.c runs as it does without us, and
# the read at its heart is in the trace, under the process that made it.
. "${0%/*}/../lib/tap.sh"
. "${0%/*}/../lib/events.sh"

libs=$scratch/libs
mkdir -p "$libs/sub" "$scratch/files"
cc=${CC:-gcc}
$cc -D_GNU_SOURCE -shared -fPIC -o "$libs/sub/libreads.so" "$root/tests/shim/libs/reads.c" &&
    cp "$libs/sub/libreads.so" "$libs/libreads.so" && cp "$libs/sub/libreads.so" "$libs/libcudart.so.13" &&
    $cc -D_GNU_SOURCE -shared -fPIC -o "$libs/libnested.so" "$root/tests/shim/libs/nested.c" \
        -Wl,--enable-new-dtags,-rpath,'$ORIGIN/sub' || skip_all "no compiler"
export LIVES_LIBS=$libs
# On a busy machine a new process may find its place in the session too late for its first events: not the point here.
export LTTNG_UST_REGISTER_TIMEOUT=5000

# One recording for all. Each scenario takes itself for the recorded command: by that the core is loaded into it.
cat >"$scratch/run-all.sh" <<END
for s in "\$@"; do
    ( export TRSHIM_ROOT_PID=\$BASHPID
      exec timeout --foreground -k 5 60 true ) # launchers are not recorded: shows below
    ( export TRSHIM_ROOT_PID=\$BASHPID; exec "$O/tests/shim/lives" "\$s" "$scratch/files" >"$scratch/\$s.pid" )
    echo "\$s \$?"
done
"$O/tests/shim/lives" late "$scratch/files" >"$scratch/late.pid" # nobody told that this one is to be recorded
echo "late \$?"
END
scenarios="fork fork_quick grandchild thread fork_of_threads fork_ends_threads vfork spawn exec execv kill handler longjmp cancel
    local_library deepbind_library errors runpath marks"

record "$scratch/run" bash "$scratch/run-all.sh" $scenarios >"$scratch/status"
is "recorded" "$?" 0
note "$(cat "$scratch/record.err")"
named "$scratch/run" >"$scratch/events"

# reads SCENARIO WHOSE: bytes read of the scenario's file by its own process (self), others (child) or all (any).
reads() {
    awk -v name="name=\"$scratch/files/$1\"" -v pid=" pid=$(cat "$scratch/$1.pid") " -v whose="$2" '
        $3 == "file_io" && / op=read / && index($0 " ", " " name " ") {
            own = index($0, pid) > 0
            if ((whose == "self") != own && whose != "any") next
            match($0, / size_bytes=[0-9]+/); sum += substr($0, RSTART + 12, RLENGTH - 12) }
        END { print sum + 0 }' "$scratch/events"
}

for s in $scenarios late; do
    is "$s: ran as it should" "$(awk -v s="$s" '$1 == s { print $2 }' "$scratch/status")" 0
done
for s in thread vfork spawn exec execv longjmp cancel local_library runpath; do
    is "$s: the read is its own" "$(reads $s self)" 640
done
for s in fork fork_quick grandchild kill; do
    is "$s: the read is the child's" "$(reads $s child)" 640
done
is "fork_of_threads: every child's read" "$(reads fork_of_threads child)" $((20 * 640))
is "fork_ends_threads: the read of the thread and the child's" "$(reads fork_ends_threads self) $(reads fork_ends_threads child)" "640 640"
is "errors: both reads" "$(reads errors self)" $((2 * 640))
ok "late: recorded from then on, on all threads" test "$(reads late self)" -ge 6400
is "late: told so" "$(grep -c " proc pid=$(cat "$scratch/late.pid") .*how=late" "$scratch/events")" 1
is "marks: ten steps" "$(grep -c ' anchor .*kind=mark .*nr=10[0-9]' "$scratch/events")" 10
is "marks: the reads between them" "$(reads marks self)" 6400
is "fork_quick: its exit status" \
    "$(grep -c " exit pid=[0-9]* .*how=quick status=7" "$scratch/events")" 1
is "exec: told before it happens" "$(grep -cE ' exec .*path="?(/bin/)?true"?$' "$scratch/events")" 2
is "nothing of LTTng's own threads" "$(grep -cE 'lttng-ust-sock|lttng-ust-wait' "$scratch/events")" 0
# RTLD_DEEPBIND binds the library's calls to libc itself: nobody can see them, and the job must not notice.
is "deepbind_library: out of sight" "$(reads deepbind_library self)" 0
done_testing
