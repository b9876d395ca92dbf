#!/bin/sh
# What the simulated node declares is what NVIDIA declares: signatures by compiling its definitions against the real
# prototypes, layouts by static assertions. Needs the headers of CUDA 13 (CUDA=/path, default /usr/local/cuda).
. "${0%/*}/../lib/tap.sh"
cuda=${CUDA:-/usr/local/cuda}
[ -e "$cuda/include/cuda_runtime_api.h" ] || skip_all "no CUDA headers in $cuda/include (set CUDA=)"

compile() {
    "${CC:-cc}" -I"$root" -I"$cuda/include" -DSIM_REAL_HEADERS -D_GNU_SOURCE -std=gnu11 -Wall -Werror -Wno-enum-compare \
        -Wno-deprecated-declarations -fsyntax-only "$1"
}

major=$(sed -n 's/^#define CUDART_VERSION *\([0-9]*\)[0-9][0-9][0-9]$/\1/p' "$cuda/include/cuda_runtime_api.h")
for file in "$root"/tests/sim/cuda/*.c "$root"/tests/sim/cudart/*.c; do
    name=${file#"$root"/tests/sim/}
    case $name in
    */missing*) continue ;; # no signatures there
    */v12.c | */v13.c) [ "$name" = "cudart/v$major.c" ] || continue ;;
    esac
    ok "$name compiles against the headers of CUDA $major" compile "$file"
done
if [ -e "$cuda/include/cupti.h" ]; then
    ok "records and properties are laid out as in the headers" compile "$root/tests/sim/check_abi.c"
else
    skip "records and properties are laid out as in the headers" "no cupti.h in $cuda/include"
fi

# names FILE: what a library offers under the prefixes of CUDA's APIs, without versions
names() { nm -D --defined-only "$1" | awk '{ sub(/@.*/, "", $3); print $3 }' | grep -E '^_*(cu[A-Z]|cuda|cupti|cublas)' | sort -u; }
for lib in "libcudart.so.$major" "libcupti.so.$major" "libcublas.so.$major" "libcublasLt.so.$major" stubs/libcuda.so; do
    own=$O/sim/${lib#stubs/}
    [ "$lib" = stubs/libcuda.so ] && own=$O/sim/libcuda.so.1
    if [ -e "$cuda/lib64/$lib" ] && [ -e "$own" ]; then
        names "$cuda/lib64/$lib" >"$scratch/theirs"
        names "$own" >"$scratch/ours"
        is "${lib#stubs/} has every name of the real one" "$(comm -23 "$scratch/theirs" "$scratch/ours" | head -n 5)" ""
    else
        skip "${lib#stubs/} has every name of the real one" "no $cuda/lib64/$lib or $own"
    fi
done
done_testing
