/* report.h - what the passes found: tables, findings, data quality. The one thing emitters read.
 *
 * Passes fill it through report_add_*() and finding.h, in any order; report_finish() then orders what must be ordered,
 * and emitters only read. Field names are those of `trshim report --json` (schema trshim-report/1). Times ns, sizes
 * bytes, shares 0..1. Unknown is TR_UNKNOWN (integers), NAN (doubles) or NULL (strings), and becomes null in JSON.
 * Strings handed in are borrowed for the call: the report keeps copies. One thread. Never prints. */
#ifndef TRSHIM_ANALYSIS_REPORT_H
#define TRSHIM_ANALYSIS_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/report/lang.h"

#define TR_UNKNOWN INT64_MIN
#define REPORT_SCHEMA "trshim-report/1"

/* Steady steps below which a share says little: the report and its findings then say so. */
#define REPORT_SHORT_RUN_STEPS 10
#define REPORT_PROFILE_STEPS 3 /* the same for a profile, which holds few steps on purpose */

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

struct report_input {
    const char *path, *kind;
    uint64_t events, lost;
    const char *problem; /* what could not be read and why, one line; NULL if all was */
};

struct report_version {
    const char *key, *value; /* python, torch, glibc, kernel, ... */
};

struct report_rank {
    int rank; /* global rank; -1 unknown */
    int attempt;
    uint32_t host, pid;
    const char *host_name; /* as NCCL tells hosts apart: NCCL_HOSTID where that is set */
    const char *machine;
    int64_t device;          /* ordinal of its GPU; TR_UNKNOWN */
    const char *gpu_name;    /* NULL unknown */
    const char *rank_source; /* "env", "order", "single": how the rank is known */
    struct report_version *versions;
    size_t nr_versions;
};

struct report_step {
    uint32_t step;
    int rank;
    bool warmup, incomplete;
    uint64_t start_ns, end_ns;                                                /* CLOCK_MONOTONIC of the rank's host */
    int64_t class_ns[BC_MAX];                                                 /* sums to end_ns - start_ns */
    int64_t comm_wait_ns, comm_transfer_ns, pp_bubble_ns, comm_overlapped_ns; /* TR_UNKNOWN without arrival data */
    int64_t dataloader_host_wait_ns; /* the training thread's wait, hidden or not */
    double flop;                     /* asked of cuBLAS; NAN unknown */
    int64_t kernels;                 /* that began in it; TR_UNKNOWN without a GPU timeline */
    double launch_latency_ns;        /* mean from launch to start; NAN unknown */
    double queue_depth;              /* mean number of kernels launched but not begun; NAN unknown */
};

/* How the run was cut into steps. Filled by the pass in place (report->steps); counts and times are kept by
 * report_add_step(). */
struct report_steps {
    const char *method; /* "mark", "nvtx", "optimizer", "dataloader", "collective", "kernel"; "run" for one window */
    double confidence;  /* 0..1; below 0.6 the run is one window */
    uint64_t count;     /* distinct step numbers */
    uint64_t warmup;    /* of those, flagged as warm-up on some rank */
};

/* Sums over the windows of one rank that count: complete and not warm-up, or, when there are none, all. */
struct report_breakdown {
    int rank;         /* INT_MIN in the mean over ranks */
    uint64_t steps;   /* windows summed */
    bool all_windows; /* no steady window: warm-up and incomplete ones are summed */
    uint64_t window_ns;
    int64_t class_ns[BC_MAX];                             /* sums to window_ns */
    int64_t comm_wait_ns, comm_transfer_ns, pp_bubble_ns; /* TR_UNKNOWN: see REPORT_COMM_KNOWN */
    int64_t comm_overlapped_ns;                           /* TR_UNKNOWN if so in any window */
    int64_t dataloader_host_wait_ns;
    /* Windows whose exposed communication is split: their length, and what is known of them. */
    int64_t comm_known_ns, known_exposed_ns, known_wait_ns, known_bubble_ns;
};

/* Exposed communication is split in the sums when it is in windows of this share of the time; the others are taken to
 * be like them. */
#define REPORT_COMM_KNOWN 0.9

