/* c10.h - a look-alike of PyTorch's CUDA caching allocator (libc10_cuda.so) and of the reports it makes (libc10.so).
 *
 * Sizes, pools and splitting are PyTorch's: requests in units of 512 bytes; up to 1 MiB from segments of 2 MiB, up to
 * 10 MiB from segments of 20 MiB, above from segments of their own in units of 2 MiB. A freed block is merged with its
 * free neighbours and kept. When the device has no more, whole free segments are given back and the request is tried
 * again. */
#ifndef SIM_C10_H
#define SIM_C10_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct c10_device { /* c10::Device: type 1 is CUDA */
    int8_t type, index;
};

#define C10_EXPORT __attribute__((visibility("default")))

C10_EXPORT void
report_memory_usage(void *block, int64_t bytes, size_t allocated, size_t reserved,
                    struct c10_device device) __asm__("_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE");
C10_EXPORT void
report_out_of_memory(int64_t bytes, size_t allocated, size_t reserved,
                     struct c10_device device) __asm__("_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE");

struct c10_stats {
    size_t allocated, reserved, reserved_peak;
    size_t split_free; /* free bytes in segments that also hold live blocks */
    uint64_t retries;  /* cudaMalloc failed, segments were given back, and it was tried again */
};

/* NULL: out of memory, reported. Blocks belong to the current device; any thread may free. */
C10_EXPORT void *c10_cuda_malloc(size_t bytes);
C10_EXPORT void c10_cuda_free(void *block);
C10_EXPORT void c10_cuda_empty_cache(void);
C10_EXPORT void c10_cuda_stats(int device, struct c10_stats *ret);

#endif
