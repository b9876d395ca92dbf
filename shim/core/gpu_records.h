/* gpu_records.h - CUPTI's records become events: kernels, copies, memsets, each joined with the call that launched it.
 *
 * Records of calls and of kernels come in different buffers, in any order. A kernel whose call is not known yet waits,
 * until the next gpu_records_settle() has looked again. */
#ifndef TRSHIM_CORE_GPU_RECORDS_H
#define TRSHIM_CORE_GPU_RECORDS_H

#include <stdbool.h>
#include <stdint.h>

int gpu_records_init(void);

/* One record. Safe on several threads at once. */
void gpu_record(const void *record);

/* After a flush: waiting kernels go out, unless their call may still come in the next round (is_last: there is none).
 * Returns the time up to which everything that ran has been told: the begin of the oldest call whose kernel has not
 * come yet, or `now_ns`. */
uint64_t gpu_records_settle(uint64_t now_ns, bool is_last);

/* Devices seen so far, a bit each. */
uint64_t gpu_records_devices(void);

/* Records without times, which CUPTI gives when it ran out of device buffers. */
uint64_t gpu_records_untimed(void);

/* The others. */
uint64_t gpu_records_told(void);

#endif