struct report_io {
    const char *mount; /* mount point, NULL for a peer */
    const char *fstype, *source;
    const char *group; /* directory group, or NULL */
    const char *peer;  /* host:port, or NULL */
    uint64_t opens, reads, writes, bytes_read, bytes_written, files_failed;
    uint64_t read_ns, write_ns, metadata_ns;
    double mean_read; /* bytes */
    double p50_read_ns, p95_read_ns, p99_read_ns;
    double metadata_share; /* of the time spent in this group */
    double cache_share;    /* of the bytes read, NAN unknown */
    double sequential_share;
};

struct report_worker {
    int rank;
    uint32_t host, pid;
    uint64_t reading_ns, cpu_ns, runnable_ns; /* over the steady part of the run */
    uint64_t blocked_ns;                      /* waiting to be told what to load: idle */
    uint64_t waiting_ns;                      /* blocked elsewhere: sleeps, locks, a process */
    uint64_t span_ns; /* how long it was there; the parts may overlap (reading from page cache is CPU time) */
    uint64_t batches, bytes_read;
};

struct report_checkpoint {
    int rank;
    const char *path; /* final name */
    uint64_t bytes, start_ns, duration_ns, stall_ns;
    int64_t step;  /* TR_UNKNOWN before the first */
    bool sync;     /* the training thread waited for it */
    int safe;      /* 1 fsync and atomic rename, 0 not, -1 unknown */
    bool survives; /* not unlinked or replaced by the end of the trace */
};

/* ---- GPUs ---- */

/* Kernels of one name on all ranks. */
struct report_kernel {
    const char *name; /* NULL: those whose name is not known */
    const char *kind; /* "compute", "comm", "copy" */
    uint64_t count, total_ns;
    double mean_ns, share; /* of the time of all kernels */
};

/* Copies of one kind on all ranks. */
struct report_copy {
    const char *kind;   /* "HtoD", "DtoH", ... */
    const char *memory; /* of the host's side: "pageable", "pinned", ...; of the source for others */
    uint64_t count, bytes, time_ns;
    double bandwidth; /* bytes/s while copies ran */
    double expected;  /* what the link should give; NAN unknown */
};

/* What one rank's GPU did in the steps that count. */
struct report_gpu {
    int rank;
    int64_t device;   /* ordinal in the process; TR_UNKNOWN */
    const char *name; /* NULL unknown */
    uint64_t kernels; /* a step, on average */
    double mean_kernel_ns, launch_latency_ns, queue_depth;
    double flop;              /* a step, on average; NAN unknown */
    double flops;             /* FLOP/s over the steps' time */
    double peak_flops;        /* of this GPU for the types used; NAN unknown */
    double mfu;               /* share of that peak; NAN unknown */
    const char *dtype;        /* of most of the work; NULL unknown */
    double tokens_per_second; /* with --tokens-per-step; NAN without */
};

struct report_owner {
    const char *name;
    uint64_t peak;
};

/* A frame of a call stack. NULL and TR_UNKNOWN: what could not be found out (analysis/symbols). */
struct report_frame {
    const char *module, *build_id; /* path of the file, and its build id */
    uint64_t offset;               /* in it, of the return address */
    const char *function, *file;
    int64_t line;
};

/* A call stack that took memory of a device. */
#define REPORT_SITES_MAX 10
struct report_site {
    uint64_t bytes, segments;    /* live when most was taken */
    struct report_frame *frames; /* innermost first */
    size_t nr_frames;
};

/* An allocation that failed for good. */
struct report_failure {
    uint64_t bytes;
    int64_t free, cached_free, largest_hole; /* TR_UNKNOWN */
    int64_t short_by;                        /* capacity: what is missing; TR_UNKNOWN for other verdicts */
    const char *verdict;                     /* "limit", "fragmentation", "capacity" */
};

/* Memory of one device as one rank used it. At peak: when most was reserved. TR_UNKNOWN without events of blocks. */
struct report_memory {
    int rank;
    int64_t device;
    int64_t total; /* of the device; TR_UNKNOWN */
    uint64_t reserved_peak;
    int64_t allocated_peak;
    double fragmentation_at_peak; /* split free of reserved; NAN unknown */
    int64_t split_free_at_peak;   /* free within segments that are also in use */
    int64_t largest_hole;         /* at that time */
    uint64_t retries;             /* failed allocations that were tried again with success */
    const struct report_owner *owners;
    size_t nr_owners;
    const struct report_site *sites; /* those that held most; of large segments alone */
    size_t nr_sites;
    const struct report_failure *failures;
    size_t nr_failures;
};

