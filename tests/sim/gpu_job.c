/* gpu_job.c - small GPU jobs for tests of the recorder on the simulated node, one per first argument:
 *
 *   launches          30 kernels, 3 copies, 3 memsets, one copy of no bytes
 *   subscribe         the same, with callbacks of its own in the middle third; fails if CUPTI refuses them
 *   register          the same, with CUPTI's activities to itself in the middle third
 *   sites             takes 3 x 8 MiB in one exported function, 4 MiB in a static one, 16 KiB; gives one of the 3 back
 *                     and takes it again
 *   capture           two kernels, a product and a copy captured into a graph that is launched 5 times, between others
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "examples/simtrain/cuda_calls.h"
#include "tests/sim/engine/engine.h"

/* As NVIDIA declares them. */
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, int mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags);
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec);
int cuptiSubscribe(void **handle, void (*fn)(void *, uint32_t, uint32_t, const void *), void *user);
int cuptiUnsubscribe(void *handle);
int cuptiActivityRegisterCallbacks(void (*)(uint8_t **, size_t *, size_t *),
                                   void (*)(void *, uint32_t, uint8_t *, size_t, size_t));
int cuptiActivityEnable(uint32_t kind);
int cuptiActivityDisable(uint32_t kind);
int cuptiActivityFlushAll(uint32_t flag);

static void stub(void)
{
}

static cudaStream_t stream;
static void *memory;
static char host[4096];

static void launch(int n)
{
    uint64_t ns = 20000;
    void *args[] = {&ns, NULL};
    for (int i = 0; i < n; i++)
        cudaLaunchKernel((const void *)stub, (dim3){7, 1, 1}, (dim3){32, 1, 1}, args, 0, stream);
}

static void copy_and_set(void)
{
    cudaMemcpyAsync(memory, host, sizeof(host), cudaMemcpyHostToDevice, stream);
    cudaMemsetAsync(memory, 1, 1000, stream);
}

static void third(void)
{
    launch(10);
    copy_and_set();
    cudaStreamSynchronize(stream);
}

static int launches(void)
{
    third();
    cudaMemcpyAsync(memory, host, 0, cudaMemcpyHostToDevice, stream);
    third();
    third();
    return 0;
}

static unsigned told;

static void called(void *user, uint32_t domain, uint32_t cbid, const void *data)
{
    told++;
}

static int subscribe(void)
{
    void *handle = NULL;
    third();
    int error = cuptiSubscribe(&handle, called, NULL);
    if (error) {
        fprintf(stderr, "gpu_job: cuptiSubscribe: %d\n", error);
        return 1;
    }
    third();
    error = cuptiUnsubscribe(handle);
    third();
    return error;
}

static uint8_t buffer[1 << 20] __attribute__((aligned(8)));
static size_t got_bytes;

static void give(uint8_t **ret, size_t *size, size_t *max)
{
    *ret = buffer;
    *size = sizeof(buffer);
    *max = 0;
}

static void take(void *context, uint32_t id, uint8_t *data, size_t size, size_t valid)
{
    got_bytes += valid;
    if (data != buffer)
        abort(); /* somebody else's */
}

static int take_activities(void)
{
    third();
    cuptiActivityRegisterCallbacks(give, take);
    cuptiActivityEnable(10);
    third();
    cuptiActivityFlushAll(1);
    cuptiActivityDisable(10);
    nanosleep(&(struct timespec){3, 0}, NULL); /* until nobody has used it for a while */
    third();
    return got_bytes ? 0 : 1;
}

static int capture(void)
{
    enum { HALF = 2 }; /* CUDA_R_16F */
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    void *blas = NULL;
    float one = 1;
    if (cublasCreate_v2(&blas) || cublasSetStream_v2(blas, stream))
        return 1;
    launch(3);
    if (cudaStreamBeginCapture(stream, 0))
        return 1;
    launch(2);
    if (cublasGemmEx(blas, 0, 0, 64, 32, 16, &one, memory, HALF, 64, memory, HALF, 16, &one, memory, HALF, 64, 68, 0))
        return 1;
    cudaMemcpyAsync(memory, host, sizeof(host), cudaMemcpyHostToDevice, stream);
    if (cudaStreamEndCapture(stream, &graph) || cudaGraphInstantiate(&exec, graph, 0) || cudaGraphDestroy(graph))
        return 1;
    for (int i = 0; i < 5; i++)
        if (cudaGraphLaunch(exec, stream))
            return 1;
    cublasGemmEx(blas, 0, 0, 8, 8, 8, &one, memory, HALF, 8, memory, HALF, 8, &one, memory, HALF, 8, 68, 0);
    launch(4);
    cudaStreamSynchronize(stream);
    return cudaGraphExecDestroy(exec);
}

SIM_EXPORT void *take_in_public(size_t mib);

/* The empty statement after the call keeps it from being a jump, which would leave no frame. */
__attribute__((noinline)) void *take_in_public(size_t mib)
{
    void *p = NULL;
    cudaMalloc(&p, mib << 20);
    __asm__ volatile("" ::: "memory");
    return p;
}

__attribute__((noinline)) static void *take_in_private(size_t mib)
{
    void *p = NULL;
    cudaMalloc(&p, mib << 20);
    __asm__ volatile("" ::: "memory");
    return p;
}

static int sites(void)
{
    void *taken[3], *small;
    for (volatile int round = 0; round < 2; round++) /* volatile: one call, not several */
        for (volatile int i = round ? 2 : 0; i < 3; i++) {
            taken[i] = take_in_public(8);
            if (!taken[i] || (!round && i == 2 && cudaFree(taken[i])))
                return 1;
        }
    return !take_in_private(4) || cudaMalloc(&small, 16384);
}

static const struct {
    const char *name;
    int (*run)(void);
} jobs[] = {{"launches", launches},
            {"subscribe", subscribe},
            {"register", take_activities},
            {"capture", capture},
            {"sites", sites}};

int main(int argc, char **argv)
{
    static int binary;
    void **handle = __cudaRegisterFatBinary(&binary);
    __cudaRegisterFunction(handle, (const char *)stub, NULL, "stub", -1, NULL, NULL, NULL, NULL, NULL);
    sim_kernel_told((const void *)stub);
    if (cudaMalloc(&memory, 1 << 20) || cudaStreamCreateWithFlags(&stream, 1))
        return 2;
    for (size_t i = 0; argc > 1 && i < sizeof(jobs) / sizeof(*jobs); i++)
        if (strcmp(argv[1], jobs[i].name) == 0) {
            int rc = jobs[i].run();
            nanosleep(&(struct timespec){1, 300000000}, NULL); /* the recorder looks once a second */
            return rc;
        }
    fprintf(stderr, "gpu_job: no such job\n");
    return 2;
}
