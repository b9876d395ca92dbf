/* report.h - what the passes found: tables, findings, data quality. The one thing emitters read.
 *
 * Field names are those of `trshim report --json` (schema trshim-report/1). Times ns, sizes bytes, shares 0..1.
 * Unknown is TR_UNKNOWN (integers), NAN (doubles) or NULL (strings), and becomes null in JSON.
 * Strings are owned by the report: report_str() copies one into it. */
#ifndef TRSHIM_ANALYSIS_REPORT_H
#define TRSHIM_ANALYSIS_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TR_UNKNOWN INT64_MIN

/* The classes a step window is split into; they add up to the window exactly.
 * CLASS(name, text heading) in the order of precedence and of the columns. */
#define BREAKDOWN_CLASSES(CLASS)                                                                                       \
    CLASS(compute, "compute")                                                                                          \
    CLASS(comm_exposed, "comm")                                                                                        \
    CLASS(copy_exposed, "copy")                                                                                        \
    CLASS(dataloader, "data")                                                                                          \
    CLASS(checkpoint, "ckpt")                                                                                          \
    CLASS(sync, "sync")                                                                                                \
    CLASS(host, "host")                                                                                                \
    CLASS(other, "other")

enum breakdown_class {
#define CLASS(name, heading) BC_##name,
    BREAKDOWN_CLASSES(CLASS)
#undef CLASS
    BC_MAX
};

struct report_rank {
    int rank;               /* global rank; -1 unknown */
    int attempt;
    uint32_t host, pid;
    const char *host_name;
    const char *rank_source; /* "env", "order", "single": how the rank is known */
    struct { const char *key, *value; } *versions; /* python, torch, glibc, kernel, ... */
    size_t nr_versions;
};

struct report_step {
    uint32_t step;
    int rank;
    bool warmup, incomplete;
    uint64_t start_ns, end_ns;             /* CLOCK_MONOTONIC of the rank's host */
    int64_t class_ns[BC_MAX];              /* sums to end_ns - start_ns */
    int64_t comm_wait_ns, comm_transfer_ns, pp_bubble_ns, comm_overlapped_ns; /* TR_UNKNOWN without arrival data */
    int64_t dataloader_host_wait_ns;       /* the training thread's wait, hidden or not */
};

struct report_io {
    const char *mount;      /* mount point, NULL for a peer */
    const char *fstype, *source;
    const char *group;      /* directory group, or NULL */
    const char *peer;       /* host:port, or NULL */
    uint64_t opens, reads, writes, bytes_read, bytes_written, files_failed;
    uint64_t read_ns, write_ns, metadata_ns;
    double mean_read;       /* bytes */
    double p50_read_ns, p95_read_ns, p99_read_ns;
    double metadata_share;  /* of the time spent in this group */
    double cache_share;     /* of the bytes read, NAN unknown */
    double sequential_share;
};

struct report_worker {
    int rank;
    uint32_t host, pid;
    uint64_t reading_ns, cpu_ns, runnable_ns, blocked_ns; /* over the steady part of the run */
    uint64_t batches, bytes_read;
};

struct report_checkpoint {
    int rank;
    const char *path;       /* final name */
    uint64_t bytes, start_ns, duration_ns, stall_ns;
    int64_t step;           /* TR_UNKNOWN before the first */
    bool sync;              /* the training thread waited for it */
    int safe;               /* 1 fsync and atomic rename, 0 not, -1 unknown */
    bool survives;          /* not unlinked or replaced by the end of the trace */
};

enum severity { SEVERITY_LOW, SEVERITY_MEDIUM, SEVERITY_HIGH };

/* A finding: see findings.h for how passes raise one. Text is kept as message + parameters, and said by emitters in
 * the language asked for. */
struct report_finding {
    const char *id;         /* stable id, e.g. "dataloader-bound" */
    enum severity severity;
    double confidence;      /* 0..1 */
    int64_t lost_ns;        /* per culprit rank, whole run; TR_UNKNOWN if it has no such measure */
    double lost_gpu_seconds;
    int *ranks, *victims;
    size_t nr_ranks, nr_victims;
    const char **hosts;
    size_t nr_hosts;
    const char *caused_by;  /* id of another finding, or NULL */
    const char *what, *cause, *fix;      /* rendered sentences in report->lang */
    const char **evidence;  /* each with its numbers */
    size_t nr_evidence;
    const char **others;    /* what else it could be, and how to tell */
    size_t nr_others;
};

struct report_quality {
    uint64_t events, lost, unmatched, unknown, unresolved, gaps;
    int64_t clock_error_ns;
    uint64_t recorder_cpu_ns;
};

struct report;

#endif
