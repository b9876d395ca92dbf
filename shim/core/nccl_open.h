/* nccl_open.h - calls of NCCL that are not known to be done, for the watchdog.
 *
 * A call is noted when it begins and done when a kernel that was launched inside it has run, as CUPTI tells; what NCCL
 * ran without a kernel of its own (copy engines) is done with the next kernel of the communicator. Where no kernels
 * are told, a call counts as open only while a thread of the process waits in CUDA or NCCL. No locks: a ring, written
 * by the thread that calls; each later change is one word. */
#ifndef TRSHIM_CORE_NCCL_OPEN_H
#define TRSHIM_CORE_NCCL_OPEN_H

#include "shim/core/nccl.h"

/* A call begins. Returns what it is called below; 0: not noted. */
uint64_t nccl_open_begin(const struct nccl_pending *call, uint32_t tid);

/* It was accepted: what was not known before. */
void nccl_open_accepted(const struct nccl_pending *call);

/* It has returned, or the group it is in; its kernels were launched up to end_ns. `is_void`: it came to nothing, or
 * runs when a graph does. */
void nccl_open_returned(const struct nccl_pending *call, uint64_t end_ns, bool is_void);

/* A kernel of NCCL has run that was launched by this thread at that time. By those who read CUPTI's records. */
void nccl_open_ran(uint32_t tid, uint64_t launched_ns);

/* By the tender, once a second, and at the end of the process: tells what has been open for too long, and how far each
 * communicator is when nothing has been called for as long. True: something does not go on. */
bool nccl_open_watch(uint64_t now, bool last);

void nccl_open_after_fork(void);

#endif
