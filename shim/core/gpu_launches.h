/* gpu_launches.h - the calls behind what ran on a GPU: who made them, and when they began.
 *
 * Told by CUPTI, as a record of its own after the call or by a callback before it (cupti_calls.h); asked for by
 * gpu_records.c, under the correlation id that a call and what it launched have in common. No locks, no allocation: a
 * table by id, in which a later use of an id replaces an earlier one. */
#ifndef TRSHIM_CORE_GPU_LAUNCHES_H
#define TRSHIM_CORE_GPU_LAUNCHES_H

#include <stdbool.h>
#include <stdint.h>

/* What a call leaves behind on the GPU. CALL_KERNEL: something always, so that not all has been told until it has come.
 * CALL_MAYBE: often; a copy of no bytes or between host addresses leaves nothing. */
enum gpu_call_kind { CALL_NONE, CALL_KERNEL, CALL_GRAPH, CALL_MAYBE };

struct gpu_launch {
    uint32_t tid;
    uint64_t start_ns;
};

int gpu_launches_init(void);

/* A call began. Told twice (the driver's call inside the runtime's, under the same id) the outer one counts. */
void gpu_launch_began(uint32_t correlation, uint32_t tid, uint64_t start_ns, enum gpu_call_kind kind);

/* It returned an error: nothing will come of it. */
void gpu_launch_failed(uint32_t correlation);

/* What is launched from now on (begin) until the end of the capture may go into a graph and not run now. By any thread:
 * the backward pass launches from its own. */
void gpu_capture(bool begin, uint64_t at_ns);

/* The call behind a correlation id, which from now on counts as answered. A call launches one thing, unless
 * `may_be_many`: one that has been answered before belongs to an earlier use of the id. False: not known (yet). */
bool gpu_launch_answer(uint32_t correlation, bool may_be_many, struct gpu_launch *ret);

/* The begin of the oldest call whose kernel has not come yet, at most until_ns. Forgets those too old to hope for. */
uint64_t gpu_launches_open_ns(uint64_t now_ns, uint64_t until_ns);

/* Another user of CUPTI had the records meanwhile: what it was told will not be told to us. */
void gpu_launches_forget(void);

#endif
