/* kernel_batch.h - many `kernel` events in one `kernels` event: how they are packed, and unpacked.
 *
 * By the recorder to fill, by readers to look into; the only place that knows the bits. Pure: no allocation, no clock,
 * any thread, one batch by one thread at a time. A kernel whose numbers do not fit is not put into a batch, so nothing
 * is lost or rounded; readers trust no length and no index.
 *
 *   groups   2 words each    device, stream | tid, graph            32 bits each, the upper half named first
 *   records  3 words each    start - base_ns (signed), length       32, 32
 *                            start - queued + 2^30, name            36, 28; all ones: queued is not known
 *                            correlation, blocks, group             32, 28, 4 */
#ifndef TRSHIM_TRACES_KERNEL_BATCH_H
#define TRSHIM_TRACES_KERNEL_BATCH_H

#include <stdint.h>

#include "traces/events.h"

#define KERNEL_GROUP_WORDS 2
#define KERNEL_RECORD_WORDS 3
#define KERNEL_BATCH_GROUPS 16
/* With all groups 3.4 KiB: fits the smallest sub-buffer, a page; LTTng drops what is larger than one. */
#define KERNEL_BATCH_MAX 128

struct kernel_batch {
    uint32_t nr, nr_groups;
    uint64_t base_ns;
    uint64_t groups[KERNEL_BATCH_GROUPS * KERNEL_GROUP_WORDS];
    uint64_t records[KERNEL_BATCH_MAX * KERNEL_RECORD_WORDS];
};

enum kernel_batch_answer {
    BATCH_ADDED,
    BATCH_FULL,  /* not added: send this batch, empty it (nr = nr_groups = 0) and try again */
    BATCH_NEVER, /* no batch can hold it */
};

enum kernel_batch_answer kernel_batch_add(struct kernel_batch *batch, const struct tr_kernel *kernel);

/* The number of kernels in a batch that was read, or -EINVAL if it is damaged. */
int kernel_batch_count(const struct tr_kernels *kernels);

/* Number i of one that was counted. */
struct tr_kernel kernel_batch_get(const struct tr_kernels *kernels, uint32_t i);

#endif
