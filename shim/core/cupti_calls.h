/* cupti_calls.h - has CUPTI tell of the calls that launch kernels, copies and memsets: their begin, and their thread.
 *
 * Without them a kernel has no launch time, and a step's window begins with what happened to run first. Three ways, the
 * best that the version and the others in the process leave:
 *
 *   single    from 12.5 on records of single calls can be asked for
 *   callback  before, the callback API can; it has one place in a process, which is taken only if it is free and given
 *             up when another asks for it (seen at its call; not taken where that would be out of sight)
 *   all       else records of all calls, of which ours are picked out: 40 bytes for each call that the job makes */
#ifndef TRSHIM_CORE_CUPTI_CALLS_H
#define TRSHIM_CORE_CUPTI_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/core/gpu_launches.h"

/* What a call leaves behind on the GPU; CALL_NONE for those that do not matter. By any thread. */
enum gpu_call_kind cupti_call_kind(bool is_runtime, uint32_t cbid);

/* Begins, with libcupti found and our buffers registered. */
void cupti_calls_on(uint32_t version);

/* Ends: another user of CUPTI comes, and is to have what it asks for and no more. */
void cupti_calls_off(void);

/* Another asks for callbacks, or has given them up: the place is made free before it asks. */
void cupti_calls_yield(bool to_other);

/* How it is done, to be said after "CUPTI 18": "" for the best way. */
const char *cupti_calls_how(void);

#endif
