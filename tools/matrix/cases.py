"""What `make matrix` runs: each fault of examples/simtrain in several strengths, clean jobs, and look-alikes.

A case is (name, faults with their strengths, finding that must come, findings that may come of it, options of the job).
`{r}` is a rank that goes with the seed. What may come of a fault is true of the job as well: a fallback to sockets by
NCCL_IB_DISABLE is also an environment that harms; it counts neither for nor against."""

TWO = "--ranks 2 --steps 50"  # a fault of one rank: GPU, data, memory
FOUR = "--ranks 4 --hosts 2 --steps 40"  # long enough to judge shares of time
LOG = "--ranks 4 --hosts 2 --steps 12"  # NCCL's log tells at once
EIGHT = "--ranks 8 --hosts 2 --steps 12"
PIPES = FOUR + " --pp 2"


def sized(fault, *sizes):
    return [f"{fault}:size={size}" for size in sizes]


# No fault, or one that must not be taken for something else.
NONE = None
CLEAN = [
    ("clean, 2 ranks", [""], NONE, "", TWO),
    ("clean, 2 hosts", [""], NONE, "", FOUR),
    ("clean, 2 stages, 8 micro-batches", [""], NONE, "", PIPES + " --micro 8"),
    ("clean, tensor parallel", [""], NONE, "", "--ranks 4 --hosts 2 --steps 40 --tp 2"),
    ("look-alike: steps by NVTX, saves every 15", [""], NONE, "", "--ranks 2 --steps 50 --marks nvtx --checkpoint-every 15"),
]


def case(finding, faults, also="", options=LOG):
    return (finding, faults, finding, also, options)


OURS = ":rank={r}"
FAULTS = [
    case("memory-fragmentation", sized("memory-fragmentation" + OURS, 2.5, 3), "", TWO),
    case("memory-capacity", sized("memory-capacity" + OURS, 8, 12), "", TWO),
    case("alloc-retries", sized("alloc-retries" + OURS, 2.1, 2.3), "", TWO),
    case("pageable-copies", sized("pageable-copies" + OURS, 24, 32, 64), "", TWO),
    case("sync-overuse", sized("sync-overuse" + OURS, 200, 250, 400), "", TWO),
    case("launch-bound", sized("launch-bound" + OURS, 16, 24, 40), "", TWO + " --gradient-mb 0"),
    case("offload-bound", sized("offload-bound" + OURS, 9, 12, 20), "", TWO),
    case("low-mfu", sized("low-mfu" + OURS, 0.08, 0.12), "gpu-slow", TWO),
    case("dataloader-bound", sized("dataloader-bound" + OURS, 1.3, 1.6, 2.5), "", TWO),
    case("nccl-socket-fallback", sized("nccl-socket-fallback", 1, 2, 3, 4, 5), "comm-bound harmful-env nccl-net-plugin-failed"),
    case("nccl-socket-only", sized("nccl-socket-only", 0.6, 1.2, 2.4), "comm-bound"),
    case("nccl-gdr-off", sized("nccl-gdr-off" + OURS, 10, 16, 24), "comm-bound"),
    case("nccl-hca-mismatch", sized("nccl-hca-mismatch" + OURS, 1)),
    case("nccl-wrong-ifname", sized("nccl-wrong-ifname", 1)),
    case("nccl-net-plugin-failed", sized("nccl-net-plugin-failed", 1)),
    case("nccl-topology", sized("nccl-topology" + OURS, 22605)),
    case("ib-errors", sized("ib-errors" + OURS, 20, 40)),
    case("harmful-env", sized("harmful-env", 1, 3)),
    case("nvlink-missing", sized("nvlink-missing" + OURS, 8, 12, 20), "comm-bound", EIGHT),
    case("p2p-disabled", sized("p2p-disabled", 8, 12, 20), "comm-bound harmful-env"),
    case("version-mismatch", sized("version-mismatch" + OURS, 22105)),
    case("shm-limit", ["shm-limit" + OURS], "slow-start"),
    case("host-straggler", sized("host-straggler" + OURS, 60, 90, 120), "", FOUR),
    case("unbalanced-work", sized("unbalanced-work" + OURS, 1.4, 1.8, 2.2), "", FOUR),
    ("gpu-slow", sized("gpu-throttled" + OURS, 1.2, 1.3, 1.6), "gpu-slow", "", FOUR),
    case("comm-bound", sized("comm-bound", 4, 6, 9), "", FOUR),
    case("comm-slow", sized("comm-slow", 3, 4, 6), "comm-bound", FOUR),
    case("no-overlap", sized("no-overlap", 1, 1.2, 1.6), "comm-bound", FOUR),
    case("small-messages", sized("small-messages", 64, 96, 128), "comm-bound no-overlap", "--ranks 4 --hosts 2 --steps 36"),
    case("pipeline-bubble", ["pipeline-bubble"], "", PIPES),
    case("pipeline-imbalance", sized("pipeline-imbalance" + OURS, 1.4, 1.6, 2), "pipeline-bubble", PIPES),
]

CASES = CLEAN + FAULTS
