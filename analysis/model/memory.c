/* memory.c - see memory.h: how an allocation that failed is judged. Pure. */
#include "analysis/model/memory.h"

#include "analysis/pass/thresholds.h"

#define MIB (1024ull * 1024)

const char *const oom_verdict_names[] = {"limit", "fragmentation", "capacity"};

/* PyTorch's rules: small blocks share segments of 2 MiB, middle ones of 20 MiB, large ones have their own. */
uint64_t memory_rounded(uint64_t bytes)
{
    if (bytes <= MIB)
        return 2 * MIB;
    return bytes < 10 * MIB ? 20 * MIB : (bytes + 2 * MIB - 1) / (2 * MIB) * (2 * MIB);
}

enum oom_verdict memory_judge(uint64_t bytes, uint64_t device_free, uint64_t cached_free, uint64_t reserved,
                              uint64_t *ret_short_by)
{
    uint64_t in_reach = device_free + cached_free;
    *ret_short_by = 0;
    if (memory_rounded(bytes) <= device_free)
        return OOM_limit;
    /* Every cache has some waste: what would not help if it were gone is not the reason. */
    if (bytes <= in_reach && (double)cached_free >= TH_OOM_FREE_SHARE * (double)reserved)
        return OOM_fragmentation;
    *ret_short_by = bytes > in_reach ? bytes - in_reach : 0;
    return OOM_capacity;
}
