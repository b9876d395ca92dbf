/* uses_cuda.c - a library linked to one CUDA runtime (libuses_cuda_12.so and _13.so of cuda.t). 0: all as it should. */
#include <stddef.h>
#include <stdint.h>

struct dim3 {
    unsigned x, y, z;
};

int cudaMalloc(void **, size_t);
int cudaFree(void *);
int cudaSetDevice(int);
int cudaDeviceSynchronize(void);
int cudaLaunchKernel(const void *, struct dim3, struct dim3, void **, size_t, void *);
int cudaGetDriverEntryPointByVersion(const char *, void **, unsigned, unsigned long long, int *);
int use_cuda(int device);

/* As PyTorch's expandable segments do: the driver's calls by look-up. */
static int map_memory(void)
{
    int (*create)(unsigned long long *, size_t, const void *, unsigned long long);
    int (*map)(unsigned long long, size_t, size_t, unsigned long long, unsigned long long);
    int (*unmap)(unsigned long long, size_t);
    unsigned long long handle = 0;
    int status;
    void *none = NULL;
    if (cudaGetDriverEntryPointByVersion("cuMemCreate", (void **)&create, 12000, 0, &status) != 0 ||
        cudaGetDriverEntryPointByVersion("cuMemMap", (void **)&map, 12000, 0, &status) != 0 ||
        cudaGetDriverEntryPointByVersion("cuMemUnmap", (void **)&unmap, 12000, 0, &status) != 0 ||
        cudaGetDriverEntryPointByVersion("cuMemFoo", &none, 12000, 0, &status) == 0)
        return 1;
    if (create(&handle, 20 << 20, (void *)3, 4) != 0 || map(0x7000000, 20 << 20, 7, handle, 9) != 0 ||
        map(0x7000000, 20 << 20, 8, handle, 9) != 1 || unmap(0x7000000, 20 << 20) != 0)
        return 1;
    return create(&handle, 2ul << 30, (void *)3, 4) == 2 ? 0 : 1;
}

__attribute__((visibility("default"))) int use_cuda(int device)
{
    void *ptr = NULL, *huge = (void *)77;
    if (cudaSetDevice(device) != 0)
        return 1;
    if (cudaMalloc(&ptr, 4096) != 0 || ptr != (void *)(uintptr_t)(VERSION * 1000000ul + 4096))
        return 2;
    if (cudaMalloc(&huge, 2ul << 30) != 2 || huge != (void *)77)
        return 3;
    for (int i = 0; i < 50; i++)
        if (cudaLaunchKernel("f", (struct dim3){7, 8, 9}, (struct dim3){2, 3, 4}, NULL, 48, (void *)5) != 0)
            return 4;
    if (map_memory() != 0)
        return 7;
    if (cudaDeviceSynchronize() != 0 || cudaFree(ptr) != 0)
        return 5;
    return cudaFree(NULL) == VERSION ? 0 : 6;
}
