/* source_kineto.h - a Kineto trace (torch.profiler's, or Chrome's format of PyTorch) as a source: what opening it
 * (source_kineto_open.c) leaves for scans (source_kineto.c). */
#ifndef TRSHIM_ANALYSIS_SOURCE_KINETO_H
#define TRSHIM_ANALYSIS_SOURCE_KINETO_H

#include "analysis/input/hosts.h"
#include "analysis/input/kineto_index.h"
#include "analysis/input/source.h"

/* What a scan tells, in this order, but for STEP_until, which comes between events as often as it is due. */
enum kineto_step {
    STEP_proc,
    STEP_attr,
    STEP_gpu,
    STEP_thread,
    STEP_name,
    STEP_comm,
    STEP_group,
    STEP_events,
    STEP_until,
    STEP_cut,
    STEP_end
};

struct source_kineto {
    struct source base;
    struct event_stream stream;
    struct hosts *hosts; /* borrowed */
    struct kineto_index *index;
    int64_t shift_ns;   /* from times of the file to the host's clock */
    int32_t rank;       /* -1 unknown */
    uint32_t name_base; /* each file of a process has its own range of name ids */

    /* The scan: what comes next is item `item` of `step`, for process `process`. */
    unsigned channels;
    enum kineto_step step;
    size_t process, item;
    size_t position;   /* in index->events */
    uint64_t until_ns; /* of the last gpu_until */
    struct event event;
};

extern const struct source_ops source_kineto_ops;

#endif
