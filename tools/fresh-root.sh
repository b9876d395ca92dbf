#!/bin/sh
# fresh-root.sh - does a clean clone of this repository build and pass on a Debian that has nothing but make?
#
#   fresh-root.sh [-s SUITE] [-m MIRROR] [-d DIR] [-k] [--] COMMAND...      (as root; default: make demo)
#
# Makes a minimal Debian root with debootstrap in DIR (made if missing; removed at the end unless -k), clones HEAD
# into it and runs COMMAND there. All mounts and processes live in namespaces of their own and vanish with them,
# so that an interrupted run leaves at most DIR.
set -eu

suite=bookworm mirror= dir= keep= # no mirror: debootstrap knows the distribution's own
while getopts s:m:d:k option; do
    case $option in
    s) suite=$OPTARG ;; m) mirror=$OPTARG ;; d) dir=$OPTARG ;; k) keep=1 ;;
    *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || set -- make demo

source=$(cd "$(dirname "$0")/.." && pwd)
[ "$(id -u)" -eq 0 ] || { echo "fresh-root: must be root, for debootstrap and chroot" >&2; exit 2; }
command -v debootstrap >/dev/null || { echo "fresh-root: install debootstrap first" >&2; exit 2; }
[ -n "$dir" ] || dir=$(mktemp -d /tmp/trshim-fresh.XXXXXX)
[ -n "$keep" ] || trap 'rm -rf --one-file-system "$dir"' EXIT

if [ ! -e "$dir/bin/sh" ]; then
    echo "fresh-root: debootstrap $suite into $dir"
    debootstrap --variant=minbase --include=make "$suite" "$dir" ${mirror:+"$mirror"} >"$dir.log" 2>&1 || {
        tail -n 5 "$dir.log" >&2
        exit 1
    }
    rm -f "$dir.log"
    # How this machine reaches its mirror (proxy, clock) holds for the fresh root as well.
    grep -ls '^Acquire::' /etc/apt/apt.conf.d/* | xargs -r cp -t "$dir/etc/apt/apt.conf.d"
fi

rm -rf "$dir/root/trshim"
git clone -q --no-hardlinks "$source" "$dir/root/trshim"

# Everything below is in its own mount and process namespace: --kill-child ends what COMMAND leaves behind.
FRESH=$dir exec_in_root='
    set -e
    mount -t proc proc "$FRESH/proc"
    mount -t tmpfs -o mode=1777 tmpfs "$FRESH/dev/shm"
    exec chroot "$FRESH" /usr/bin/env -i HOME=/root TERM="${TERM:-dumb}" \
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin sh -c "cd /root/trshim && \"\$@\"" sh "$@"'
export FRESH
status=0
unshare --mount --pid --fork --kill-child sh -c "$exec_in_root" sh "$@" || status=$?
echo "fresh-root: \`$*\` in $suite ended with status $status"
exit $status
