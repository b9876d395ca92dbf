#!/bin/bash
# Another preload in the same process, before us and behind us: it sees every call once, and so do we. Wrapped malloc
# too: our work must not need it in a way that goes round in circles.
. "${0%/*}/../lib/tap.sh"
. "${0%/*}/../lib/events.sh"

${CC:-gcc} -D_GNU_SOURCE -shared -fPIC -o "$scratch/libother.so" "$root/tests/shim/libs/other.c" -ldl || skip_all "no compiler"
mkdir -p "$scratch/files/data"
printf 'x%.0s' {1..640} >"$scratch/files/data/f"
cat >"$scratch/job.py" <<END
import os, sys
for i in range(10):
    fd = os.open("$scratch/files/data/f", os.O_RDONLY)
    assert len(os.read(fd, 1000)) == 640
    os.close(fd)
pid = os.fork()
if pid == 0:
    os.read(os.open("$scratch/files/data/f", os.O_RDONLY), 1000)
    os._exit(0)
os.waitpid(pid, 0)
END

check() { # WHAT RUN
    named "$2" | grep -E " file_io .*op=read .*name=\"$scratch/files/data\"" >"$scratch/reads"
    is "$1: we see each read once" \
        "$(awk 'match($0, / size_bytes=[0-9]+/) { n += substr($0, RSTART + 12, RLENGTH - 12) } END { print n }' "$scratch/reads")" 7040
    is "$1: the other sees each once" "$(cat "$scratch/other.count")" "10 1"
}

export OTHER_COUNT=$scratch/other.count OTHER_FILE=$scratch/files/data/f
# record puts us in front of what the user preloads.
LD_PRELOAD=$scratch/libother.so record "$scratch/before" "$PYTHON" "$scratch/job.py"
is "in front: the job runs" "$?" 0
check "in front" "$scratch/before"

# Behind: the job itself puts another library before us.
record "$scratch/behind" env sh -c "LD_PRELOAD=$scratch/libother.so:\$LD_PRELOAD exec $PYTHON $scratch/job.py"
is "behind: the job runs" "$?" 0
check "behind" "$scratch/behind"

# Twice the same: harmless.
LD_PRELOAD=$O/libtrshim.so record "$scratch/twice" "$PYTHON" "$scratch/job.py"
is "ourselves twice: the job runs" "$?" 0
# An allocator in front: its first malloc comes before our constructor.
${CC:-gcc} -D_GNU_SOURCE -O1 -fno-builtin -shared -fPIC -o "$scratch/liballoc.so" "$root/tests/shim/libs/alloc.c"
record "$scratch/alloc" sh -c "LD_PRELOAD=$scratch/liballoc.so:\$LD_PRELOAD exec $PYTHON $scratch/job.py"
is "an allocator in front: the job runs" "$?" 0
named "$scratch/alloc" | grep -E " file_io .*op=read .*name=\"$scratch/files/data\"" >"$scratch/reads"
ok "an allocator in front: recorded" test -s "$scratch/reads"

# libaio comes late, and only its user sees it.
${CC:-gcc} -shared -fPIC -Wl,-soname,libaio.so.1 -o "$scratch/libaio.so.1" "$root/tests/shim/libs/aio.c"
${CC:-gcc} -shared -fPIC -o "$scratch/libuses_aio.so" "$root/tests/shim/libs/uses_aio.c" "$scratch/libaio.so.1" \
    -Wl,-rpath,"$scratch"
cat >"$scratch/aio.py" <<END
import ctypes, os
lib = ctypes.CDLL("$scratch/libuses_aio.so", mode=os.RTLD_LOCAL | os.RTLD_NOW)
fd = os.open("$scratch/files/data/f", os.O_RDONLY)
assert lib.read_by_aio(fd) == 4096
END
record "$scratch/aio" "$PYTHON" "$scratch/aio.py"
is "libaio, late and out of sight: works" "$?" 0
is "libaio: its reads are recorded" "$(named "$scratch/aio" |
    grep -cE " file_io .*op=read .*name=\"$scratch/files/data\" size_bytes=4096")" 1
done_testing
