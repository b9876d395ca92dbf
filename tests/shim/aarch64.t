#!/bin/bash
# The preload on AArch64: built by a cross compiler, run by an emulator, where both are here. It forwards as on x86_64;
# the core (LTTng) is not tried there.
. "${0%/*}/../lib/tap.sh"

cross=${CROSS_CC:-aarch64-linux-gnu-gcc} libs=/usr/aarch64-linux-gnu
command -v "$cross" >/dev/null || skip_all "no $cross (Debian: gcc-aarch64-linux-gnu)"
command -v qemu-aarch64 >/dev/null || skip_all "no qemu-aarch64 (Debian: qemu-user)"

build="$cross -I$root -D_GNU_SOURCE -std=gnu11 -O2"
mkdir -p "$scratch/obj" "$scratch/L/sub" "$scratch/files"
for f in "$root"/shim/preload/*.[cS]; do
    $build -fPIC -ftls-model=initial-exec -fvisibility=hidden -c "$f" -o "$scratch/obj/${f##*/}.o" || fail "compiles: $f"
done
ok "links" $cross -shared -o "$scratch/libtrshim.so" "$scratch"/obj/*.o -Wl,--no-undefined -Wl,-z,now -Wl,--no-as-needed -l:libdl.so.2
is "needs nothing above GLIBC_2.17" "$(readelf -VW "$scratch/libtrshim.so" | grep -o 'GLIBC_[0-9.]*' | sort -Vu | tail -n 1)" GLIBC_2.17
$build "$root/tests/shim/lives.c" -o "$scratch/lives" -lpthread -lrt -ldl
$build "$root/tests/shim/io_calls.c" -o "$scratch/io_calls"
$build -shared -fPIC -o "$scratch/L/sub/libreads.so" "$root/tests/shim/libs/reads.c"
cp "$scratch/L/sub/libreads.so" "$scratch/L/"
$build -shared -fPIC -o "$scratch/L/libnested.so" "$root/tests/shim/libs/nested.c" -Wl,--enable-new-dtags,-rpath,'$ORIGIN/sub'

emulate() { timeout 60 qemu-aarch64 -L $libs -E LD_PRELOAD="$scratch/libtrshim.so" -E TRSHIM_CORE= -E LIVES_LIBS="$scratch/L" "$@"; }
for s in fork vfork spawn thread local_library runpath errors cancel marks; do
    ok "$s" emulate "$scratch/lives" $s "$scratch/files"
done
ok "every call on files returns what it should" emulate "$scratch/io_calls" "$scratch/files"
done_testing
