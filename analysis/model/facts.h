/* facts.h - what the passes measured, for the findings that judge it (pass/find_*.c).
 *
 * Filled by the passes when they finish, read by the finders after them. Owned by the engine, which frees it; what its
 * pointers lead to belongs to the job or to the pass that filled it, and lives as long. */
#ifndef TRSHIM_ANALYSIS_FACTS_H
#define TRSHIM_ANALYSIS_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/event.h"
#include "analysis/model/histogram.h"
#include "analysis/report/report.h"

struct gpu_info;
struct memory;
struct group;
struct process;
struct rank;

/* What one rank's GPU did in the windows that count. */
struct gpu_facts {
    const struct gpu_info *info; /* the device that counts; NULL unknown */
    uint64_t windows;            /* that lie on the GPU timeline; 0: no GPU, or nothing of it in the trace */
    uint64_t gap_windows;        /* left out, because GPU times may be missing in them */
    uint64_t window_ns, kernels, kernel_ns;
    uint64_t launched, queued_ns;  /* kernels whose launch is known, and their time from launch to start */
    uint64_t short_gap_ns;         /* idle in stretches shorter than TH_SHORT_GAP_NS */
    uint64_t pageable_ns;          /* exposed in large copies from or to pageable memory */
    uint64_t syncs, after_sync_ns; /* of the training thread; idle after them, data and checkpoints apart */
    uint64_t micro_batches;        /* hand-offs of the DataLoader */
    uint64_t host_wait_ns;         /* the training thread's wait for data, hidden or not */
    double flop[TR_dtype_MAX];     /* asked of cuBLAS */
    uint64_t htod_bytes, dtoh_bytes, large_htod;
    uint64_t pageable_copies, pageable_bytes, pageable_copy_ns; /* large ones */
    /* Over the steady part of the run; filled by pass_gpu. */
    uint64_t compute_ns, gemm_ns; /* kernels that compute, and of those the ones whose work is counted */
    uint64_t graph_gemm_ns;       /* products that graphs ran, until it is known whether their work is counted */
    bool graph_work;              /* it is */
    double mfu;                   /* NAN unknown */
    bool work_told;               /* by the user, rather than counted */
};

/* Copies of one kind from or to one kind of memory, of all ranks; and the large ones among them. */
struct copy_facts {
    uint64_t count, bytes, time_ns, large_bytes, large_ns;
};

/* One rank's windows, those that count (complete, not warm-up). */
#define FACTS_WAITS_MAX 8192
struct rank_facts {
    const struct rank *rank;
    uint64_t windows, window_ns, class_ns[BC_MAX];
    float *waits; /* owned; data wait of the first FACTS_WAITS_MAX windows, ns */
    size_t nr_waits;
    struct histogram step_lengths;
    struct gpu_facts gpu;
    /* Windows whose communication is split into waiting and transferring, and their sums. */
    uint64_t comm_windows, comm_window_ns, comm_wait_ns, comm_transfer_ns, pp_bubble_ns, comm_overlapped_ns;
    bool has_workers; /* by the name of its DataLoader ranges */
    /* The training thread itself, in its data time and in all windows. */
    uint64_t data_ns, data_read_ns, data_blocked_ns; /* over all windows */
    uint64_t cpu_ns, runnable_ns, cpu_span_ns;       /* over the steady part; span 0: not known */
};

/* One loader process (or a training process that loads for itself), over the steady part of the run. */
struct loader_facts {
    const struct process *process;
    const struct rank *rank;
    uint64_t span_ns;                             /* how long it was there */
    uint64_t read_ns, meta_ns, recv_ns, write_ns; /* inside calls on data: files, their directories, peers */
    uint64_t sleep_ns, other_wait_ns, idle_ns;    /* idle: waiting to be told what to load */
    uint64_t cpu_ns, runnable_ns;
    uint64_t batches, batch_bytes, bytes;
};

/* I/O of one group by loaders while steps ran. */
struct group_facts {
    const struct group *group;
    uint64_t read_ns, meta_ns, reads, opens, bytes, device_bytes, known_bytes, random_bytes;
    struct histogram reads_ns;
};

/* What the training processes did with files before their first step. */
struct start_facts {
    uint64_t software_ns, software_calls, software_failed; /* imports */
    const struct group *software;                          /* where most of it lies; NULL */
    uint64_t load_ns, load_bytes;
    const struct group *load; /* likewise */
};

struct facts {
    struct rank_facts *ranks; /* owned */
    size_t nr_ranks;
    struct memory *memory; /* owned; a list */
    struct copy_facts copies[TR_copy_kind_MAX][TR_memory_kind_MAX];
    struct loader_facts *loaders; /* owned */
    size_t nr_loaders;
    struct group_facts *groups; /* owned */
    size_t nr_groups;
    struct start_facts start;
    const struct instances *instances; /* borrowed from pass_breakdown, as the next one */
    struct coll_stats *collectives;
    const struct transport *transport; /* what NCCL said; borrowed from its pass */
    uint64_t lost, unknown;            /* of the inputs */
    uint64_t gpu_lost, gpu_told;       /* records of what ran on GPUs, in processes that lost some */
    bool profile; /* one of them is a profiler's: few steps, no events of files, waits and workers */

    /* What earlier finders blamed, so that later ones can tell what follows from it. */
    bool cpu_short;           /* cpu-affinity was raised */
    const struct group *slow; /* small-files or storage-slow was raised for it; NULL */
    const char *slow_id;      /* which of the two */
};

/* All loaders of a rank together. */
struct loader_sum {
    size_t nr;                 /* processes over the whole run: each epoch may have its own */
    size_t at_once;            /* most at one time: the number of workers */
    uint64_t span_ns, busy_ns; /* busy: not waiting to be told what to load */
    uint64_t read_ns, meta_ns, recv_ns, blocked_ns, idle_ns, cpu_ns, runnable_ns, batches, batch_bytes, bytes;
    const struct loader_facts *slowest; /* most busy time a batch */
};

struct facts *facts_new(void);
void facts_free(struct facts *facts); /* accepts NULL */

/* rank NULL: of all ranks. */
struct loader_sum facts_loaders(const struct facts *facts, const struct rank *rank);

/* Where loaders on `host` spent most time; peers or files. NULL if nowhere. */
const struct group_facts *facts_slowest_group(const struct facts *facts, uint32_t host, bool peer);

const struct rank_facts *facts_rank(const struct facts *facts, const struct rank *rank);

#endif
