/* merge.h - many ordered streams of events as one, by time on the common axis.
 *
 * Holds one event of each stream, no more. At equal times the stream added first comes first, so a source adds what
 * others refer to (the state channel) before the rest. Single thread. */
#ifndef TRSHIM_ANALYSIS_MERGE_H
#define TRSHIM_ANALYSIS_MERGE_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/event.h"

struct hosts;

/* One ordered stream. `next` sets *ret to its next event, borrowed until it is called again, and returns 1; 0 at the
 * end; or -errno, which ends the whole scan: what is merely unreadable ends the stream and is told elsewhere. */
struct event_stream {
    int (*next)(struct event_stream *stream, const struct event **ret);
};

struct merge;

int merge_new(const struct hosts *hosts, struct merge **ret);
void merge_free(struct merge *merge);

/* Adds a stream, borrowed until merge_free. Returns 0 or -errno, also that of its first `next`. */
int merge_add(struct merge *merge, struct event_stream *stream);

/* The earliest event of all streams, borrowed until the next call. Returns 1, 0 when all have ended, or -errno. */
int merge_next(struct merge *merge, const struct event **ret);

#endif
