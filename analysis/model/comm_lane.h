/* comm_lane.h - what one process called of NCCL and which communication kernels ran for it, until windows are summed
 * up.
 *
 * Calls that were launched together are one bundle; a kernel belongs to the bundle inside whose launch it was launched
 * by the same thread. Calls are told when their launch is over, kernels up to seconds later, in no order. Memory is
 * bounded by what is launched and not yet told to have run, and by LANE_CALLS_MAX and LANE_KERNELS_MAX. One thread. */
#ifndef TRSHIM_ANALYSIS_MODEL_COMM_LANE_H
#define TRSHIM_ANALYSIS_MODEL_COMM_LANE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/model/coll_stats.h"
#include "analysis/model/instances.h"

#define LANE_CALLS_MAX 65536
#define LANE_KERNELS_MAX (1 << 19)

struct comm_part {
    struct instance *instance; /* a reference */
    const struct comm_handle *handle;
    uint8_t op;
    bool arrived; /* its first kernel was told */
    int32_t peer;
};

struct comm_bundle {
    uint32_t refs, group;    /* 0: a call alone */
    uint32_t nr_unclear;     /* calls of it that are no part: nobody knows whom they wait for */
    struct comm_part *parts; /* owned */
    size_t nr, capacity;
};

/* A call's launch, as its thread made it. */
struct lane_call {
    uint64_t start_ns, end_ns;
    struct comm_bundle *bundle; /* a reference */
};

struct lane_thread {
    struct lane_thread *next;
    uint32_t tid;
    struct lane_call *calls; /* owned; list[head..nr) in order of start */
    size_t head, nr, capacity;
    struct comm_bundle *last; /* of the latest call; a reference; NULL none */
};

struct lane_kernel {
    uint64_t start_ns, end_ns, queued_ns;
    uint32_t device, tid;
    bool counted;               /* in collectives[] */
    struct comm_bundle *bundle; /* a reference; NULL: not tied to a call */
};

struct comm_lane {
    struct process *process;
    struct lane_thread *threads; /* owned */
    struct lane_kernel *kernels; /* owned; told and not taken */
    size_t nr_kernels, capacity_kernels;
    bool hooked; /* hooks tell its calls: what the plugin tells apart adds to them */
    uint64_t nr_calls, nr_kernels_seen, nr_tied;
};

/* Zeroed but for process is empty. */
void comm_lane_done(struct comm_lane *lane, struct instances *instances);

/* Takes a call of the process. 0 or -ENOMEM. */
int comm_lane_call(struct comm_lane *lane, struct instances *instances, struct coll_stats *stats,
                   const struct comm_handle *handle, const struct tr_coll *coll);

/* Takes a communication kernel of the process. 0 or -ENOMEM. */
int comm_lane_kernel(struct comm_lane *lane, struct instances *instances, const struct tr_kernel *kernel);

/* Tries again for the kernels that no call was known for. 0 or -ENOMEM. */
int comm_lane_tie(struct comm_lane *lane, struct instances *instances);

/* Forgets kernels that ended at or before `to_ns`; no kernel that was launched before `launched_ns` is still to come.
 */
void comm_lane_forget(struct comm_lane *lane, struct instances *instances, uint64_t to_ns, uint64_t launched_ns);

struct comm_bundle *comm_bundle_keep(struct comm_bundle *bundle);
void comm_bundle_release(struct comm_bundle *bundle, struct instances *instances); /* accepts NULL */

/* Until when the kernel waits for others: *ret_ns on its host's clock, 0 not at all. A device of -1 is any. */
enum instance_wait comm_bundle_wait(const struct comm_bundle *bundle, const struct instances *instances,
                                    uint32_t device, uint64_t *ret_ns);

/* Whether all it does is to send to, and receive from, at most two others: what a pipeline's stages do. */
bool comm_bundle_is_pipeline(const struct comm_bundle *bundle);

#endif
