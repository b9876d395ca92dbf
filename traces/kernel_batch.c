/* kernel_batch.c - see kernel_batch.h. */
#include "traces/kernel_batch.h"

#include <errno.h>
#include <stdbool.h>

#define NAME_BITS 28
#define GROUP_BITS 4
#define BLOCKS_BITS 28
#define QUEUED_BIAS (1ll << 30) /* a call that clocks put behind its kernel's start by up to a second */
#define QUEUED_UNKNOWN ((1ull << (64 - NAME_BITS)) - 1)

_Static_assert(KERNEL_BATCH_GROUPS == 1 << GROUP_BITS, "each group has a number");
_Static_assert(TR_SEQ64_MAX >= KERNEL_BATCH_MAX * KERNEL_RECORD_WORDS, "readers cut longer sequences");

static uint64_t low_bits(uint64_t word, unsigned bits)
{
    return word & ((1ull << bits) - 1);
}

/* The time in the queue as it is packed, or more than fits. */
static uint64_t pack_queued(const struct tr_kernel *kernel)
{
    if (kernel->queued_ns == 0)
        return QUEUED_UNKNOWN;
    int64_t biased;
    if (__builtin_add_overflow((int64_t)(kernel->start_ns - kernel->queued_ns), QUEUED_BIAS, &biased) || biased < 0 ||
        (uint64_t)biased >= QUEUED_UNKNOWN)
        return UINT64_MAX;
    return (uint64_t)biased;
}

/* The group's number, that of a new one, or KERNEL_BATCH_GROUPS. */
static uint32_t find_group(struct kernel_batch *batch, const struct tr_kernel *kernel)
{
    uint64_t where = (uint64_t)kernel->device << 32 | kernel->stream, who = (uint64_t)kernel->tid << 32 | kernel->graph;
    uint32_t i = 0;

    while (i < batch->nr_groups && (batch->groups[2 * i] != where || batch->groups[2 * i + 1] != who))
        i++;
    if (i == batch->nr_groups && i < KERNEL_BATCH_GROUPS) {
        batch->groups[2 * i] = where;
        batch->groups[2 * i + 1] = who;
        batch->nr_groups++;
    }
    return i;
}

enum kernel_batch_answer kernel_batch_add(struct kernel_batch *batch, const struct tr_kernel *kernel)
{
    uint64_t queued = pack_queued(kernel);

    if (kernel->dur_ns > UINT32_MAX || queued > QUEUED_UNKNOWN || kernel->name >> NAME_BITS ||
        kernel->blocks >> BLOCKS_BITS)
        return BATCH_NEVER;
    if (batch->nr == 0)
        batch->base_ns = kernel->start_ns;
    int64_t start = (int64_t)(kernel->start_ns - batch->base_ns);
    if (batch->nr == KERNEL_BATCH_MAX || start != (int32_t)start)
        return BATCH_FULL;
    uint32_t group = find_group(batch, kernel);
    if (group == KERNEL_BATCH_GROUPS)
        return BATCH_FULL;

    uint64_t *words = &batch->records[batch->nr++ * KERNEL_RECORD_WORDS];
    words[0] = (uint64_t)start << 32 | kernel->dur_ns;
    words[1] = queued << NAME_BITS | kernel->name;
    words[2] = (uint64_t)kernel->correlation << 32 | (uint64_t)kernel->blocks << GROUP_BITS | group;
    return BATCH_ADDED;
}

int kernel_batch_count(const struct tr_kernels *kernels)
{
    uint32_t nr = kernels->records.nr / KERNEL_RECORD_WORDS, nr_groups = kernels->groups.nr / KERNEL_GROUP_WORDS;

    if (nr == 0 || kernels->records.nr % KERNEL_RECORD_WORDS || kernels->groups.nr % KERNEL_GROUP_WORDS)
        return -EINVAL;
    for (uint32_t i = 0; i < nr; i++)
        if (low_bits(kernels->records.words[i * KERNEL_RECORD_WORDS + 2], GROUP_BITS) >= nr_groups)
            return -EINVAL;
    return (int)nr;
}

struct tr_kernel kernel_batch_get(const struct tr_kernels *kernels, uint32_t i)
{
    const uint64_t *words = &kernels->records.words[i * KERNEL_RECORD_WORDS];
    const uint64_t *group = &kernels->groups.words[low_bits(words[2], GROUP_BITS) * KERNEL_GROUP_WORDS];
    uint64_t start_ns = kernels->base_ns + (uint64_t)(int64_t)(int32_t)(words[0] >> 32);
    uint64_t queued = words[1] >> NAME_BITS;

    return (struct tr_kernel){.pid = kernels->pid,
                              .tid = (uint32_t)(group[1] >> 32),
                              .device = (uint32_t)(group[0] >> 32),
                              .stream = (uint32_t)group[0],
                              .name = (uint32_t)low_bits(words[1], NAME_BITS),
                              .correlation = (uint32_t)(words[2] >> 32),
                              .blocks = (uint32_t)low_bits(words[2] >> GROUP_BITS, BLOCKS_BITS),
                              .graph = (uint32_t)group[1],
                              .queued_ns = queued == QUEUED_UNKNOWN ? 0 : start_ns - queued + (uint64_t)QUEUED_BIAS,
                              .start_ns = start_ns,
                              .dur_ns = (uint32_t)words[0]};
}