/* ---- NCCL ---- */

struct report_communicator {
    const char *id; /* NCCL's, or "N ranks" where it gave none */
    int64_t nranks;
    uint64_t nr_known;      /* ranks whose host is known */
    uint64_t nodes;         /* hosts of those */
    const char *role;       /* NULL unknown */
    double role_confidence; /* NAN unknown */
    const int *ranks;       /* global ranks of those that are known, in its order */
    size_t nr_ranks;
};

/* Collectives of one communicator, operation and size class. */
struct report_collective {
    const char *comm; /* id of the communicator */
    const char *role; /* of it; NULL unknown */
    const char *op;
    int64_t bytes;            /* of one call on one rank, mean; TR_UNKNOWN */
    uint64_t count;           /* instances */
    int64_t time_ns, wait_ns; /* of its kernels, on all ranks together; TR_UNKNOWN without kernels, or arrivals */
    double algbw, busbw;      /* bytes/s over transfer time; NAN unknown */
    double expected;          /* busbw that the connection should give; NAN unknown */
    const char *algo, *proto; /* of most; NULL unknown */
    const char *transport;    /* slowest kind of connection between its ranks; NULL unknown */
};

enum transport_source { TRANSPORT_LOG, TRANSPORT_PROXY, TRANSPORT_SOCKET, TRANSPORT_NET, TRANSPORT_SOURCE_MAX };
extern const char *const transport_source_names[TRANSPORT_SOURCE_MAX]; /* "log", "proxy", "socket", "net" */

/* What one host says about its connections of one kind to another, or within itself. */
struct report_transport {
    const char *comm, *host, *peer_host; /* NULL unknown */
    const char *kind;                    /* "NET/IB", "NET/Socket", "NET/<plugin>", "P2P", "SHM" */
    uint64_t channels;                   /* different ones, at most 64 are told apart */
    uint64_t connections;                /* as told by ends on this host */
    int gdr;                             /* 1 all of them, 0 not all, -1 not a network */
    int pxn;                             /* 1 some go over another rank's NIC, 0 none, -1 not a network */
    unsigned sources;                    /* who tells of it: bits of enum transport_source */
    const char *told;     /* the same in words, for text, NULL: a log alone; made by report_add_transport */
    int agree;            /* of several sources; -1: there is one only */
    int64_t socket_bytes; /* that NCCL wrote to sockets to that host; TR_UNKNOWN: none to speak of */
};

enum severity { SEVERITY_LOW, SEVERITY_MEDIUM, SEVERITY_HIGH, SEVERITY_MAX };

extern const char *const severity_names[SEVERITY_MAX]; /* "low", "medium", "high" */

/* A finding as emitters see it; passes make one through finding.h, which also says how the sentences come about. */
struct report_finding {
    const char *id; /* stable id, e.g. "dataloader-bound" */
    enum severity severity;
    double confidence;       /* 0..1 */
    int64_t lost_ns;         /* per culprit rank, whole run; TR_UNKNOWN if it has no such measure */
    double lost_gpu_seconds; /* all ranks together (ranks' time on a job without GPUs); NAN unknown */
    int *ranks, *victims;    /* ascending */
    size_t nr_ranks, nr_victims;
    const char **hosts;
    size_t nr_hosts;
    const char *caused_by;          /* id of another finding, or NULL */
    const char *what, *cause, *fix; /* sentences in report->lang */
    const char *brief;              /* the decisive numbers on half a line */
    const char **evidence;          /* each with its numbers */
    size_t nr_evidence;
    const char **others; /* what else it could be, and how to tell */
    size_t nr_others;
};

struct report_quality {
    uint64_t events, lost, unmatched, unknown, unresolved, gaps;
    uint64_t gpu_lost;      /* records of kernels, copies and memsets that CUPTI or the recorder could not keep */
    int64_t clock_error_ns; /* TR_UNKNOWN; 0 on one host */
    uint64_t recorder_cpu_ns;
};

/* Something the reader of the report must know that is no finding, e.g. that there were no steps. */
struct report_note {
    const char *key, *text; /* text in report->lang */
};

/* Step time over the run for the sparkline: point i tells of `stride` steps from i*stride on, complete ones only. */
#define REPORT_SERIES_MAX 256
struct report_series {
    uint64_t stride;
    size_t nr;
    struct {
        uint64_t sum_ns, max_ns, count;
    } points[REPORT_SERIES_MAX];
};

