# Counts in the output of `trshim events` of one Kineto trace what kineto_count.py counts in its JSON.
# Ranges that are operators in some traces and annotations in others are left out by both.
function field(name,    at, rest) {
    at = index($0, " " name "=")
    if (!at)
        return ""
    rest = substr($0, at + length(name) + 2)
    return name == "text" ? rest : substr(rest, 1, index(rest " ", " ") - 1)
}
$3 == "proc" { rank = field("rank") }
$3 == "name" { text[field("id")] = field("text") }
$3 == "kernel" || $3 == "gpu_copy" || $3 == "gpu_set" {
    count[$3 " launched by a thread"] += field("tid") != 0
    count["on device " field("device")]++
}
$3 == "kernel" || $3 == "gpu_copy" || $3 == "gpu_set" || $3 == "cuda_call" {
    count[$3]++
    count[$3 " ns"] += field("dur_ns")
}
$3 == "gpu_copy" { count["bytes copied"] += field("size_bytes") }
$3 == "anchor" && (field("dur_ns") > 0 || field("kind") != "nvtx") { # but the end of a profile of one step
    count["anchor " field("kind")]++
    count["anchor " field("kind") " ns"] += field("dur_ns")
}
$3 == "range" {
    name = text[field("name")]
    if (name == "record_param_comms")
        count[name]++
    else if (name !~ /^(c10d::|Optimizer.zero_grad#)/)
        count["annotation"]++
}
END {
    for (what in count)
        if (count[what])
            printf "%s: %.0f\n", what, count[what] | "LC_ALL=C sort"
    close("LC_ALL=C sort")
    print "rank: " rank
}
