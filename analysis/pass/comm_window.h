/* comm_window.h - what exposed communication of a step window was: waiting for others, or moving bytes.
 *
 * pass_breakdown gives calls and communication kernels as they come, and each stretch of time that it has summed up. An
 * instant of exposed communication is one of waiting while every communication kernel that runs then waits for somebody
 * (model/instances.h), which is known only when the kernels of all ranks concerned have been told. So a window's row
 * lies here until that is so, and is added to the report then; rows of one rank in their order. What nobody will tell
 * any more (a rank that is not in the trace, a kernel without a call) stays unknown. Memory is bounded by how far ranks
 * are apart, and by TH_COMM_PENDING_MAX kernels for a rank. One thread. */
#ifndef TRSHIM_ANALYSIS_PASS_COMM_WINDOW_H
#define TRSHIM_ANALYSIS_PASS_COMM_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/model/coll_stats.h"
#include "analysis/model/comm_lane.h"
#include "analysis/model/instances.h"
#include "analysis/model/map.h"
#include "analysis/report/report.h"

struct event;
struct gpu_window;
struct job;
struct rank_facts;

/* A rank's part. */
struct comm_rank {
    struct comm_chunk *first, *last; /* owned; stretches and rows that wait, in order */
    size_t nr_pending;               /* kernels in them */
    uint64_t previous_ns;            /* length of the latest stretch */
    /* Of the row that comes next, as far as known. */
    uint64_t exposed_ns, wait_ns, bubble_ns, unknown_ns;
    struct rank_facts *facts;
};

struct comm_windows {
    struct job *job;
    struct report *report;
    struct instances instances;
    struct coll_stats stats;
    struct comm_lane **lanes; /* owned; of processes that called NCCL */
    size_t nr_lanes;
    struct map by_process;
    struct comm_rank *ranks; /* owned; of job->ranks */
};

int comm_windows_init(struct comm_windows *all, struct job *job, struct report *report); /* 0 or -ENOMEM */
void comm_windows_done(struct comm_windows *all);

/* Takes a call or a kernel. 0 or -ENOMEM. */
int comm_windows_event(struct comm_windows *all, const struct event *event);

/* [from, to) of the rank is summed up. 0 or -ENOMEM. */
int comm_windows_sum(struct comm_windows *all, size_t rank, const struct gpu_window *gpu, uint64_t from_ns,
                     uint64_t to_ns);

/* Takes the row of a window of which all was summed up. 0 or -errno. */
int comm_windows_row(struct comm_windows *all, size_t rank, const struct report_step *row);

/* Adds the rank's rows that are known to the report. 0 or -errno. */
int comm_windows_advance(struct comm_windows *all, size_t rank);

/* Nothing more comes: all rows are added. 0 or -errno. */
int comm_windows_finish(struct comm_windows *all);

#endif
