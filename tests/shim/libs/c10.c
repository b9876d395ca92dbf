/* c10.c - PyTorch's two report functions by their real names, counting that they were reached (libc10.so of cuda.t). */
#include <stdint.h>

#define PUBLIC __attribute__((visibility("default")))

PUBLIC int c10_reached;

PUBLIC void _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE(void *ptr, int64_t change, uint64_t allocated,
                                                                  uint64_t reserved, uint16_t device)
{
    c10_reached += 1;
}

PUBLIC void _ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE(int64_t asked, uint64_t allocated, uint64_t reserved,
                                                                uint16_t device)
{
    c10_reached += 100;
}
