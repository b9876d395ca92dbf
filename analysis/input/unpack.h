/* unpack.h - a `kernels` event as the `kernel` events that it holds; any other event as it is.
 *
 * Every source that can meet batches passes its events through one per stream, so that passes and `trshim events` see
 * single kernels, at the time of their batch. Counts what it lets through. Single thread, no allocation. */
#ifndef TRSHIM_ANALYSIS_UNPACK_H
#define TRSHIM_ANALYSIS_UNPACK_H

#include <stdbool.h>

#include "analysis/input/source.h"

struct unpack {
    const struct event *batch; /* borrowed until unpack_next() returns false */
    uint32_t at, nr;
    struct event event;
};

/* What to deliver of an event that was read. False: nothing, it is a damaged batch, and is counted. */
bool unpack_first(struct unpack *unpack, struct source *source, const struct event *event, const struct event **ret);

/* The next of a batch; false: the event is used up. */
bool unpack_next(struct unpack *unpack, struct source *source, const struct event **ret);

#endif
