/* c10_cuda.c - an allocator that reports across libraries, as PyTorch's does (libc10_cuda.so of cuda.t). */
#include <stdint.h>

extern int c10_reached;
void _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE(void *, int64_t, uint64_t, uint64_t, uint16_t);
void _ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE(int64_t, uint64_t, uint64_t, uint16_t);
int use_allocator(void);

__attribute__((visibility("default"))) int use_allocator(void)
{
    uint16_t cpu = 0, gpu = 5 << 8 | 1; /* type CUDA, index 5 */
    _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE((void *)0x1000, 512, 512, 2097152, gpu);
    _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE((void *)0x2000, 4096, 4096, 0, cpu);
    _ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE(1ll << 40, 512, 2097152, gpu);
    _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE((void *)0x1000, -512, 0, 2097152, gpu);
    return c10_reached == 103 ? 0 : 9;
}
