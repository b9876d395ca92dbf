/* coll_stats.c - see coll_stats.h. */
#include "analysis/model/coll_stats.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/model/communicators.h"

void coll_stats_done(struct coll_stats *stats)
{
    free(stats->classes);
    map_done(&stats->by_key);
    *stats = (struct coll_stats){0};
}

struct coll_class *coll_stats_class(struct coll_stats *stats, const struct communicator *comm, uint8_t op,
                                    uint64_t bytes)
{
    uint8_t size_class = bytes ? (uint8_t)(64 - __builtin_clzll(bytes)) : 0;
    struct map_key key = {(uintptr_t)comm, (uint64_t)op << 8 | size_class};
    uintptr_t known = (uintptr_t)map_find(&stats->by_key, key); /* index + 1 */
    if (known)
        return &stats->classes[known - 1];
    if (stats->nr == stats->capacity) {
        size_t capacity = stats->capacity ? stats->capacity * 2 : 16;
        struct coll_class *classes = realloc(stats->classes, capacity * sizeof(*classes));
        if (!classes)
            return NULL;
        stats->classes = classes;
        stats->capacity = capacity;
    }
    if (map_put(&stats->by_key, key, (void *)(uintptr_t)(stats->nr + 1)))
        return NULL;
    struct coll_class *class = &stats->classes[stats->nr++];
    *class = (struct coll_class){.comm = comm, .op = op, .size_class = size_class};
    return class;
}

double coll_bus_factor(uint8_t op, int32_t nranks)
{
    double n = nranks > 0 ? nranks : 1;
    switch (op) {
    case TR_coll_op_AllReduce:
        return 2 * (n - 1) / n;
    case TR_coll_op_ReduceScatter:
    case TR_coll_op_AllGather:
    case TR_coll_op_AlltoAll:
    case TR_coll_op_Gather:
    case TR_coll_op_Scatter:
        return (n - 1) / n;
    default:
        return 1;
    }
}

double coll_busbw(const struct coll_class *class)
{
    /* As long as most kernels' waits are known, and sizes are. */
    if (class->bytes == 0 || class->known <= 0 || class->known * 2 <= class->kernels || class->transfer_ns <= 0)
        return NAN;
    return class->transfer_bytes / class->transfer_ns * 1e9 * coll_bus_factor(class->op, class->comm->nranks);
}
