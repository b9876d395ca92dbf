#!/bin/sh
# The simulated NCCL as a job in several processes sees it: its log by version and setting, bytes that really move, and
# the profiler plugin's callbacks: order, threads, quirks. Times and rules of waiting are test_nccl's.
. "${0%/*}/../lib/tap.sh"
job=$O/tests/sim/nccl_job
[ -x "$job" ] || skip_all "not built: $job (make sim)"
LD_LIBRARY_PATH=$O/sim:$O/tests/sim/lib
export LD_LIBRARY_PATH
unset NCCL_DEBUG NCCL_DEBUG_FILE NCCL_DEBUG_SUBSYS NCCL_NET NCCL_IB_DISABLE NCCL_PROFILER_PLUGIN NCCL_NET_PLUGIN

# like NAME TEXT PATTERN: the shell's patterns
like() {
    case $2 in
    $3) pass "$1" ;;
    *)
        fail "$1"
        note "got: $2"
        ;;
    esac
}
# run NAME SETTINGS CALL...: two ranks on two hosts; what they print is in $scratch/NAME
run() {
    name=$1 settings=$2
    shift 2
    SIM_NCCL=$settings timeout 60 "$job" 2 2 "$@" >"$scratch/$name" 2>"$scratch/$name.err"
}
# logged NAME SETTINGS CALL...: the same with NCCL's log
logged() { NCCL_DEBUG=INFO run "$@"; }
has() { grep -q -E "$2" "$scratch/$1"; }
lacks() { ! has "$@"; }

# ---- every call ---------------------------------------------------------------------------------------------------
ok "all calls, three ranks on two hosts" sh -c "timeout 60 '$job' 3 2 AllReduce AllGather ReduceScatter AlltoAll Broadcast \
    Bcast Reduce Gather Scatter SendRecv:100:3 Group Split Single Graph:10:2 >'$scratch/all'"
is "each rank has a kernel for each of them" "$(grep -c '^kernel rank=0 .*calls=1' "$scratch/all") \
$(grep -c '^kernel rank=2 .*calls=2' "$scratch/all")" "12 4"
is "what is missing says so" "$(grep -c 'not simulated' "$scratch/all")" 0

# ---- the log ------------------------------------------------------------------------------------------------------
logged ib version=2.28.9 AllReduce
ok "InfiniBand is taken where it is" has ib 'NET/IB : Using \[0\]mlx5_0:1/IB \[RO\]; OOB eth0:'
ok "channels go over it, with GPUDirect" has ib 'Channel 00/0 : 0\[0\] -> 1\[1\] \[send\] via NET/IB/0/GDRDMA$'
is "calls are not logged unless asked for" "$(grep -c opCount "$scratch/ib")" 0
NCCL_DEBUG_SUBSYS=COLL logged coll version=2.28.9 AllReduce:77
ok "they are with COLL" has coll 'AllReduce: opCount 0 .* count 77 datatype 7 op 0 root 0 comm 0x[0-9a-f]* \[nranks=2\]'
is "and nothing else then" "$(grep -c 'Init COMPLETE' "$scratch/coll")" 0
logged nogdr version=2.28.9,gdr=0 AllReduce
ok "without the module there is no GPUDirect" has nogdr 'via NET/IB/0$'
logged none version=2.28.9,ib=0 AllReduce
ok "no device: sockets" has none 'NET/IB : No device found'
ok "channels go over them" has none '\[receive\] via NET/Socket/0$'
NCCL_IB_DISABLE=1 logged disabled version=2.21.5 AllReduce
ok "NCCL_IB_DISABLE is told and obeyed" has disabled 'NCCL_IB_DISABLE set by environment to 1.'
ok "no InfiniBand then" lacks disabled NET/IB
NCCL_IB_HCA==mlx5_7 logged hca version=2.28.9,ib=2 AllReduce
ok "NCCL_IB_HCA that names no device leaves none" has hca 'No device found'
logged verbs version=2.10.3,verbs=0 AllReduce
ok "no libibverbs: a warning in old versions" has verbs 'NCCL WARN Failed to open libibverbs.so'
NCCL_NET=IB logged want version=2.28.9,ib=0 AllReduce
ok "a network that is asked for and not there is an error" has want.err 'ncclCommInitRankConfig.*: 5'
logged old version=2.18.5 AllReduce
ok "2.18: the version alone, by rank 0" has old '^NCCL version 2.18.5\+cuda'
is "... once" "$(grep -c 'NCCL version' "$scratch/old")" 1
ok "2.18: no name of the call in the INIT lines" has old 'NCCL INFO comm 0x[0-9a-f]* rank 0 nranks 2 .* - Init COMPLETE'
logged new version=2.30.7 AllReduce
ok "2.30: the rank in front" has new '\[Rank 1\] ncclCommInitRankConfig comm .* - Init START'
is "2.30: every process says the version" "$(grep -c 'NCCL INFO NCCL version 2.30.7' "$scratch/new")" 2
NCCL_DEBUG=INFO NCCL_DEBUG_FILE=$scratch/file.%h.%p run file version=2.28.9 AllReduce
is "NCCL_DEBUG_FILE: one for each process, with host and pid" "$(ls "$scratch" | grep -c '^file\.node-[01]\.[0-9]*$')" 2
is "and none on the terminal" "$(grep -c NCCL "$scratch/file")" 0
mkdir "$scratch/dir"
printf '# a scenario\n* version 2.27.3\nnode-1 gdr 0\n' >"$scratch/dir/nccl"
SIM_DIR=$scratch/dir NCCL_DEBUG=INFO timeout 60 "$job" 2 2 AllReduce >"$scratch/scenario"
is "a scenario for one host" "$(grep -c 'node-0.*NET/IB/0/GDRDMA' "$scratch/scenario") $(grep -c 'node-1.*NET/IB/0$' "$scratch/scenario")" "4 4"

