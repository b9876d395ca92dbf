/* rank_kernels.h - what kernels each rank ran, by name: to tell a slow GPU from more work.
 *
 * Compute kernels of the steady part only. Memory grows with ranks times distinct names. One thread. */
#ifndef TRSHIM_ANALYSIS_MODEL_RANK_KERNELS_H
#define TRSHIM_ANALYSIS_MODEL_RANK_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/model/map.h"

struct name;

struct rank_kernel {
    uint64_t count, total_ns;
};

struct kernel_name {
    struct kernel_name *next;
    const char *text;          /* borrowed */
    struct rank_kernel *ranks; /* owned; by index of the rank */
};

/* Zeroed but for nr_ranks is empty. */
struct rank_kernels {
    size_t nr_ranks;
    struct map by_name;        /* by address, then by text: hosts have names of their own */
    struct kernel_name *names; /* owned */
};

void rank_kernels_done(struct rank_kernels *kernels);
int rank_kernels_add(struct rank_kernels *kernels, const struct name *name, size_t rank,
                     uint64_t dur_ns); /* 0, -ENOMEM */

/* How a rank's kernels differ from the median of others. */
struct kernel_excess {
    double more_ns;    /* it ran more of them */
    double slower_ns;  /* the same ones took longer */
    double slow_share; /* of its kernel time, in kernels that take longer than others' */
    double ratio;      /* by how much those take longer, time-weighted */
    const char *worst; /* name of the kernel that adds most; NULL none */
};

/* `peers`: nr indices of ranks to compare with, without the rank itself. False without memory or peers. */
bool rank_kernels_compare(const struct rank_kernels *kernels, size_t rank, const size_t *peers, size_t nr,
                          struct kernel_excess *ret);

#endif
