/* communicators.h - the job's communicators over all ranks, and who is which rank in them.
 *
 * Learned in the survey from nccl_comm events, whoever told them (hooks, profiler plugin, log): what several told of
 * one communicator of one process is one handle. Handles with NCCL's id (2.18 and later) are joined by it. Those
 * without are joined by size and by how many such communicators their process had made before, into the first that
 * misses their rank: ranks make their communicators in one order, or they would hang. Memory grows with communicators
 * and their ranks. One thread. */
#ifndef TRSHIM_ANALYSIS_MODEL_COMMUNICATORS_H
#define TRSHIM_ANALYSIS_MODEL_COMMUNICATORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/event.h"
#include "analysis/model/map.h"

struct process;

/* A process' end of a communicator. */
struct comm_handle {
    struct comm_handle *next;
    struct process *process;
    struct communicator *comm; /* NULL until settled */
    uint64_t address;          /* 0 unknown */
    uint64_t id;               /* 0 unknown */
    uint32_t nr;               /* what coll events of the process call it; 0 known from a log only */
    int32_t rank, nranks;      /* in it; -1 unknown */
    int32_t device;            /* ordinal; -1 unknown */
    uint32_t nodes;            /* as NCCL counts them; 0 unknown */
    char *name;                /* owned; NULL none */
};

struct communicator {
    struct communicator *next; /* in the order in which they were settled */
    size_t index;
    uint64_t id;                             /* 0: joined by size and order */
    int32_t nranks, nr_members, nr_recorded; /* recorded: with calls, not from a log only */
    uint32_t order;                          /* without id: which of its size in each process */
    uint32_t nodes;                          /* as NCCL counts them; 0 unknown */
    uint64_t nr_far;                         /* Sends to others than neighbours */
    const char *name;                        /* as the framework calls it; NULL none */
    struct comm_handle **members;            /* owned; by rank in it, NULL unknown */
};

/* Zeroed is empty. */
struct communicators {
    struct communicator *first, *last; /* owned */
    size_t nr;
    struct comm_handle *handles, *last_handle; /* owned; in order of appearance */
    struct map by_nr, by_address, by_id;
};

#define COMMUNICATOR_RANKS_MAX (1 << 20)

void communicators_done(struct communicators *all);

/* Learns what a process tells. 0 or -ENOMEM. */
int communicators_learn(struct communicators *all, struct process *process, const struct tr_nccl_comm *told);

/* The survey is over: joins what belongs together. 0 or -ENOMEM. */
int communicators_settle(struct communicators *all);

/* What `nr` means in coll and nccl_proxy events of the process; NULL unknown. */
struct comm_handle *communicators_find(const struct communicators *all, const struct process *process, uint32_t nr);

/* What the report calls it: NCCL's id, else by its size. */
void communicator_name(const struct communicator *comm, char *text, size_t size);

/* The host of a process as NCCL sees it: NCCL_HOSTID where that is set, else the machine. */
struct map_key nccl_host(const struct process *process);
const char *nccl_host_name(const struct process *process); /* NULL unknown */

/* Whether the calls of all its ranks are in the trace. */
static inline bool communicator_is_whole(const struct communicator *comm)
{
    return comm->nr_recorded == comm->nranks;
}

#endif
