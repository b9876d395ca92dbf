/* memory.h - the device memory of the job's processes over time, as far as findings and the report need it.
 *
 * One row for each process and device that took memory; filled by pass_memory, kept in facts. */
#ifndef TRSHIM_ANALYSIS_MODEL_MEMORY_H
#define TRSHIM_ANALYSIS_MODEL_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/model/heap.h"

struct name;
struct process;

/* Why an allocation failed for good. */
enum oom_verdict {
    OOM_limit,         /* the device had room: a limit, or somebody else */
    OOM_fragmentation, /* enough was free, but in pieces */
    OOM_capacity,      /* there was not enough */
};

extern const char *const oom_verdict_names[];

struct memory_failure {
    uint64_t at_ns, bytes;
    uint64_t free, reserved, allocated; /* on the device; held and handed out by the framework */
    uint64_t cached_free;               /* free within the framework's cache, of the pool that could serve it */
    uint64_t largest_hole;              /* 0 unknown */
    uint64_t short_by;                  /* capacity: what is missing; 0 unknown */
    enum oom_verdict verdict;
};

struct memory_owner {
    const struct name *name; /* the library; NULL unknown */
    uint64_t live, peak;
};

/* A call site that took memory. */
struct memory_site {
    const struct callsite *site;
    uint64_t live, segments;
    uint64_t at_peak, segments_at_peak; /* of all sites together with owners without one: taken_peak */
};

#define MEMORY_FAILURES_MAX 64

struct memory {
    struct memory *next;
    const struct process *process;
    uint32_t device;
    struct heap heap;
    bool blocks;                 /* events of blocks came */
    struct memory_owner *owners; /* owned */
    size_t nr_owners;
    struct memory_site *sites; /* owned */
    size_t nr_sites;
    struct memory_failure *failures; /* owned; the first MEMORY_FAILURES_MAX */
    size_t nr_failures;

    /* When most was reserved; of that, when most was in use. */
    uint64_t reserved_peak, allocated_peak, split_free, largest_hole;
    uint64_t taken_peak; /* reserved and taken by others, together */
    bool hole_pending;   /* largest_hole is that of now, and has not been looked for */

    /* Allocations that failed and were tried again, in steady steps. */
    uint64_t retries, retries_ns;
    uint64_t failed, failed_ns; /* since the last success */
};

/* What the verdict is for a request of `bytes`. `total_free` is what is free in the cache for it. */
enum oom_verdict memory_judge(uint64_t bytes, uint64_t device_free, uint64_t cached_free, uint64_t reserved,
                              uint64_t *ret_short_by);

/* What the framework's cache would ask the device for to serve a request. */
uint64_t memory_rounded(uint64_t bytes);

#endif
