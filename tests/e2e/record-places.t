#!/bin/sh
# Where recording must work: as root in both ways, as an ordinary user without HOME or name, with a read-only root file
# system, a small /dev/shm, as process 1, beside a session daemon of the machine.
. "${0%/*}/../lib/tap.sh"
. "${0%/*}/../lib/session.sh"
need_lttng

identity() { sed -n 's/.*"identity": "\(.*\)",/\1/p' "$1"/*/session.json; }
owners() { find "$1" -printf '%u\n' | sort -u | tr '\n' ' '; }
modes() { stat -c %a "$1" "$1"/* | sort -u; }

record -q --no-report -o "$scratch/here" -- "$chatty" 300 >/dev/null
is "as we are" "$(count_ranges "$scratch/here")" 300
is "directories are ours alone" "$(modes "$scratch/here")" 700

if [ "$(id -u)" != 0 ]; then
    skip "the other places" "needs root"
    clean "nothing is left behind"
    done_testing
fi

for mode in userns setuid; do
    if TRSHIM_SESSION_MODE=$mode record -q --no-report -o "$scratch/$mode" -- "$chatty" 300 >/dev/null 2>"$scratch/err"; then
        is "as root by $mode" "$(identity "$scratch/$mode") $(count_ranges "$scratch/$mode")" "$mode 300"
        is "as root by $mode: the trace is root's" "$(owners "$scratch/$mode")" "root "
    else
        skip "as root by $mode" "$(cat "$scratch/err")"
    fi
done

# A directory that only its owner may pass: the daemon's identity may not.
mkdir -p "$scratch/closed" && chown 1234 "$scratch/closed" && chmod 700 "$scratch/closed"
for mode in userns setuid; do
    if [ -d "$scratch/$mode" ]; then
        TRSHIM_SESSION_MODE=$mode record -q --no-report -o "$scratch/closed/$mode" -- "$chatty" 300 >/dev/null 2>&1
        is "root, by $mode, into a closed directory of somebody" "$(count_ranges "$scratch/closed/$mode")" 300
    else
        skip "root, by $mode, into a closed directory of somebody" "this way is not open here"
    fi
done

mkdir "$scratch/user" && chown 1234:1234 "$scratch/user" && chmod 1777 "$run"
if setpriv --reuid=1234 --regid=1234 --clear-groups test -x "$TR"; then
    setpriv --reuid=1234 --regid=1234 --clear-groups env -u HOME -u USER -u XDG_RUNTIME_DIR TRSHIM_CORE= \
        "$TR" record -q --no-report -o "$scratch/user/t" -- "$chatty" 300 >/dev/null 2>"$scratch/err"
    is "an arbitrary uid without HOME" "$(count_ranges "$scratch/user/t") $(cat "$scratch/err")" "300 "
else
    skip "an arbitrary uid without HOME" "$TR is not readable for others"
fi

# Root of a user namespace inside a shared /dev/shm, where the real root's word is: said, not silently empty.
if setpriv --reuid=1234 --regid=1234 --clear-groups unshare -r true 2>/dev/null && [ -O /dev/shm/lttng-ust-wait-8-0 ]; then
    TRSHIM_CORE='' setpriv --reuid=1234 --regid=1234 --clear-groups unshare -r \
        "$TR" record -q --no-report -o "$scratch/user/r" -- true >"$scratch/said" 2>&1
    is "root of a user namespace in somebody's /dev/shm: refused, in one line" \
        "$? $(grep -c 'lttng-ust-wait-8-0 cannot be opened' "$scratch/said")" "2 1"
else
    skip "root of a user namespace" "no user namespaces here"
fi

# in_mounts COMMANDS: a shell in a mount namespace of its own.
in_mounts() { TRSHIM_CORE='' TR=$TR chatty=$chatty scratch=$scratch unshare -m --propagation private sh -ec "$1"; }
if in_mounts true 2>/dev/null; then
    mkdir "$scratch/rw"
    in_mounts 'mount -t tmpfs tmpfs "$scratch/rw" && mkdir "$scratch/rw/out" && mount --bind "$scratch/rw" /mnt &&
        mount -o remount,bind,ro / && ! touch /tmp/x 2>/dev/null && unset TRSHIM_RUNTIME_DIR &&
        "$TR" record -q --no-report -o /mnt/out/t -- "$chatty" 300 >/dev/null &&
        babeltrace2 /mnt/out/t | grep -c trshim:range' >"$scratch/ro.out" 2>"$scratch/err" || cat "$scratch/err"
    is "root file system read-only" "$(tail -n 1 "$scratch/ro.out")" 300

    in_mounts 'mount -t tmpfs -o size=64m tmpfs /dev/shm && "$TR" record -q --no-report -o "$scratch/shm" -- "$chatty" 300 &&
        ls /dev/shm | grep -cv lttng-ust-wait' >/dev/null 2>&1
    is "64 MiB of /dev/shm" "$(count_ranges "$scratch/shm")" 300
    ok "takes a tenth of it at most" test "$(sed -n 's/.*"buffer_bytes": \([0-9]*\).*/\1/p' "$scratch"/shm/*/session.json)" -le 6710886

    in_mounts 'mount -t tmpfs -o size=16k tmpfs /dev/shm && "$TR" record -q --no-report -o "$scratch/tiny" -- true' >"$scratch/said" 2>&1
    is "hardly any /dev/shm: refused, in one line" "$? $(grep -c '/dev/shm has' "$scratch/said") $(wc -l <"$scratch/said" | tr -d ' ')" "2 1 1"
else
    skip "read-only root and small /dev/shm" "no mount namespaces here"
fi

# As process 1: signals arrive, orphans are reaped, the end of the command is the end of the container.
if unshare -pf --mount-proc true 2>/dev/null; then
    record_as_init() { TRSHIM_CORE='' unshare -pf --mount-proc --kill-child "$TR" record -q --no-report "$@"; }
    record_as_init -o "$scratch/init" -- sh -c "$chatty 300; (sleep 0.1 &) ; sleep 0.4; ps -eo stat= | grep -c ^Z; exit 9" >"$scratch/out"
    is "process 1: exit status, and no zombies" "$? $(sed -n 2p "$scratch/out")" "9 0"
    is "process 1: all events" "$(count_ranges "$scratch/init")" 300
    is "process 1: killed command gives 128 + signal" "$(record_as_init -o "$scratch/init2" -- sh -c 'kill -KILL $$'; echo $?)" 137
    record_as_init -o "$scratch/init3" -- sh -c 'trap "exit 6" TERM; echo ready; while :; do sleep 0.05; done' >"$scratch/init3.out" &
    unshare_pid=$!
    wait_for 10 test -s "$scratch/init3.out"
    kill -TERM $(pids_of "^$TR record" | head -n 1) # the one that is 1 inside
    wait "$unshare_pid"
    is "process 1: SIGTERM is passed on" $? 6
else
    skip "process 1" "no pid namespaces here"
fi

# The machine's own daemon, with a session that records everybody: it and ours do not meet.
if [ ! -S /var/run/lttng/client-lttng-sessiond ] && lttng-sessiond --daemonize --no-kernel >/dev/null 2>&1; then
    system_pid=$(cat /var/run/lttng/lttng-sessiond.pid)
    record -q --no-report -o "$scratch/beside" -- "$chatty" 300 >/dev/null
    is "beside the machine's own daemon" "$(count_ranges "$scratch/beside")" 300
    ok "which is left alone" kill -0 "$system_pid"
    kill "$system_pid"
else
    skip "beside the machine's own daemon" "one runs already, or none can"
fi
clean "nothing is left behind"
done_testing
