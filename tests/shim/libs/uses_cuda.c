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
int use_cuda(int device);

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
    if (cudaDeviceSynchronize() != 0 || cudaFree(ptr) != 0)
        return 5;
    return cudaFree(NULL) == VERSION ? 0 : 6;
}
