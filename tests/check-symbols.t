#!/bin/sh
# The libraries may enter any process: what they need, export and map must stay what docs/ARCHITECTURE.md promises.
. "${0%/*}/lib/tap.sh"
preload=$O/libtrshim.so core=$O/libtrshim-core.so
command -v readelf >/dev/null || skip_all "no readelf (package binutils)"
[ -e "$preload" ] || skip_all "not built: $preload"

needed() { readelf -dW "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort; }

# Versions of glibc that a library asks for, newest last.
versions() { readelf -VW "$1" | grep -o 'Name: GLIBC_[0-9.]*' | sed 's/.*GLIBC_//' | sort -Vu; }

# Functions and objects that a library offers, without their version.
exports() {
    readelf --dyn-syms -W "$1" | awk '$7 ~ /^[0-9]+$|^ABS$/ && $5 != "LOCAL" { sub(/@.*/, "", $8); print $8 }' | sort -u
}

# What the preload is to offer: the rows of its tables, the stubs in assembly, and the calls of trshim.h.
expected() {
    {
        # A row's name is its second, third or fourth argument, by table; the macros let the compiler find it.
        printf '%s\n' '#define HOOK(gate, ret, name, ...) ROW name END' '#define HOOK_SPECIAL(ret, name, ...) ROW name END' \
            '#define HOOK_LIB(lib, gate, ret, name, ...) ROW name END' '#define HOOK_LIB_VOID(lib, gate, name, ...) ROW name END' \
            '#define HOOK_NCCL(open, name, ...) ROW name END' '#define HOOK_NCCL_GROUP(name, ...) ROW name END' \
            '#include "shim/hooks_nccl.def"' '#include "shim/hooks.def"' '#include "shim/hooks_special.def"' '#include "shim/hooks_cuda.def"' |
            "${CC:-cc}" -E -P -I"$root" - | grep -o 'ROW [A-Za-z_0-9]* END' | cut -d ' ' -f 2
        sed -n 's/^[[:space:]]*stub[[:space:]]*\([A-Za-z_0-9]*\),.*/\1/p' "$root"/shim/preload/*.S
        grep -o 'trshim_[a-z_]*(' "$root/include/trshim.h" 2>/dev/null | tr -d '('
    } | sort -u
}

newest=$(versions "$preload" | tail -n 1)
is "preload: no symbol version above GLIBC_2.17" \
    "$(printf '%s\n2.17\n' "$newest" | sort -V | tail -n 1)" 2.17
is "preload: needs nothing but libc and libdl" \
    "$(needed "$preload" | grep -v -x -e 'libc\.so\.6' -e 'libdl\.so\.2')" ""

expected >"$scratch/expected"
exports "$preload" >"$scratch/exports"
ok "preload: exports exactly the names of its tables" diff -u "$scratch/expected" "$scratch/exports"

is "core: does not need libunwind, which would catch the job's exceptions" "$(needed "$core" | grep -c unwind)" 0
ok "core: is linked to lttng-ust" sh -c "readelf -dW '$core' | grep -q 'NEEDED.*liblttng-ust\.so'"
is "core: does not need libunwind, which would take over the job's exceptions" "$(needed "$core" | grep libunwind)" ""
is "core: exports only its entry, those of NVTX, CUDA and the plugins of NCCL, and LTTng's own names" \
    "$(exports "$core" | grep -v -e '^trshim_core_start$' -e '^InitializeInjectionNvtx2$' -e '^InitializeInjection$' -e '^trshim_nccl_sink$' -e '^lttng_ust_' -e '^__tracepoint' -e '^__lttng' \
        -e '^__start_lttng' -e '^__stop_lttng' -e '^_*\(init\|fini\|edata\|end\|bss_start\)$')" ""

plugin=$O/libnccl-profiler-trshim.so
is "plugin: no symbol version above GLIBC_2.17" \
    "$(printf '%s\n2.17\n' "$(versions "$plugin" | tail -n 1)" | sort -V | tail -n 1)" 2.17
is "plugin: needs nothing but libc and libdl" "$(needed "$plugin" | grep -v -x -e 'libc\.so\.6' -e 'libdl\.so\.2')" ""
is "plugin: exports what NCCL looks for and nothing else" \
    "$(exports "$plugin" | tr '\n' ' ')" "$(printf 'ncclProfiler_v%d ' 1 2 3 4 5 6 7)"
is "plugin: stays when NCCL closes it" "$(readelf -dW "$plugin" | grep -c NODELETE)" 1

net=$O/net/libnccl-net-trshim.so
is "net plugin: no symbol version above GLIBC_2.17" \
    "$(printf '%s\n2.17\n' "$(versions "$net" | tail -n 1)" | sort -V | tail -n 1)" 2.17
is "net plugin: needs nothing but libc and libdl" "$(needed "$net" | grep -v -x -e 'libc\.so\.6' -e 'libdl\.so\.2')" ""
is "net plugin: exports what NCCL looks for and its own mark" \
    "$(exports "$net" | grep -v -E '^nccl(NetPlugin|CollNetPlugin|TunerPlugin|Profiler|EnvPlugin|GinPlugin|RmaPlugin)_v[0-9]+$')" trshim_net_wrapper
is "net plugin: all that NCCL looks for is found out in the job" \
    "$(readelf -W --dyn-syms "$net" | awk '$8 ~ /^nccl/ && $4 != "IFUNC" { print $8 }')" ""
is "net plugin: stays when NCCL closes it" "$(readelf -dW "$net" | grep -c NODELETE)" 1
is "net plugin: NCCL's short name finds it where it is mapped" "$(readelf -dW "$net" | grep -c 'SONAME.*\[libnccl-net-trshim.so\]')" 1

for file in "$preload" "$core" "$plugin" "$net" "$O/trshim"; do
    is "${file##*/}: stack is not executable" "$(readelf -lW "$file" | awk '$1 == "GNU_STACK" { print $7 }')" RW
    is "${file##*/}: code needs no relocation (no TEXTREL)" "$(readelf -dW "$file" | grep -c TEXTREL)" 0
done
done_testing
