#!/bin/bash
# samples.sh - records traces/samples/ anew: small runs of examples/simtrain that a newcomer, and the test
# tests/reader/samples.t, can open at once. O names the build folder.
#
#   samples.sh [DIR]        into DIR (default traces/samples); as root, so that the machine's name stays out of them
#
# They are kept as they were recorded: later versions of trshim must go on reading them. Record anew only to show
# something that old ones cannot, and say so in the commit.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
O=$(cd "${O:-$root/build}" && pwd)
if [ "${SAMPLES_NAMED:-}" != yes ]; then
    export O SAMPLES_NAMED=yes
    exec unshare --uts sh -c 'hostname sim; exec "$@"' sh "$0" "${1:-$root/traces/samples}"
fi
mkdir -p "$1"
samples=$(cd "$1" && pwd)

# From a place of its own: a trace names the files that a job is made of.
place=/tmp/trshim-samples
rm -rf "$place"
mkdir "$place"
trap 'rm -rf "$place"' EXIT
cp -a "$O"/trshim "$O"/*.so "$O"/examples "$O"/sim "$place"
cd "$place"

# sample NAME ARG...: few layers and steps and one worker keep it below 300 KB (a CTF directory pads its packets)
sample() {
    local name=$1
    shift
    env -i PATH="$PATH" TMPDIR="$place" ./trshim record --no-report -o "$name" -- \
        examples/simtrain --layers 2 --checkpoint-every 0 "$@"
    # LTTng's index files only speed up seeking, which nothing here does.
    find "$name" -type d -name index -exec rm -r {} +
    chmod -R u+rwX,go+rX "$name"
    rm -rf "${samples:?}/$name"
    cp -r "$name" "$samples/$name"
}

sample clean --ranks 2 --hosts 2 --steps 12 --layers 3 --workers 1
sample socket-fallback --ranks 2 --hosts 2 --steps 10 --workers 1 --fault nccl-socket-fallback
sample fragmentation --ranks 1 --steps 24 --workers 1 --fault memory-fragmentation
sample slow-data --ranks 2 --steps 12 --workers 1 --gradient-mb 0 --fault dataloader-bound:rank=1:size=2
