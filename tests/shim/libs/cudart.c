/* cudart.c - as much of a CUDA runtime as the hooks need to be seen: each function returns VERSION in its own way, so
 * that a test can tell which of two runtimes was really called (libcudart.so.12 and .13 of cuda.t). */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PUBLIC __attribute__((visibility("default")))

PUBLIC int cudaMalloc(void **ptr, size_t n)
{
    if (n > (1ul << 30))
        return 2; /* cudaErrorMemoryAllocation */
    *ptr = (void *)(uintptr_t)(VERSION * 1000000ul + n);
    return 0;
}

PUBLIC int cudaFree(void *ptr)
{
    return ptr ? 0 : VERSION;
}

PUBLIC int cudaMemGetInfo(size_t *free_bytes, size_t *total)
{
    *free_bytes = 123456789;
    *total = 2 * *free_bytes;
    return 0;
}

static int cuMemCreate(unsigned long long *handle, size_t size, const void *properties, unsigned long long flags)
{
    *handle = 4711;
    return size > (1ul << 30) || properties != (void *)3 || flags != 4 ? 2 : 0;
}

static int cuMemMap(unsigned long long at, size_t size, size_t offset, unsigned long long handle,
                    unsigned long long flags)
{
    return handle == 4711 && offset == 7 && flags == 9 ? 0 : 1;
}

static int cuMemUnmap(unsigned long long at, size_t size)
{
    return at ? 0 : 1;
}

PUBLIC int cudaGetDriverEntryPointByVersion(const char *symbol, void **fn, unsigned version, unsigned long long flags,
                                            int *status)
{
    *fn = !strcmp(symbol, "cuMemCreate")  ? (void *)cuMemCreate
          : !strcmp(symbol, "cuMemMap")   ? (void *)cuMemMap
          : !strcmp(symbol, "cuMemUnmap") ? (void *)cuMemUnmap
                                          : NULL;
    *status = *fn ? 0 : 1;
    return version == 12000 && flags == 0 && *fn ? 0 : 1;
}

PUBLIC int cudaSetDevice(int device)
{
    return device < 8 ? 0 : 101;
}

PUBLIC int cudaDeviceSynchronize(void)
{
    struct timespec t = {0, 5000000};
    nanosleep(&t, NULL);
    return 0;
}

struct dim3 {
    unsigned x, y, z;
};

PUBLIC int cudaLaunchKernel(const void *f, struct dim3 grid, struct dim3 block, void **args, size_t shared,
                            void *stream)
{
    return grid.x == 7 && grid.z == 9 && block.y == 3 && shared == 48 && stream == (void *)5 ? 0 : 1;
}
