/* gpu_batch.h - kernels on their way into the trace, many to an event: a third of the bytes of single ones. */
#ifndef TRSHIM_CORE_GPU_BATCH_H
#define TRSHIM_CORE_GPU_BATCH_H

#include "traces/events.h"

/* Sends it, now or with others. Any thread, never waits. */
void gpu_batch_kernel(const struct tr_kernel *kernel);

/* Sends what was kept back: before the trace is told up to when it is complete. */
void gpu_batch_flush(void);

#endif
