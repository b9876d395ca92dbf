/* proxy.h - what the progress thread does for a kernel: bytes that really move over the network, and the events of a
 * profiler plugin that come from there. */
#ifndef SIM_NCCL_PROXY_H
#define SIM_NCCL_PROXY_H

#include "tests/sim/nccl/inside.h"

struct proxy_item;

void proxy_begin(struct ncclComm *c);
void proxy_end(struct ncclComm *c);
/* For the calls of one kernel, before it is launched; NULL: nothing to do. The launch takes the reference. */
struct proxy_item *proxy_new(struct ncclComm *c, const struct call *calls, unsigned nr, const struct plan *p);
/* After the launch: it goes to the progress thread, with the plugin's handles of its calls. */
void proxy_queue(struct proxy_item *i);
struct proxy_item *proxy_replay(const struct proxy_item *pattern); /* of a captured one; queued already */
void **proxy_handles(struct proxy_item *i);
struct proxy_item *proxy_ref(struct proxy_item *i);
void proxy_unref(struct proxy_item *i);
/* The kernel began, with the engine's lock held; all it waited for had begun at `ready`. */
void proxy_started(struct proxy_item *i, uint64_t start);
void proxy_decided(struct proxy_item *i, uint64_t ready, uint64_t end);
bool proxy_idle(struct ncclComm *c);
/* In the progress thread: does what is due; returns when to come again, SIM_UNKNOWN: when rung. */
uint64_t proxy_progress(struct ncclComm *c);

#endif
