#!/bin/sh
# Ranges a job marks by NVTX are anchors, without any NVIDIA library; with the real headers, if they are here, too.
. "${0%/*}/../lib/tap.sh"
. "${0%/*}/../lib/events.sh"

ranges() { # NAME: how many anchors of that name last about as long as they should
    grep -E " anchor .*kind=nvtx name=\"$1\"" "$scratch/events" | grep -cE "${2:-.}"
}

check() { # WHICH PROGRAM
    record "$scratch/run.$1" "$2"
    is "$1: runs" "$?" 0
    named "$scratch/run.$1" >"$scratch/events"
    is "$1: ten steps" "$(ranges step ' dur_ns=[2-9][0-9]{6,}')" 10
    is "$1: the ranges inside them" "$(ranges forward)" 10
    is "$1: a mark" "$(ranges evaluation 'dur_ns=0')" 1
    is "$1: a registered string in a domain" "$(ranges optimizer)" 1
    is "$1: nothing of NCCL's own" "$(ranges ncclAllReduce)" 0
}

check own "$O/tests/shim/nvtx_job"
ok "without us: nothing happens" "$O/tests/shim/nvtx_job"

for dir in ${NVTX_INCLUDE:-} /usr/local/cuda/include /usr/include; do
    [ -e "$dir/nvtx3/nvToolsExt.h" ] || continue
    if ${CC:-gcc} -DREAL_NVTX -I"$dir" -o "$scratch/real" "$root/tests/shim/nvtx_job.c" -ldl 2>"$scratch/cc.err"; then
        check "real headers" "$scratch/real"
        real=yes
        break
    fi
done
[ "${real:-}" ] || skip "real headers" "no nvtx3/nvToolsExt.h here"
done_testing
