#!/bin/sh
# Collectives of Kineto traces: calls of several ranks are laid beside each other by PyTorch's numbers, else by counting
# where all ranks have the same ones; what cannot be matched is told as unknown, with a note.
. "${0%/*}/../lib/tap.sh"

# One rank's profile of a step: a little is computed, then all ranks sum up. Times in us. Calls are one line each:
# WHEN NAME ELEMENTS NUMBER FORM. A kernel begins 40 us after its call and ends 100 us after that of the rank that calls
# it last, at `last`.
profile() { # rank last < calls
    awk -v rank="$1" -v last="$2" '
    function row(text) { printf "%s  %s", separator, text; separator = ",\n" }
    function kernel(name, from, length_us, stream, id) { # launched 20 us before it begins
        row(sprintf("{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernelExC\", \"pid\": %d, \"tid\": %d, \"ts\": %d, \"dur\": 10, \"args\": {\"correlation\": %d}}", pid, pid, from - 20, id))
        row(sprintf("{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"%s\", \"pid\": %d, \"tid\": %d, \"ts\": %d, \"dur\": %d, \"args\": {\"device\": %d, \"stream\": %d, \"correlation\": %d}}", name, rank, stream, from, length_us, rank, stream, id))
    }
    BEGIN {
        pid = 100 + rank
        printf "{\"distributedInfo\": {\"backend\": \"nccl\", \"rank\": %d, \"world_size\": 2},\n\"traceEvents\": [\n", rank
        row(sprintf("{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"ProfilerStep#5\", \"pid\": %d, \"tid\": %d, \"ts\": 1000, \"dur\": 9000}", pid, pid))
        kernel("gemm", 1100, 200, 7, 1000 + rank)
    }
    {
        at = sprintf("\"pid\": %d, \"tid\": %d, \"ts\": %d, \"dur\": 50", pid, pid, $1)
        if ($5 == "new") {
            args = "\"Collective name\": \"" $2 "\", \"In msg nelems\": " $3 ", \"Out msg nelems\": " $3 ", \"dtype\": \"Float\", \"Group size\": 2, \"Process Group Name\": \"7\", \"Process Group Description\": \"dp\", \"Process Group Ranks\": \"[0, 1]\", \"In split size\": \"[]\""
            if ($4 != "-")
                args = args ", \"Seq\": " $4
            row("{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"record_param_comms\", " at ", \"args\": {" args "}}")
            row(sprintf("{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"nccl:%s\", \"pid\": %d, \"tid\": %d, \"ts\": %d, \"dur\": 40}", $2, pid, pid, $1 + 5))
        } else
            row("{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"nccl:" $2 "\", " at ", \"args\": {\"Input Dims\": [[2, " $3 / 2 "], []], \"Input type\": [\"float\"]}}")
        split(last, ends, ",")
        kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", $1 + 40, ends[NR] + 140 - ($1 + 40), 9, 10 * rank + NR)
    }
    END { print "\n]}" }'
}
# report PYTHON-EXPRESSION of r (the report), c (its collectives) and s (steps by rank)
report() {
    "$TR" report --json "$scratch/0.json" "$scratch/1.json" >"$scratch/report.json" && "$PYTHON" - "$scratch/report.json" "$1" <<'END'
import json, sys
r = json.load(open(sys.argv[1]))
c, s = r["collectives"], {}
for step in r["steps"]["list"]:
    if step["comm_exposed_ns"]:
        s[step["rank"]] = step
if not eval(sys.argv[2]):
    sys.exit("not so: %s; collectives %s, steps %s" % (sys.argv[2], c, s))
END
}
calls() { # $scratch/out: rank's calls as "op ordinal count", for both
    "$TR" events "$scratch/0.json" "$scratch/1.json" >"$scratch/out" 2>"$scratch/err"
    sed -n 's/.* coll pid=\([0-9]*\) .* op=\([A-Za-z]*\) .* ordinal=\([0-9]*\) .* count=\([0-9]*\) .*/\1 \2 \3 \4/p' "$scratch/out" | sort | tr '\n' ','
}
unmatched() { grep -c 'cannot be matched' "$scratch/report.json"; }

# ---- what a call tells
printf '%s\n' '2000 allreduce 4096 - new' '5200 _allgather_base 100 - new' | profile 0 5000,5200 >"$scratch/0.json"
printf '%s\n' '5000 allreduce 4096 - new' '5200 _allgather_base 100 - new' | profile 1 5000,5200 >"$scratch/1.json"
is "a call is told once, with its size" "$(calls)" \
    "100 AllGather 1 100,100 AllReduce 0 4096,101 AllGather 1 100,101 AllReduce 0 4096,"
is "its group is the same on both ranks" "$(sed -n 's/.* nccl_comm .* rank=\([01]\) nranks=2 .* id=\([0-9]*\) .* name=\(.*\)$/\2 \3/p' "$scratch/out" | sort | uniq -c | sed 's/^ *\([0-9]*\) [0-9]*/\1/')" "2 dp"
ok "both ranks' calls are one instance each" report \
    '[(x["op"], x["bytes"], x["count"]) for x in sorted(c, key=lambda x: x["op"])] == [("AllGather", 800, 1), ("AllReduce", 16384, 1)]'
ok "who is early waits, to the us; who is late moves bytes" report \
    '[(s[i]["comm_wait_ns"], s[i]["comm_transfer_ns"]) for i in (0, 1)] == [(3000000, 200000), (0, 200000)]'
is "and nothing is missing" "$(unmatched)" 0

# ---- older traces: the annotation alone
printf '%s\n' '2000 all_reduce 4096 - old' | profile 0 5000 >"$scratch/0.json"
printf '%s\n' '5000 all_reduce 4096 - old' | profile 1 5000 >"$scratch/1.json"
is "an annotation is a call on the whole job" "$(calls)" "100 AllReduce 0 4096,101 AllReduce 0 4096,"
ok "who is early waits" report 's[0]["comm_wait_ns"] == 3000000 and s[0]["comm_transfer_ns"] == 100000 and s[1]["comm_wait_ns"] == 0'
printf '%s\n' '5000 all_reduce 8192 - old' | profile 1 5000 >"$scratch/1.json"
ok "another size is another call: nobody can say who waits" report 's[0]["comm_wait_ns"] is None and c == []'
is "another size: a note for each file" "$(unmatched)" 2
printf '%s\n' '2000 all_to_all 4096 - old' '6000 reduce_scatter 200 - old' | profile 0 2000,6000 >"$scratch/0.json"
printf '%s\n' '2000 all_to_all 4096 - old' '6000 reduce_scatter 200 - old' | profile 1 2000,6000 >"$scratch/1.json"
is "parts for each rank are told as NCCL counts them" "$(calls)" \
    "100 AlltoAll 0 2048,100 ReduceScatter 1 100,101 AlltoAll 0 2048,101 ReduceScatter 1 100,"
printf '%s\n' '2000 all_to_all 4096 - old' | profile 0 5000 >"$scratch/0.json"
printf '%s\n' '5000 all_to_all 1024 - old' | profile 1 5000 >"$scratch/1.json"
ok "what is exchanged unevenly has no size, but waits" report \
    's[0]["comm_wait_ns"] == 3000000 and [(x["op"], x["bytes"], x["busbw"]) for x in c] == [("AlltoAll", None, None)] and r["findings"] == [f for f in r["findings"] if f["id"] != "collective-desync"]'

# ---- profiles that are cut differently
printf '%s\n' '2000 allreduce 64 - new' '3000 allreduce 64 - new' | profile 0 2500,5000 >"$scratch/0.json"
printf '%s\n' '5000 allreduce 64 - new' | profile 1 5000 >"$scratch/1.json"
ok "not as many calls, no numbers: nobody can say who waits" report 's[0]["comm_wait_ns"] is None and c == []'
is "not as many calls: a note for each file" "$(unmatched)" 2
printf '%s\n' '2000 allreduce 64 40 new' '3000 allreduce 64 41 new' | profile 0 2500,5000 >"$scratch/0.json"
printf '%s\n' '5000 allreduce 64 41 new' | profile 1 5000 >"$scratch/1.json"
is "PyTorch's numbers tell which is which" "$(calls)" "100 AllReduce 40 64,100 AllReduce 41 64,101 AllReduce 41 64,"
ok "and who waits: rank 1 came last to what both have" report 's[1]["comm_wait_ns"] == 0 and [x["count"] for x in c] == [2]'
is "with numbers: no note" "$(unmatched)" 0

# ---- two hosts, the second one's clock 7 ms ahead: known by torch's file names
shifted() { # microseconds: the times of a profile
    awk -v by="$1" '{ if (match($0, /"ts": [0-9]+/)) { at = substr($0, RSTART + 6, RLENGTH - 6)
        $0 = substr($0, 1, RSTART + 5) sprintf("%.0f", at + by) substr($0, RSTART + RLENGTH) } print }'
}
base=1700000000000000
mkdir "$scratch/hosts"
printf '%s\n' '2000 allreduce 64 - new' '5300 allreduce 64 - new' '5600 allreduce 64 - new' |
    profile 0 5000,5500,5600 | shifted $base >"$scratch/hosts/node-a_100.1.pt.trace.json"
printf '%s\n' '5000 allreduce 64 - new' '5500 allreduce 64 - new' '5600 allreduce 64 - new' |
    profile 1 5000,5500,5600 | shifted $((base + 7000)) >"$scratch/hosts/node-b_101.1.pt.trace.json"
two_hosts() { # PYTHON-EXPRESSION
    "$TR" report --json "$scratch"/hosts/*.json >"$scratch/report.json" && "$PYTHON" - "$scratch/report.json" "$1" <<'END'
import json, sys
r = json.load(open(sys.argv[1]))
s = {step["rank"]: step for step in r["steps"]["list"] if step["comm_exposed_ns"]}
e = r["quality"]["clock_error_ns"]
if not eval(sys.argv[2]):
    sys.exit("not so: %s; error %s, steps %s" % (sys.argv[2], e, s))
END
}
ok "two hosts: clocks are laid onto each other by what both ran" two_hosts 'e is not None and 0 <= e <= 200000'
ok "two hosts: who waited, within what clocks are known" two_hosts \
    'abs(s[0]["comm_wait_ns"] - 3200000) <= 3 * e and s[1]["comm_wait_ns"] <= 3 * e'
done_testing
