#!/bin/bash
# Calls of NCCL, with a stand-in library: communicators in every way they are made, calls and groups, what fails, what a
# profiler plugin tells of the same calls, a plugin alone, and NCCL as part of another library.
. "${0%/*}/../lib/tap.sh"
. "${0%/*}/../lib/events.sh"

cc="${CC:-gcc} -D_GNU_SOURCE -I$root -shared -fPIC"
build() { # DIRECTORY
    $cc -Wl,-soname,libnccl.so.2 -o "$1/libnccl.so.2" "$root/tests/shim/libs/nccl.c" -ldl -lpthread &&
        $cc -o "$1/libuses_nccl.so" "$root/tests/shim/libs/uses_nccl.c" "$1/libnccl.so.2" -Wl,-rpath,"$1"
}
build "$scratch" || skip_all "no compiler"

cat >"$scratch/job.py" <<'END'
import ctypes, os, sys
lib = ctypes.CDLL(sys.argv[1], mode=os.RTLD_LOCAL | os.RTLD_NOW)
line = lib.use_nccl()
if line:
    sys.exit("line %d went wrong" % line)
END

n() { grep -cE -- "$1" "$scratch/events"; }
field() { sed -n "s/.* nccl_comm .*$1.* nr=\([0-9]*\) .*/\1/p" "$scratch/events" | tail -n 1; }

# who WHAT: the numbers of the communicators, by what they were made as.
look() {
    "$TR" events "$1" >"$scratch/events"
    world=$(field 'state=made rank=6 nranks=8') named=$(field 'state=made rank=3 nranks=4 .*device=1')
    half=$(field 'state=made rank=3 nranks=4 device=0') local=$(field 'state=made rank=0 nranks=2 device=5')
}

hooks_alone() {
    is "$1: communicators, each once" "$(n ' nccl_comm .*state=made')" 6
    is "$1: announced before they are made" "$(n ' nccl_comm .*state=begun')" 8
    is "$1: one by one, with its name" "$(n ' nccl_comm .*state=made rank=3 nranks=4 device=1 .*how=init .*name="pp 3"')" 1
    is "$1: one refused, one without part in a split, one destroyed" "$(n ' nccl_comm .*state=gone')" 3
    is "$1: all of a process, on the devices it names" "$(n ' nccl_comm .*state=made rank=[01] nranks=2 device=[56] .*how=all')" 2
    is "$1: in a group, by rank and by split" \
        "$(n ' nccl_comm .*state=made rank=1 nranks=16 .*how=init') $(n ' nccl_comm .*state=made rank=3 nranks=4 device=0 .*how=split .*parent=[1-9]')" "1 1"
}

calls() {
    is "$1: counted per communicator" \
        "$(n " coll .*op=AllReduce type=7 .*nr=$world ordinal=0 peer=-1 group=0 .*count=1000 ") $(n " coll .*op=AllReduce .*nr=$world ordinal=1 .*count=2000 ")" "1 1"
    is "$1: with its root" "$(n " coll .*op=Reduce type=0 .*nr=$named ordinal=0 peer=3 .*count=77 ")" 1
    is "$1: ncclBcast is one broadcast" "$(n " coll .*op=Broadcast type=1 .*nr=$named ordinal=1 peer=2 .*count=88 ") $(n ' coll .*op=Broadcast')" "1 1"
    is "$1: one refused is not counted" "$(n " coll .*how=9 nr=$world ordinal=0 .*count=1 ") $(n " coll .*op=AlltoAll .*nr=$world ordinal=2 .*count=99 ")" "1 1"
    group=$(sed -n "s/.* coll .*op=Send .*nr=$world ordinal=0 peer=7 group=\([0-9]*\) .*/\1/p" "$scratch/events")
    is "$1: a group, also one in another, over two communicators" \
        "$(n " coll .*op=Recv .*nr=$world ordinal=0 peer=5 group=$group .*count=20 ") $(n " coll .*op=AllReduce .*nr=$half ordinal=0 peer=-1 group=$group .*count=3000 ") ${group:+set}" "1 1 set"
    is "$1: Send is counted per peer" "$(n " coll .*op=Send .*nr=$world ordinal=1 peer=7 group=0 .*count=11 ")" 1
    is "$1: what is only simulated is no call" "$(n ' coll .*count=4444 ')" 0
    is "$1: more calls in a group than there is room for" "$(n " coll .*nr=$local .*count=5555 ") $(n " coll .*nr=$local ordinal=2999 .*dur_ns=4294967295 count=5555 ")" "3000 1"
    is "$1: that is counted" "$(n ' self .*lost_nccl=952')" "$(n ' self ')"
    is "$1: calls of a group that failed" "$(n " coll .*how=(9|11) .*group=0 .*count=6666 ")" 1
}

record "$scratch/hooks" "$PYTHON" "$scratch/job.py" "$scratch/libuses_nccl.so"
is "every call returns what it would" "$?" 0
look "$scratch/hooks"
hooks_alone "hooks"
calls "hooks"
is "memory of NCCL's" "$(n ' segment .*act=alloc .*size_bytes=12345 ') $(n ' segment .*act=free') $(grep -c ' name .*kind=library.*libnccl' "$scratch/events")" "1 1 1"

FAKE_NCCL_CORE=$O/libtrshim-core.so record "$scratch/both" "$PYTHON" "$scratch/job.py" "$scratch/libuses_nccl.so"
is "with a plugin: every call returns what it would" "$?" 0
look "$scratch/both"
calls "both"
is "both: each communicator once, under one number, with the id that all ranks know" \
    "$(grep ' nccl_comm .*state=made' "$scratch/events" | grep -v ' id=0 ' | sed 's/.* nr=\([0-9]*\) .*/\1/' | sort -u | wc -l)" 6
is "both: no communicator of the plugin's own" "$(n ' nccl_comm .*source=plugin')" 0
is "both: told once, with how they ran" "$(n ' coll ') $(n ' coll .*algo=Ring proto=LL128 channels=4 how=3 ')" "$((1 + 1 + 1 + 1 + 1 + 1 + 3 + 1 + 3000 + 1)) $((9 + 2048))"
is "both: an AlltoAll is told of in its parts" "$(n " coll .*op=AlltoAll .*algo=Ring .*how=3 nr=$world") $(n ' coll .*how=2 .*count=99 ')" "1 0"

# NCCL inside a library of another name, which exports it.
mkdir "$scratch/inside"
$cc -o "$scratch/inside/libuses_nccl.so" "$root/tests/shim/libs/uses_nccl.c" "$root/tests/shim/libs/nccl.c" -ldl -lpthread
record "$scratch/inside/run" "$PYTHON" "$scratch/job.py" "$scratch/inside/libuses_nccl.so"
is "NCCL inside another library: every call returns what it would" "$?" 0
look "$scratch/inside/run"
is "NCCL inside another library: seen" "$(n ' coll .*count=5555 ')" 3000
done_testing
