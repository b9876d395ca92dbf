/* burst.h - joins small calls on one thing by one thread into one event.
 *
 * A burst ends when another thing is used, when more than BURST_GAP_NS pass between two calls, when it gets long or
 * large, at an anchor, and at the latest 0.5 s after its begin, then by the tender. One on a pipe ends with the
 * thread's next CUDA call and the other way round, so that it can be told which batch the work was for. A slow call is
 * always a burst of its own, so that latencies keep their tail. */
#ifndef TRSHIM_CORE_BURST_H
#define TRSHIM_CORE_BURST_H

#include "shim/core/thread.h"

#define BURST_GAP_NS 1000000u     /* 1 ms */
#define BURST_SPAN_NS 100000000u  /* 100 ms */
#define BURST_STALE_NS 500000000u /* 0.5 s */
#define BURST_SLOW_NS 1000000u    /* a call this long stands alone */
#define BURST_SLOW_CUDA_NS 20000u /* and so does a call into CUDA: it blocked */

/* Adds one call (call->count == 1) to the thread's burst of that kind; emits what must be emitted. */
void burst_add(struct thread *t, enum slot_kind kind, const struct burst *call);

/* Closes the thread's bursts, and sends its sums of short waits. By the thread, or by anybody at exit. */
void burst_flush(struct thread *t);

/* Closes those that began before `before_ns`. */
void burst_flush_stale(struct thread *t, uint64_t before_ns);

/* A wait: long enough for an event of its own, or only summed. */
void burst_wait(struct thread *t, enum tr_wait_kind kind, uint64_t obj, uint32_t waker, uint64_t start_ns,
                uint64_t end_ns);

#endif
