/* gpu.h - the GPU timeline of one training process: what its devices were busy with, until that is summed up.
 *
 * Fed by pass_breakdown with kernels, copies and memsets as they come: up to a second late and in no order. Kept per
 * device as three sets of instants (intervals.h): K, compute kernels; C, communication kernels; M, copies and memsets.
 * The device that counts is the one with most compute time so far: a rank trains on one.
 *
 * It also says where on the GPU a step begins: at the start of the first kernel that was launched at or after the
 * anchor, on the stream with most compute time of that device. */
#ifndef TRSHIM_ANALYSIS_MODEL_GPU_H
#define TRSHIM_ANALYSIS_MODEL_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/event.h"
#include "analysis/model/intervals.h"
#include "analysis/model/kernel_kinds.h"

enum gpu_class {
    GPU_COMPUTE,
    GPU_COMM,
    GPU_COPY,     /* copies and memsets */
    GPU_PAGEABLE, /* those of GPU_COPY that are large and from or to pageable memory */
    GPU_STAGED,   /* from or to pageable memory, whatever their size: who asks for one waits */
    GPU_CLASS_MAX
};

/* What is not there, of a stretch of time. */
enum gpu_gap {
    GPU_GAP_MISSED, /* records may be: lost, or another tool had them, or detail had to be lowered */
    GPU_GAP_ASKED,  /* detail is, as somebody asked for */
    GPU_GAP_MAX     /* nothing */
};

struct gpu_launch {
    uint64_t queued_ns, start_ns, end_ns;
};

struct gpu_stream {
    uint32_t device, stream;
    uint64_t compute_ns;
    struct gpu_launch *launches; /* owned; list[head..nr) in order of queued_ns, then start_ns */
    size_t head, nr, capacity;
};

struct gpu_device {
    uint32_t device;
    uint64_t compute_ns;  /* of its compute kernels so far */
    uint64_t until_ns;    /* its records are complete up to here, as it said itself */
    uint64_t last_end_ns; /* of the kernels launched before the end of the loop */
    struct intervals busy[GPU_CLASS_MAX];
};

/* Zeroed but for begin_ns and loop_end_ns is empty. */
struct gpu {
    uint64_t begin_ns;          /* what ended before is of no interest */
    uint64_t loop_end_ns;       /* kernels launched later belong to no step */
    bool no_points;             /* nobody will ask for points */
    struct gpu_device *devices; /* owned */
    size_t nr_devices;
    struct gpu_stream *streams; /* owned */
    size_t nr_streams;
    bool told;                             /* the recorder says how far its records are complete */
    struct intervals gaps[GPU_GAP_MAX];    /* those that are over */
    uint64_t gap_since_ns[TR_gap_why_MAX]; /* of each reason, when the recorder said so; 0 not now */
};

void gpu_done(struct gpu *gpu);

/* Add what was told. 0 or -ENOMEM. */
int gpu_add_kernel(struct gpu *gpu, const struct tr_kernel *kernel, enum kernel_kind kind);
int gpu_add_copy(struct gpu *gpu, const struct tr_gpu_copy *copy);
int gpu_add_set(struct gpu *gpu, const struct tr_gpu_set *set);
int gpu_until(struct gpu *gpu, const struct tr_gpu_until *until);
int gpu_gap(struct gpu *gpu, const struct tr_gap *gap, uint64_t at_ns);

/* Whether there are gaps in [from, to): the gravest. */
enum gpu_gap gpu_has_gap(const struct gpu *gpu, uint64_t from_ns, uint64_t to_ns);

/* The device that counts; NULL as long as no compute kernel was told: then this is no GPU job. */
const struct gpu_device *gpu_main(const struct gpu *gpu);

/* Up to when everything was told, at time `now_ns` of the stream of events. */
uint64_t gpu_complete(const struct gpu *gpu, uint64_t now_ns);

/* Where the step that begins at `point_ns` for the host begins on the GPU. False: not known yet. */
bool gpu_point(const struct gpu *gpu, uint64_t point_ns, uint64_t now_ns, uint64_t *ret_ns);

/* Kernels of the main device that began in [from, to). */
struct gpu_sum {
    uint64_t kernels, kernel_ns;
    uint64_t launched;  /* those whose launch is known */
    uint64_t queued_ns; /* from launch to start, their sum */
};
struct gpu_sum gpu_sum(const struct gpu *gpu, uint64_t from_ns, uint64_t to_ns);

/* Nobody will ask for what ended before `to_ns`, nor for points before `point_ns`. */
void gpu_forget(struct gpu *gpu, uint64_t to_ns, uint64_t point_ns);

#endif
