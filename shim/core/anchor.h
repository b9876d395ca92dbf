/* anchor.h - moments that tell steps apart, and ranges the job names. */
#ifndef TRSHIM_CORE_ANCHOR_H
#define TRSHIM_CORE_ANCHOR_H

#include "shim/core/thread.h"

/* Begins work on behalf of a range or mark, outside any hook; false: not to be recorded. Pairs with core_end(). */
bool core_begin(struct shim_call *call);
void core_end(struct shim_call *call);

/* A range begins or ends on thread t. `record` tells ranges apart that end out of order; by kind of name the end is
 * an anchor or an ordinary range. nvtx: anchors of kind nvtx. */
void range_begin(struct thread *t, const void *record, const char *name, uint64_t now);
void range_end(struct thread *t, const void *record, uint64_t now, bool nvtx);

/* A point: trshim_step or an NVTX mark. */
void anchor_mark(struct thread *t, enum tr_anchor_kind kind, const char *name, uint64_t nr, uint64_t now);

#endif
