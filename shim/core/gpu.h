/* gpu.h - what ran on the GPUs, from CUPTI's activity records.
 *
 * Started once, when CUDA starts (InitializeInjection, which libcuda calls) or at the first CUDA call that we see. All
 * work on records is done on CUPTI's own thread and on the tender; the job's threads only hand out buffers. */
#ifndef TRSHIM_CORE_GPU_H
#define TRSHIM_CORE_GPU_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/shim.h"

/* Looks for CUPTI and turns it on; does nothing the second time, nor where fork has made it unusable. */
void gpu_start(void);

/* By the tender, once a second: fetches what is complete, and says how far that goes. resend: the devices again. */
void gpu_tend(bool resend);

/* Another user of CUPTI, seen at its calls: we step aside before it begins, and the tender comes back after it ended.
 */
void gpu_other(enum cupti_other does, unsigned kind, uint64_t now_ns);

/* The devices seen so far that have not been told, or all again; by the tender. */
void gpu_devices_send(bool again);

/* Whether all that runs is told, at present or up to the end; and how much has been, in this process. */
bool gpu_is_told(void);
uint64_t gpu_told(void);

/* What is left, at the end of the process. */
void gpu_stop(void);

/* In a fork child: never touch CUPTI, its threads are gone and its locks may be held. */
void gpu_after_fork(void);

#endif
