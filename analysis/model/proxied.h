/* proxied.h - between which ranks NCCL's proxies moved data: what proves that a network is used.
 *
 * Filled from nccl_proxy events. Only sends count: a receive is also told of operations that use no network. Memory
 * grows with pairs of ranks that exchange data over a network. One thread. */
#ifndef TRSHIM_ANALYSIS_MODEL_PROXIED_H
#define TRSHIM_ANALYSIS_MODEL_PROXIED_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/model/map.h"

struct comm_handle;
struct communicator;

struct proxied_pair {
    struct proxied_pair *next;
    const struct communicator *comm;
    int32_t from, to; /* ranks in it */
    uint32_t host;    /* of the sender */
    uint64_t operations, bytes;
};

/* Zeroed is empty. */
struct proxied {
    struct proxied_pair *pairs; /* owned */
    struct map by_pair;
};

void proxied_done(struct proxied *proxied);

/* The rank of `handle`, on `host`, sent to `peer`. 0 or -ENOMEM. */
int proxied_add(struct proxied *proxied, const struct comm_handle *handle, uint32_t host, int32_t peer,
                uint64_t operations, uint64_t bytes);

#endif
