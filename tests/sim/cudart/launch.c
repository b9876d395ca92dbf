/* launch.c - the entry points that compiled CUDA programs call: registration of their kernels at start, and launches.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/sim/cudart/cudart.h"

/* ---- Registration: names are told, the binaries are not looked at -------------------------------------------------
 */
SIM_EXPORT void **__cudaRegisterFatBinary(void *binary);
SIM_EXPORT void __cudaRegisterFatBinaryEnd(void **handle);
SIM_EXPORT void __cudaUnregisterFatBinary(void **handle);
SIM_EXPORT void __cudaRegisterFunction(void **handle, const char *stub, char *device_function, const char *name,
                                       int limit, uint3 *tid, uint3 *bid, dim3 *block, dim3 *grid, int *warp);
SIM_EXPORT void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int ext, size_t size,
                                  int constant, int global);
SIM_EXPORT char __cudaInitModule(void **handle);
SIM_EXPORT unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, struct CUstream_st *stream);
SIM_EXPORT cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream);
SIM_EXPORT cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *stub);
SIM_EXPORT cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args, size_t shared,
                                          cudaStream_t stream);

void **__cudaRegisterFatBinary(void *binary)
{
    void **handle = malloc(sizeof(*handle));
    if (handle)
        *handle = binary;
    return handle;
}

void __cudaRegisterFatBinaryEnd(void **handle)
{
}

void __cudaUnregisterFatBinary(void **handle)
{
    free(handle);
}

void __cudaRegisterFunction(void **handle, const char *stub, char *device_function, const char *name, int limit,
                            uint3 *tid, uint3 *bid, dim3 *block, dim3 *grid, int *warp)
{
    sim_function_register(stub, name);
}

void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int ext, size_t size, int constant,
                       int global)
{
}

char __cudaInitModule(void **handle)
{
    return 1;
}

/* ---- The <<< >>> notation: configuration is pushed, the stub pops it and launches -----------------------------------
 */
static __thread struct {
    dim3 grid, block;
    size_t shared;
    void *stream;
} pushed[8];
static __thread unsigned depth;

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, struct CUstream_st *stream)
{
    if (depth == sizeof(pushed) / sizeof(pushed[0]))
        return 1;
    pushed[depth].grid = grid;
    pushed[depth].block = block;
    pushed[depth].shared = shared;
    pushed[depth++].stream = stream;
    return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream)
{
    if (!depth)
        return (cudaError_t)SIM_INVALID_VALUE;
    depth--;
    *grid = pushed[depth].grid;
    *block = pushed[depth].block;
    *shared = pushed[depth].shared;
    *(void **)stream = pushed[depth].stream;
    return (cudaError_t)SIM_OK;
}

/* ---- Launches
 * ------------------------------------------------------------------------------------------------------------ */
static int launch(const void *stub, dim3 grid, dim3 block, void **args, size_t shared, cudaStream_t stream,
                  bool cooperative)
{
    struct sim_stream *s = sim_stream_of(stream);
    struct sim_function *f = sim_function_of(stub);
    if (!s || !f)
        return s ? SIM_INVALID_FUNCTION : SIM_INVALID_HANDLE;
    struct sim_launch l = {{grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, (unsigned)shared, cooperative};
    return sim_launch(s, f, &l, args);
}

static int launch_config(const cudaLaunchConfig_t *c, const void *stub, void **args)
{
    return launch(stub, c->gridDim, c->blockDim, args, c->dynamicSmemBytes, c->stream, false);
}

/* A kernel's handle is its host stub. */
static int kernel_of(void *ret, const void *stub)
{
    if (!sim_function_of(stub))
        return SIM_INVALID_FUNCTION;
    memcpy(ret, &stub, sizeof(stub));
    return SIM_OK;
}

cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *stub)
{
    return (cudaError_t)kernel_of(kernel, stub);
}

RUNTIME(cudaLaunchKernel, 211, (const void *f, dim3 grid, dim3 block, void **args, size_t shared, cudaStream_t s),
        P6(f, grid, block, args, shared, s), launch(f, grid, block, args, shared, s, false))
RUNTIME(cudaLaunchCooperativeKernel, 269,
        (const void *f, dim3 grid, dim3 block, void **args, size_t shared, cudaStream_t s),
        P6(f, grid, block, args, shared, s), launch(f, grid, block, args, shared, s, true))
RUNTIME(cudaLaunchKernelExC, 430, (const cudaLaunchConfig_t *config, const void *f, void **args), P3(config, f, args),
        config ? launch_config(config, f, args) : SIM_INVALID_VALUE)
RUNTIME(__cudaLaunchKernel, 505, (cudaKernel_t k, dim3 grid, dim3 block, void **args, size_t shared, cudaStream_t s),
        P6(k, grid, block, args, shared, s), launch(k, grid, block, args, shared, s, false))
RUNTIME(cudaGetKernel, 439, (cudaKernel_t * k, const void *f), P2(k, f), kernel_of(k, f))
RUNTIME(cudaGetFuncBySymbol, 336, (cudaFunction_t * k, const void *f), P2(k, f), kernel_of(k, f))

static int name_of(const char **name, const void *stub)
{
    struct sim_function *f = sim_function_of(stub);
    if (f)
        *name = sim_function_name(f);
    return f ? SIM_OK : SIM_INVALID_FUNCTION;
}

static int attributes(struct cudaFuncAttributes *a, const void *stub)
{
    if (!sim_function_of(stub))
        return SIM_INVALID_FUNCTION;
    memset(a, 0, sizeof(*a));
    a->maxThreadsPerBlock = 1024;
    a->numRegs = 64;
    a->ptxVersion = a->binaryVersion = 90;
    a->maxDynamicSharedSizeBytes = 49152;
    return SIM_OK;
}

static int blocks(int *ret, int threads)
{
    *ret = threads > 0 ? 2048 / threads : 0;
    return threads > 0 ? SIM_OK : SIM_INVALID_VALUE;
}

RUNTIME(cudaFuncGetName, 451, (const char **name, const void *f), P2(name, f), name_of(name, f))
RUNTIME(cudaFuncGetAttributes, 15, (struct cudaFuncAttributes * a, const void *f), P2(a, f), attributes(a, f))
RUNTIME(cudaFuncSetAttribute, 273, (const void *f, enum cudaFuncAttribute a, int value), P3(f, a, value), SIM_OK)
RUNTIME(cudaFuncSetCacheConfig, 14, (const void *f, enum cudaFuncCache config), P2(f, config), SIM_OK)
RUNTIME(cudaOccupancyMaxActiveBlocksPerMultiprocessor, 210, (int *n, const void *f, int threads, size_t shared),
        P4(n, f, threads, shared), blocks(n, threads))
RUNTIME(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, 251,
        (int *n, const void *f, int threads, size_t shared, unsigned flags), P5(n, f, threads, shared, flags),
        blocks(n, threads))
