/* instances.h - collectives over all ranks: who has called which, and when its kernels began on each rank.
 *
 * An instance is one collective of a communicator, known by the ordinal of the call on it; from the profiler plugin
 * alone by NCCL's count per function; one Send with its Recv by communicator, source, destination and ordinal. Calls
 * come from comm_lane.h, rank by rank in any order; an instance goes when all have called and nobody refers to it.
 * Memory is bounded by how far ranks are apart, and by INSTANCES_MAX: then the oldest that nobody refers to goes. One
 * thread. */
#ifndef TRSHIM_ANALYSIS_MODEL_INSTANCES_H
#define TRSHIM_ANALYSIS_MODEL_INSTANCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/event.h"
#include "analysis/model/clock_map.h"

struct comm_handle;
struct communicator;
struct process;

#define INSTANCES_MAX (1 << 18)

/* Whom a rank of it waits for. */
enum instance_rule {
    RULE_ALL,    /* everybody for everybody */
    RULE_ROOT,   /* everybody for the root: Broadcast, Scatter */
    RULE_GATHER, /* the root for everybody: Reduce, Gather */
    RULE_PAIR,   /* Send and Recv for each other */
    RULE_NONE,   /* nobody waits, or it is not known for whom */
};

/* When a rank's kernel began, on its host's clock. */
struct instance_start {
    uint64_t ns;
    uint32_t host;
    bool known;
};

struct instance {
    struct instance *chain;         /* of its slot */
    struct instance *older, *newer; /* in order of the first call */
    struct communicator *comm;
    uint64_t key[2];
    uint8_t op, rule, algo, proto, channels;
    int32_t root, other; /* root; source and destination of RULE_PAIR */
    uint32_t ordinal, refs;
    int32_t nr_called, nr_arrived;
    uint64_t bytes; /* of one call on one rank, nccl-tests' size */
    struct instance_start root_start, other_start;
    struct clock_side *sides; /* owned, unless it is `first`; by host that has arrived */
    struct clock_side first;
    size_t nr_sides, capacity_sides;
    const struct comm_handle *caller; /* the first one */
    bool mismatch;                    /* somebody entered it as something else */
};

/* Ranks that entered an instance as different ones. */
struct instance_desync {
    struct communicator *comm; /* NULL none seen */
    const struct comm_handle *first, *second;
    uint8_t first_op, second_op;
    uint64_t first_bytes, second_bytes;
    uint32_t ordinal;
    uint64_t nr; /* instances so entered */
};

struct instances {
    struct instance **slots; /* owned; a power of two */
    size_t nr_slots, nr;
    struct instance *oldest, *newest;
    struct instance_desync desync;
    struct clock_map clock;
    uint64_t nr_dropped; /* for INSTANCES_MAX */
};

void instances_done(struct instances *all);

/* What of a call tells which instance it is. */
struct instance_call {
    const struct comm_handle *handle;
    uint8_t op, type, algo, proto, channels;
    bool by_plugin; /* the plugin alone tells of it: its ordinal is NCCL's */
    int32_t peer;
    uint32_t ordinal;
    uint64_t count;
};

/* Takes a rank's call. The caller gets a reference. 0, -ENOMEM, or -ENOENT if it cannot be told which it is. */
int instances_call(struct instances *all, const struct instance_call *call, struct instance **ret);
void instances_release(struct instances *all, struct instance *instance);

/* The rank's kernel for it ran from `start_ns` to `end_ns`. 0 or -ENOMEM. */
int instances_arrive(struct instances *all, struct instance *instance, const struct comm_handle *handle,
                     uint64_t start_ns, uint64_t end_ns);

enum instance_wait {
    WAIT_KNOWN, /* *ret_ns is set: the last start that the rank depends on, on its host's clock; 0: on nobody */
    WAIT_OPEN,  /* somebody's kernel was not told yet, or clocks are not known yet */
    WAIT_NEVER, /* somebody is not in the trace */
};
enum instance_wait instances_wait(const struct instances *all, const struct instance *instance,
                                  const struct comm_handle *handle, bool sends, uint64_t *ret_ns);

/* Bytes of one element; 0 unknown. Size of a call as nccl-tests count it. */
unsigned nccl_type_bytes(uint8_t type);
uint64_t nccl_call_bytes(uint8_t op, uint8_t type, uint64_t count, int32_t nranks);

#endif