struct report {
    enum lang lang;
    const char *title; /* what the user calls the run, or NULL */

    struct report_input *inputs;
    size_t nr_inputs;
    struct report_rank *ranks;
    size_t nr_ranks;
    int world_size;             /* -1 unknown */
    size_t nr_hosts;            /* as NCCL tells them apart, where it does */
    size_t nr_machines;         /* each with a clock of its own */
    uint64_t first_ns, last_ns; /* of the events; 0, 0 without any. Set by the engine */

    struct report_steps steps;
    struct report_series series;
    struct report_breakdown mean;      /* see report_breakdown() */
    struct report_breakdown *per_rank; /* ascending by rank after report_finish() */
    size_t nr_per_rank;

    struct report_io *io;
    size_t nr_io;
    struct report_worker *workers;
    size_t nr_workers;
    struct report_checkpoint *checkpoints;
    size_t nr_checkpoints;
    struct report_kernel *kernels; /* by time */
    size_t nr_kernels;
    struct report_copy *copies;
    size_t nr_copies;
    struct report_gpu *gpus;
    size_t nr_gpus;
    struct report_memory *memory;
    size_t nr_memory;
    struct report_communicator *communicators;
    size_t nr_communicators;
    struct report_collective *collectives; /* by time */
    size_t nr_collectives;
    struct report_transport *transports;
    size_t nr_transports;
    struct report_finding *findings; /* by severity, lost time, id; from report_finish() on */
    size_t nr_findings;
    struct report_note *notes;
    size_t nr_notes;
    struct report_quality quality; /* filled in place */

    struct report_private *priv; /* report.c's and finding.c's own */
};

int report_new(enum lang lang, struct report **ret);
void report_free(struct report *report); /* accepts NULL */

/* Copies a string into the report; NULL stays NULL, and is also what comes when memory ran out. */
const char *report_str(struct report *report, const char *text);
const char *report_strf(struct report *report, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Add a row; strings and arrays in it are copied. 0 or -ENOMEM. */
int report_add_input(struct report *report, const struct report_input *row);
int report_add_rank(struct report *report, const struct report_rank *row);
int report_add_io(struct report *report, const struct report_io *row);
int report_add_worker(struct report *report, const struct report_worker *row);
int report_add_kernel(struct report *report, const struct report_kernel *row);
int report_add_copy(struct report *report, const struct report_copy *row);
int report_add_gpu(struct report *report, const struct report_gpu *row);
int report_add_memory(struct report *report, const struct report_memory *row);
int report_add_communicator(struct report *report, const struct report_communicator *row);
int report_add_collective(struct report *report, const struct report_collective *row);
int report_add_transport(struct report *report, const struct report_transport *row);
int report_add_checkpoint(struct report *report, const struct report_checkpoint *row);

/* Adds a step window and updates breakdowns, counts and series. Rows may come in any order; a rank's flags must be
 * final. -EINVAL if its classes do not add up to the window. Many rows go to a temporary file: memory stays bounded. */
int report_add_step(struct report *report, const struct report_step *row);

/* Calls fn for each step row in the order they were added. Stops at non-zero and returns it; -EIO if rows are lost. */
typedef int (*report_step_fn)(void *arg, const struct report_step *row);
int report_each_step(struct report *report, report_step_fn fn, void *arg);

/* What the windows added so far say. One rank's (NULL: none of it), or the mean over ranks (sums over all of them;
 * steps 0 without any window). Valid until the next report_add_step(). */
const struct report_breakdown *report_breakdown(const struct report *report, int rank);
const struct report_breakdown *report_mean(const struct report *report);

/* Share of a window sum, 0 for an empty one. */
double report_share(const struct report_breakdown *breakdown, int64_t ns);

/* Steady windows' length: mean, and percentile p in 0..1 (error below 1 %). NAN without windows. */
double report_step_mean_ns(const struct report *report);
double report_step_percentile_ns(const struct report *report, double p);

/* Adds note `key` of the texts (text_en.def) with NULL-terminated pairs of parameter and value. Once per key. */
int report_note(struct report *report, const char *key, ...) __attribute__((sentinel));

/* Renders findings, sorts, sums up. After it nothing may be added. */
int report_finish(struct report *report);

#endif
