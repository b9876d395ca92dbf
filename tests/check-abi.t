#!/bin/bash
# Our declarations of CUPTI, CUDA, cuBLAS and NCCL against the real headers, of several versions: from PyPI's wheels if the
# registry answers, and from a toolkit if one is installed. Nothing is linked or run.
. "${0%/*}/lib/tap.sh"

cache=$O/abi # wheels are large and do not change
cc="${CC:-gcc} -std=gnu11 -I$root -fsyntax-only -Wall -Werror -Wno-incompatible-pointer-types -Wno-comment -Wno-deprecated-declarations"

# fetch DIR PACKAGE...: unpacks wheels' headers into DIR, once.
fetch() {
    dir=$1
    shift
    [ -e "$dir/complete" ] && return 0
    mkdir -p "$dir" &&
        timeout 120 "$PYTHON" -m pip download -q --no-deps --disable-pip-version-check --retries 0 --timeout 10 \
            --only-binary :all: --platform manylinux2014_x86_64 --platform manylinux_2_17_x86_64 --platform manylinux1_x86_64 \
            --platform manylinux_2_27_x86_64 --platform manylinux_2_25_x86_64 --platform manylinux_2_28_x86_64 --platform manylinux_2_34_x86_64 \
            --python-version 3.11 -d "$dir" "$@" >"$scratch/pip" 2>&1 || return 1
    for wheel in "$dir"/*.whl; do
        "$PYTHON" -m zipfile -e "$wheel" "$dir" || return 1
    done
    rm -f "$dir"/*.whl
    find "$dir" -name 'libnccl.so*' -exec nm -D --defined-only {} \; | awk '{ sub(/@.*/, "", $3); print $3 }' >"$dir/exports"
    find "$dir" -name 'libnccl.so*' -exec grep -haoE 'ncclProfiler_v[0-9]+' {} + | sort -u >"$dir/profilers"
    find "$dir" -name '*.so*' -delete
    find "$dir" -name '*.a' -delete
    touch "$dir/complete"
}

includes() { find "$1" -name include -type d -printf ' -I%p'; }

check() { # WHAT DIRECTORY-FLAGS
    ok "CUPTI's records: $1" $cc $2 "$root/tests/abi/cupti.c"
    ok "calls of the CUDA runtime: $1" $cc -DCHECK_CUDART $2 "$root/tests/abi/calls.c"
}

have_pip() { "$PYTHON" -m pip --version >/dev/null 2>&1; }
have_pip || PYTHON=$(command -v python3)
if ! have_pip; then
    skip "wheels" "no pip"
else
    for v in "11.8 cu11==11.8.87 cu11==11.8.89" "12.1 cu12==12.1.105 cu12==12.1.105" "12.4 cu12==12.4.127 cu12==12.4.127" \
        "12.8 cu12==12.8.90 cu12==12.8.90" "13.0 =13.0.85 =13.0.88" "newest"; do
        set -- $v
        cupti=nvidia-cuda-cupti${2:+${2/#cu/-cu}} cudart=nvidia-cuda-runtime${3:+${3/#cu/-cu}}
        if [ "${cupti%%=*}" = nvidia-cuda-cupti ]; then cupti=${cupti/-cupti=/-cupti==} cudart=${cudart/-runtime=/-runtime==}; fi
        if fetch "$cache/$1" "$cupti" "$cudart"; then
            check "$1" "$(includes "$cache/$1")"
        else
            skip "wheels of CUDA $1" "the registry does not answer: $(tail -n 1 "$scratch/pip")"
        fi
    done
fi

# NCCL: our rows against its header, and what it exports against our rows.
nccl_rows() { # PREFIX...: names in the rows of these macros
    printf '%s\n' '#define HOOK_NCCL(open, name, ...) HOOKED name END' '#define HOOK_NCCL_GROUP(name, ...) HOOKED name END' \
        '#define NCCL_LEFT_OUT(name, reason) LEFT name END' '#include "shim/hooks_nccl.def"' |
        ${CC:-gcc} -E -P -I"$root" - | grep -oE "($1) ncclA?[A-Za-z0-9_]* END" | cut -d ' ' -f 2 | sort -u
}

check_nccl() { # RELEASE DIRECTORY: with nccl.h and `exports` in it
    header=$(find "$2" -name nccl.h | head -n 1)
    nccl_rows HOOKED | while read -r name; do
        grep -q "[^a-z]$name *(" "$header" || echo "#define $name(...) 0"
    done >"$scratch/absent.h"
    has=$(grep -q commName "$header" && echo -DHAS_COMM_NAME)
    ok "calls of NCCL: $1" $cc $has "-DABSENT=\"$scratch/absent.h\"" -I"${header%/*}" $(includes "$cache/12.4") "$root/tests/abi/nccl.c"
    ok "NCCL's configuration is known by its magic: $1" grep -q 0xcafebeef "$header"
    is "what NCCL exports is hooked, or left out for a reason: $1" \
        "$(grep '^nccl[A-Z]' "$2/exports" | sort -u | comm -23 - <(nccl_rows 'HOOKED|LEFT'))" ""
    if [ -e "$2/profilers" ]; then
        is "the profiler interfaces it looks for are ours: $1" \
            "$(comm -23 "$2/profilers" <(printf 'ncclProfiler_v%d\n' 1 2 3 4 5 6 7))" ""
    fi
}

if have_pip && [ -e "$cache/12.4/complete" ]; then # nccl.h needs the runtime's headers
    for v in "2.18.3 cu12==2.18.3" "2.21.5 cu12==2.21.5" "2.23.4 cu12==2.23.4" "2.27.7 cu12==2.27.7" "2.30.7 cu12==2.30.7" "newest cu13"; do
        set -- $v
        if fetch "$cache/nccl-$1" "nvidia-nccl-$2"; then
            check_nccl "$1" "$cache/nccl-$1"
        else
            skip "NCCL $1" "the registry does not answer: $(tail -n 1 "$scratch/pip")"
        fi
    done
else
    skip "NCCL" "no wheels"
fi

# NCCL's profiler interface: its headers are in its sources alone.
headers=${NCCL_SOURCE:-/nowhere}/plugins/profiler/example/nccl
if [ -e "$headers/profiler_v6.h" ]; then
    newest=$(ls "$headers" | sed -n 's/^profiler_v\([0-9]*\)\.h$/\1/p' | sort -n | tail -n 1)
    is "NCCL's sources have no profiler interface that we do not" "$((newest <= 7))" 1
    ok "profiler interfaces 1 to $newest: NCCL's sources" ${CC:-gcc} -std=gnu11 -fsyntax-only -include err.h \
        -DNCCL_PROFILER_H='"profiler.h"' "-DNEWEST=$newest" -I"$headers" -I"$root" "$root/tests/plugin/test_abi.c"
else
    skip "NCCL's profiler interface" "no sources of NCCL 2.29 or later (set NCCL_SOURCE)"
fi

toolkit=${CUDA_HOME:-/usr/local/cuda}
if [ -e "$toolkit/include/cublasLt.h" ]; then
    ok "calls of cuBLAS: toolkit" $cc -DCHECK_CUBLAS -I"$toolkit/include" "$root/tests/abi/calls.c"
else
    skip "calls of cuBLAS" "no toolkit in $toolkit (set CUDA_HOME)"
fi
done_testing