printf 'NCCL_IB_DISABLE=1\n# NCCL_DEBUG=WARN\nNCCL_DEBUG=INFO\n' >"$scratch/nccl.conf"
NCCL_CONF_FILE=$scratch/nccl.conf run conf version=2.28.9 AllReduce
ok "variables come from nccl.conf" has conf 'via NET/Socket'
NCCL_CONF_FILE=$scratch/nccl.conf NCCL_IB_DISABLE=0 run conf2 version=2.28.9 AllReduce
ok "the environment wins" has conf2 'via NET/IB'
for v in 2.18.5 2.21.5 2.26.2; do
    logged "ports" "version=$v,port_events=5,no_path=1" AllReduce:1000:11
    is "$v: ports that fail, on both hosts" "$(grep -c 'NCCL WARN NET/IB.*port error' "$scratch/ports")" 4
    is "$v: no path" "$(grep -c 'graph/search.cc:1127 NCCL WARN Could not find a path' "$scratch/ports")" 2
done
logged novls version=2.28.9,nvls=0 AllReduce
ok "no multicast" has novls 'NVLS multicast support is not available on dev 0'

printf '* version 2.28.9\nnode-1 nvlink_gbs 30\nnode-1 base_us 50\nnode-0 ib_us 100\n' >"$scratch/dir/nccl"
SIM_DIR=$scratch/dir timeout 60 "$job" 4 2 AllReduce:10000000:3 AllGather:1000000 >"$scratch/uneven"
is "a host with slower links: all ranks end together all the same" \
    "$(sed -n 's/.*op=\([A-Za-z]*\) .*ordinal=\([0-9]*\) .* end=\([0-9]*\)$/\1 \2 \3/p' "$scratch/uneven" | sort | uniq -c | awk '{print $1}' |
        tr '\n' ' ')" "4 4 4 4 "

# ---- inside a host ------------------------------------------------------------------------------------------------
one() { # NAME CALL...: two ranks on one host
    name=$1
    shift
    NCCL_DEBUG=INFO timeout 60 "$job" 2 1 "$@" >"$scratch/$name" 2>&1
}
SIM_NCCL=version=2.28.9 one p2p AllReduce
ok "GPUs of one host reach each other" has p2p 'Channel 00/0 : 0\[0\] -> 1\[1\] via P2P/CUMEM'
NCCL_P2P_DISABLE=1 one shm AllReduce
ok "else by its memory" has shm 'Channel 00 : 0\[0\] -> 1\[1\] via SHM/direct/direct'
NCCL_P2P_DISABLE=1 SIM_NCCL=shm=0 one full AllReduce
ok "a full /dev/shm is an error" has full 'No space left on device'
NCCL_P2P_DISABLE=1 NCCL_SHM_DISABLE=1 SIM_NCCL=ib=0 one loop AllReduce
ok "else over the network" has loop 'via NET/Socket'

