/* callsite.h - where in the job's code device memory is asked for: native call stacks, each told once and then referred
 * to by number.
 *
 * Unwound by libunwind, loaded RTLD_LOCAL when CUDA starts: a recorder that needed it would put its _Unwind_* functions
 * before libgcc's, and catch the job's C++ exceptions. Where it is missing there are no call sites, which is said. */
#ifndef TRSHIM_CORE_CALLSITE_H
#define TRSHIM_CORE_CALLSITE_H

#include <stdint.h>

/* Looks for libunwind; the second time it does nothing. */
void callsite_init(void);

/* The call stack of this thread from `caller` (a return address in it) outwards: its id, 0 unknown. Announced before it
 * is used and again in each epoch, as names are (name.h). Never in a signal handler, never in a child of fork. */
uint32_t callsite_here(const void *caller, uint32_t tid);

/* In a fork child: libunwind's locks may be held by threads that are gone. */
void callsite_after_fork(void);

#endif
