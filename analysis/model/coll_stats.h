/* coll_stats.h - collectives summed up by communicator, operation and size class. Filled as calls and kernels come,
 * read by pass_collectives and the findings. Memory grows with classes. One thread. */
#ifndef TRSHIM_ANALYSIS_MODEL_COLL_STATS_H
#define TRSHIM_ANALYSIS_MODEL_COLL_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/event.h"
#include "analysis/model/map.h"

struct communicator;

struct coll_class {
    const struct communicator *comm;
    uint8_t op, size_class;    /* size_class: bytes are below 2^size_class */
    uint64_t instances, bytes; /* bytes: of all instances, one call on one rank each */
    /* Of the kernels that ran for it, on all ranks; of a fused kernel the part by bytes. */
    double kernels, time_ns;
    double known, wait_ns, transfer_ns, transfer_bytes; /* known: kernels whose wait is known */
    /* Filled by pass_collectives. */
    const char *role, *transport; /* of its communicator: TP, PP, DP, EP; slowest connection; NULL unknown */
    double expected;              /* busbw that large ones should reach, bytes/s; NAN unknown */
    bool between_hosts;
    uint64_t algos[TR_coll_algo_MAX], protos[TR_coll_proto_MAX]; /* instances by what NCCL chose */
};

/* Zeroed is empty. */
struct coll_stats {
    struct coll_class *classes; /* owned */
    size_t nr, capacity;
    struct map by_key;
};

void coll_stats_done(struct coll_stats *stats);

/* The class of calls of `bytes`; NULL: out of memory. Valid until the next one is asked for. */
struct coll_class *coll_stats_class(struct coll_stats *stats, const struct communicator *comm, uint8_t op,
                                    uint64_t bytes);

/* Bus bandwidth over transfer time, bytes/s; NAN unknown. */
double coll_busbw(const struct coll_class *class);

/* By what algbw is multiplied to give busbw (nccl-tests). */
double coll_bus_factor(uint8_t op, int32_t nranks);

#endif