# ---- the report reads it ----------------------------------------------------------------------------------------------
report() { "$O/trshim" report --json "$scratch/$1" 2>"$scratch/$1.report.err" | tr -d ' \n'; }
if [ -x "$O/trshim" ]; then
    for v in 2.18.5 2.21.5 2.27.3 2.28.9 2.30.7 2.32.3; do
        NCCL_DEBUG_SUBSYS=INIT,NET,COLL,ENV,BOOTSTRAP logged "v$v" "version=$v,ib=0" AllReduce:1000:3
        out=$(report "v$v")
        like "$v: transport" "$out" '*"kind":"NET/Socket"*'
        like "$v: both ranks, on two nodes" "$out" '*"nranks":2,"nr_known":2,"nodes":2,*'
        "$O/trshim" events "$scratch/v$v" >"$scratch/events" 2>&1
        is "$v: version" "$(sed -n 's/.*version.nccl[^0-9]*\([0-9.]*\)+cuda.*/\1/p' "$scratch/events" | sort -u)" "$v"
        is "$v: calls" "$(grep -c 'nccl_call.*AllReduce' "$scratch/events")" 6
    done
fi

# ---- bytes ------------------------------------------------------------------------------------------------------------
ok "8 MB over sockets, capped" run wire ib=0,wire_bytes=1000000 AllReduce:2000000:3 SendRecv:10:2
ok "one way between two ranks" run wire2 ib=0 Broadcast:1000:20 Reduce:1000:20 Gather:10 Scatter:10 AlltoAll:10

# ---- hosts with clocks of their own ------------------------------------------------------------------------------------
NCCL_JOB_CLOCK_NS=3600000000123 run clocks version=2.28.9 AllReduce:1000:5 SendRecv:10:5
if grep -q 'no time namespaces' "$scratch/clocks.err"; then
    skip "hosts whose clocks differ see the same instants" "no time namespaces here"
else
    is "hosts whose clocks differ see the same instants" \
        "$(sed -n 's/.*rank=\([0-9]\) .*op=\(.*\) calls.*ordinal=\([0-9]*\) .* end=\([0-9]*\)$/\2-\3 \1 \4/p' "$scratch/clocks" |
            sort | awk '$2==0 {end[$1]=$3} $2==1 {printf "%.0f\n", $3-end[$1]}' | uniq -c | sed 's/^ *//')" "10 3600000000123"
fi

# ---- the profiler plugin ------------------------------------------------------------------------------------------------
# plugin NAME SETTINGS CALL...: with the plugin that logs; rank 0's file becomes $scratch/NAME.p, of rank 1 .q
plugin() {
    NCCL_PROFILER_PLUGIN=${plugin_name-log} LOG_PROFILER=$scratch/$1.log run "$@" || return 1
    for f in "$scratch/$1".log.*; do
        [ -f "$f" ] || return 0
        grep -q '^init .*rank=1' "$f" && mv "$f" "$scratch/$1.q" || mv "$f" "$scratch/$1.p"
    done
}
# kinds NAME: calls and types, without numbers
kinds() { sed -E 's/ v=.*#[0-9]+ ([A-Z][A-Za-z0-9]*) .*/ \1/; s/^(stop|finalize|init) .*/\1/; s/^state .*#[0-9]+ ([0-9]+) .*/state \1/' "$1"; }

ok "the plugin is loaded by the end of its name" plugin five version=2.28.9,ib=0 AllReduce:1000
caller=$(sed -n 's/^init v=5 tid=\([0-9]*\) .*/\1/p' "$scratch/five.p")
grep "tid=$caller " "$scratch/five.p" >"$scratch/five.caller"
grep -v "tid=$caller " "$scratch/five.p" >"$scratch/five.progress"
is "what the caller's thread tells" "$(kinds "$scratch/five.caller" | tr '\n' ' ')" "init start GroupApi state 23 start CollApi stop \
state 24 start KernelLaunch stop start Group start Coll stop stop stop finalize "
is "the progress thread: operations when the call has been stopped" \
    "$(awk '/ Coll /{seen=1} /ProxyOp|KernelCh/ && !seen {bad=1} END {print bad+0}' "$scratch/five.p")" 0
is "one operation each way, its steps, one channel, all stopped" \
    "$(for t in ProxyOp ProxyStep KernelCh; do grep -c "^start.* $t " "$scratch/five.progress"; done | tr '\n' ' ')" "2 2 1 "
is "a step of sending waits for the GPU, the peer, the wire" \
    "$(awk '/ProxyOp.*send=1/ {op=substr($4,2)} /ProxyStep/ && $6=="parent=#" op {s=$4} $1=="state" && $4==s {print $5}' \
        "$scratch/five.progress" | tr '\n' ' ')" "8 20 9 "
is "of receiving for the data, the flush, the GPU" \
    "$(awk '/ProxyOp.*send=0/ {op=substr($4,2)} /ProxyStep/ && $6=="parent=#" op {s=$4} $1=="state" && $4==s {print $5}' \
        "$scratch/five.progress" | tr '\n' ' ')" "10 11 12 "
is "rank is 0 in API events of rank 1, right in Coll and ProxyOp" \
    "$(awk '/^start/ && / (GroupApi|CollApi|Group|KernelLaunch|Coll|ProxyOp) / {print $5 $7}' "$scratch/five.q" | LC_ALL=C sort -u | tr '\n' ' ')" \
    "CollApirank=0 Collrank=1 GroupApirank=0 Grouprank=0 KernelLaunchrank=0 ProxyOprank=1 "
is "the kernel's own time is handed over" "$(awk '/KernelCh/ {sub(/.*ptimer=/,""); a=$1} / 22 args/ {sub(/.*value=/,""); print ($1>a)}' "$scratch/five.p")" 1

for v in 2.26.2:3 2.27.3:4 2.28.9:5 2.30.7:6 2.31.2:7; do
    plugin "v${v#*:}" "version=${v%:*},ib=0" AllReduce:100:2 AllGather:10 SendRecv:5 || :
    like "${v%:*}: interface ${v#*:}" "$(head -1 "$scratch/v${v#*:}.p")" "init v=${v#*:} *"
    is "${v%:*}: all-reduces count by themselves" "$(sed -n 's/.* Coll .*seq=\([0-9]*\) func=AllReduce .*/\1/p' "$scratch/v${v#*:}.p" | tr '\n' ' ')" "0 1 "
    like "${v%:*}: an all-gather is bytes" "$(grep ' Coll .*AllGather' "$scratch/v${v#*:}.p")" "*count=40 type=ncclInt8*"
done
is "2.31: channels are watched by a thread of their own" \
    "$(sed -n 's/^start v=7 tid=\([0-9]*\) .* KernelCh .*/\1/p; s/^start v=7 tid=\([0-9]*\) .* ProxyOp .*/\1/p' "$scratch/v7.p" |
        sort -u | wc -l)" 2
is "2.30: by the progress thread" \
    "$(sed -n 's/^start v=6 tid=\([0-9]*\) .* KernelCh .*/\1/p; s/^start v=6 tid=\([0-9]*\) .* ProxyOp .*/\1/p' "$scratch/v6.p" |
        sort -u | wc -l)" 1
is "every channel's start has its end" "$(for v in 3 4 5 6 7; do awk '/ KernelCh /{k[$4]=1; n++} /^stop/ && ($4 in k) {n--}
    END {print n}' "$scratch/v$v.p"; done | tr '\n' ' ')" "0 0 0 0 0 "
is "before 5 there are no API events" "$(grep -c Api "$scratch/v4.p")" 0
is "and a call's parent is its group" "$(awk '/ Group / {g=substr($4,2)} / Coll / && $6!="parent=#" g {bad=1} END {print bad+0}' "$scratch/v4.p")" 0
plugin tag version=2.31.2,ib=0 Tagged
like "2.31: a user's tag" "$(grep ' Coll ' "$scratch/tag.p")" "*tag=77"
plugin_name=log plugin suffix version=2.23.4 AllReduce
is "2.23 does not complete names" "$(cat "$scratch/suffix.p" 2>/dev/null)" ""
plugin_name=libnccl-profiler-log.so plugin one version=2.23.4 AllReduce
like "2.23: interface 1, with numbers" "$(grep ' Coll ' "$scratch/one.p")" "*func=4 *type=7 op=0 *algo=1 proto=0"
plugin_name=none plugin no version=2.28.9 AllReduce
is "none is none" "$(ls "$scratch" | grep -c '^no\.log')" 0
plugin parts version=2.28.9,ib=0 AlltoAll:10 Gather:10 Group:10
is "AlltoAll and Gather are Sends and Receives" \
    "$(grep -c 'P2pApi.*func=Send' "$scratch/parts.p") $(grep -c 'P2pApi.*func=Recv' "$scratch/parts.p") $(grep -c ' P2p ' "$scratch/parts.p")" "3 4 7"
is "a group is one launch and one Group" "$(grep -c ' CollApi ' "$scratch/parts.p") $(grep -c KernelLaunch "$scratch/parts.p") $(grep -c ' Group ' "$scratch/parts.p")" "2 3 3"
plugin single version=2.28.9 Single Broadcast
is "a communicator of one rank has events of init and finalize only" "$(grep -c 'nranks=1' "$scratch/single.p") $(grep -c AllReduce "$scratch/single.p")" "1 0"
plugin bcast version=2.30.7,ib=0 Broadcast
is "2.30: a broadcast is seen by its API event alone" "$(grep -c CollApi "$scratch/bcast.p") $(grep -c ' Coll ' "$scratch/bcast.p")" "1 0"
LOG_PROFILER_MASK=0x602 plugin mask version=2.28.9,ib=0 AllReduce:100
is "the mask: no proxies, no launch; parents come unasked" "$(grep -o -E '^start .* (Group|GroupApi|CollApi|Coll|ProxyOp|KernelCh|KernelLaunch) ' \
    "$scratch/mask.p" | sed 's/.* \([A-Za-z]*\) $/\1/' | sort | tr '\n' ' ')" "Coll CollApi Group GroupApi "
LOG_PROFILER_MASK=0x40 plugin intra version=2.28.9 Graph:100:2
is "replays: the calls come again, from another thread, when channels are watched" "$(grep -c ' Coll ' "$scratch/intra.p") $(grep -c captured=1 "$scratch/intra.p")" "2 2"
plugin pxn version=2.28.9,ib=0,pxn=1 AllReduce:100
is "PXN: another process's pid and pointers" "$(grep -c "ProxyOp parent=#$((0x7f1234567890)) .*pid=foreign" "$scratch/pxn.p")" 2
plugin lost version=2.28.9,ib=0,lost_stops=1 AllReduce:100:7
is "stops that never come" "$(($(grep -c '^start' "$scratch/lost.p") - $(grep -c '^stop' "$scratch/lost.p")))" 2
LOG_PROFILER_LAZY=1 plugin lazy version=2.28.9,ib=0 AllReduce:100
is "handles that a plugin does not write are not used" "$(grep -c -E '^(stop|state)' "$scratch/lazy.p")" 0
LOG_PROFILER_FAILS=1 plugin fails version=2.28.9,ib=0 AllReduce:100
is "2.28 goes on with a plugin whose init failed" "$(grep -c ' Coll ' "$scratch/fails.p")" 1
LOG_PROFILER_FAILS=1 plugin fails7 version=2.27.3,ib=0 AllReduce:100
is "2.27 does not" "$(grep -c ' Coll ' "$scratch/fails7.p")" 0

# ---- external network plugins -----------------------------------------------------------------------------------------------
for v in 2.18.5:6 2.19.3:7 2.21.5:8 2.24.3:9 2.27.3:10 2.28.9:11 2.30.7:12; do
    n=net${v#*:}
    NCCL_NET_PLUGIN=log LOG_NET=$scratch/$n.log logged "$n" "version=${v%:*},wire_bytes=100000" AllReduce:50000:2 SendRecv:10
    ok "${v%:*}: plugin of interface ${v#*:}" has "$n" "NET/Plugin: Loaded net plugin LogNet \(v${v#*:}\)"
    ok "${v%:*}: channels go over it" has "$n" 'Channel 00/0 : 0\[0\] -> 1\[1\] \[send\] via NET/LogNet/0$'
    for f in "$scratch/$n".log.*; do
        is "${v%:*}: bytes each way, and everything is given back" \
            "$(awk '/^isend/{s+=$2} /^irecv/{r+=$2} /^done/{d+=$2} /^reg/{g++} /^dereg/{g--} /^(listen|connect|accept)/{o++}
                    /^close/{o--} END {print s, r, d, g, o}' "$f")" "200040 200040 400080 0 0"
    done
done
is "from 11 on a context for each communicator" "$(grep -c finalize "$f")" 1
NCCL_NET_PLUGIN=log LOG_NET_FAILS=1 logged netfails version=2.28.9 AllReduce
ok "a plugin that fails is told" has netfails 'Failed to initialize NET plugin LogNet'
ok "and what is built in is used" has netfails 'via NET/IB'
NCCL_NET_PLUGIN=log LOG_NET_DEVICES=0 logged netempty version=2.28.9 AllReduce
ok "so it is without devices" has netempty 'via NET/IB'
NCCL_NET_PLUGIN=nosuch logged netmissing version=2.28.9,ib=0 AllReduce
ok "a plugin that is not there is told" has netmissing 'NET/Plugin: Could not find: nosuch'
NCCL_NET_PLUGIN=log NCCL_NET=Socket logged netnot version=2.28.9 AllReduce
ok "NCCL_NET passes it over" has netnot 'via NET/Socket'

done_testing
