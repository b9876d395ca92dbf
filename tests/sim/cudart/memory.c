/* memory.c - allocation, copies and fills. */
#include <string.h>

#include "tests/sim/cudart/cudart.h"

#define STREAM(handle) sim_stream_of(handle)

static int info(size_t *ret_free, size_t *ret_total)
{
    return sim_memory_info(sim_current(), ret_free, ret_total);
}

static int pitch(void **p, size_t *ret_pitch, size_t width, size_t height)
{
    *ret_pitch = (width + 511) / 512 * 512;
    return sim_malloc(sim_current(), *ret_pitch * height, p);
}

static int device_pointer(void **device, void *host)
{
    struct sim_range r;
    *device = host;
    return sim_find_range(host, &r) ? SIM_OK : SIM_INVALID_VALUE;
}

static int host_flags(unsigned *flags, void *host)
{
    struct sim_range r;
    if (!sim_find_range(host, &r) || r.place != SIM_PINNED)
        return SIM_INVALID_VALUE;
    *flags = r.flags;
    return SIM_OK;
}

static int attributes(struct cudaPointerAttributes *a, const void *p)
{
    struct sim_range r;
    bool found = sim_find_range(p, &r);
    enum sim_place place = found ? r.place : SIM_PAGEABLE;
    static const enum cudaMemoryType types[] = {cudaMemoryTypeUnregistered, cudaMemoryTypeHost, cudaMemoryTypeDevice,
                                                cudaMemoryTypeManaged};
    memset(a, 0, sizeof(*a));
    a->type = types[place];
    a->device = found ? r.device : -2;
    a->devicePointer = found ? (void *)p : NULL;
    a->hostPointer = place == SIM_DEVICE ? NULL : (void *)p;
    return SIM_OK;
}

static int copy(void *to, const void *from, size_t bytes, cudaStream_t stream, bool async)
{
    struct sim_stream *s = STREAM(stream);
    return s ? sim_copy(s, to, from, bytes, async) : SIM_INVALID_HANDLE;
}

/* Row by row; each is an operation of its own, where the device would do one. */
static int copy_2d(char *to, size_t to_pitch, const char *from, size_t from_pitch, size_t width, size_t height,
                   cudaStream_t stream, bool async)
{
    int error = SIM_OK;
    if (width == to_pitch && width == from_pitch)
        return copy(to, from, width * height, stream, async);
    for (size_t y = 0; y < height && !error; y++)
        error = copy(to + y * to_pitch, from + y * from_pitch, width, stream, async);
    return error;
}

static int set(void *p, int value, size_t bytes, cudaStream_t stream, bool async)
{
    struct sim_stream *s = STREAM(stream);
    return s ? sim_set(s, p, (unsigned)value, 1, bytes, async) : SIM_INVALID_HANDLE;
}

static int set_2d(char *p, size_t row, int value, size_t width, size_t height, cudaStream_t stream)
{
    int error = SIM_OK;
    if (width == row)
        return set(p, value, width * height, stream, true);
    for (size_t y = 0; y < height && !error; y++)
        error = set(p + y * row, value, width, stream, true);
    return error;
}

static int malloc_async(void **p, size_t bytes, cudaMemPool_t pool, cudaStream_t stream)
{
    struct sim_stream *s = STREAM(stream);
    return !s ? SIM_INVALID_HANDLE : p ? sim_malloc_async((struct sim_pool *)pool, bytes, s, p) : SIM_INVALID_VALUE;
}

static int free_async(void *p, cudaStream_t stream)
{
    struct sim_stream *s = STREAM(stream);
    return s ? sim_free_async(p, s) : SIM_INVALID_HANDLE;
}

static int device_pool(cudaMemPool_t *ret, int device, bool standard)
{
    struct sim_device *d = sim_device_at(device);
    int error = !d ? SIM_INVALID_DEVICE : SIM_OK;
    if (d && !d->default_pool && !(error = sim_pool_create(device, &d->default_pool)) && !d->pool)
        d->pool = d->default_pool;
    if (!error)
        *ret = (cudaMemPool_t)(standard ? d->default_pool : d->pool);
    return error;
}

static int set_device_pool(int device, cudaMemPool_t pool)
{
    struct sim_device *d = sim_device_at(device);
    if (!d)
        return SIM_INVALID_DEVICE;
    d->pool = (struct sim_pool *)pool;
    return SIM_OK;
}

static int ipc_open(void **p, cudaIpcMemHandle_t handle)
{
    return sim_ipc_open(&handle, sim_current(), p);
}

RUNTIME(cudaMalloc, 20, (void **p, size_t bytes), P2(p, bytes), sim_malloc(sim_current(), bytes, p))
RUNTIME(cudaMallocManaged, 206, (void **p, size_t bytes, unsigned flags), P3(p, bytes, flags),
        sim_malloc_managed(sim_current(), bytes, p))
RUNTIME(cudaMallocPitch, 21, (void **p, size_t *row, size_t width, size_t height), P4(p, row, width, height),
        pitch(p, row, width, height))
RUNTIME(cudaFree, 22, (void *p), P1(p), sim_free(p))
RUNTIME(cudaMallocHost, 25, (void **p, size_t bytes), P2(p, bytes), sim_host_alloc(bytes, 0, p))
RUNTIME(cudaHostAlloc, 27, (void **p, size_t bytes, unsigned flags), P3(p, bytes, flags),
        sim_host_alloc(bytes, flags, p))
RUNTIME(cudaFreeHost, 26, (void *p), P1(p), sim_host_free(p))
RUNTIME(cudaHostRegister, 152, (void *p, size_t bytes, unsigned flags), P3(p, bytes, flags),
        sim_host_register(p, bytes, flags))
RUNTIME(cudaHostUnregister, 153, (void *p), P1(p), sim_host_unregister(p))
RUNTIME(cudaHostGetDevicePointer, 28, (void **device, void *host, unsigned flags), P3(device, host, flags),
        device_pointer(device, host))
RUNTIME(cudaHostGetFlags, 29, (unsigned *flags, void *host), P2(flags, host), host_flags(flags, host))
RUNTIME(cudaMemGetInfo, 30, (size_t * available, size_t *total), P2(available, total), info(available, total))
RUNTIME(cudaPointerGetAttributes, 151, (struct cudaPointerAttributes * a, const void *p), P2(a, p), attributes(a, p))

RUNTIME(cudaMallocAsync, 373, (void **p, size_t bytes, cudaStream_t s), P3(p, bytes, s),
        malloc_async(p, bytes, NULL, s))
RUNTIME(cudaMallocFromPoolAsync, 391, (void **p, size_t bytes, cudaMemPool_t pool, cudaStream_t s),
        P4(p, bytes, pool, s), malloc_async(p, bytes, pool, s))
RUNTIME(cudaFreeAsync, 375, (void *p, cudaStream_t s), P2(p, s), free_async(p, s))
RUNTIME(cudaDeviceGetDefaultMemPool, 372, (cudaMemPool_t * pool, int device), P2(pool, device),
        device_pool(pool, device, true))
RUNTIME(cudaDeviceGetMemPool, 386, (cudaMemPool_t * pool, int device), P2(pool, device),
        device_pool(pool, device, false))
RUNTIME(cudaDeviceSetMemPool, 385, (int device, cudaMemPool_t pool), P2(device, pool), set_device_pool(device, pool))
RUNTIME(cudaMemPoolCreate, 383, (cudaMemPool_t * pool, const struct cudaMemPoolProps *p), P2(pool, p),
        sim_pool_create(p->location.id, (struct sim_pool **)pool))
RUNTIME(cudaMemPoolDestroy, 384, (cudaMemPool_t pool), P1(pool), sim_pool_destroy((struct sim_pool *)pool))
RUNTIME(cudaMemPoolTrimTo, 377, (cudaMemPool_t pool, size_t keep), P2(pool, keep),
        sim_pool_trim((struct sim_pool *)pool, keep))
RUNTIME(cudaMemPoolSetAttribute, 378, (cudaMemPool_t pool, enum cudaMemPoolAttr a, void *v), P3(pool, a, v),
        sim_pool_attribute((struct sim_pool *)pool, (int)a, v, true))
RUNTIME(cudaMemPoolGetAttribute, 379, (cudaMemPool_t pool, enum cudaMemPoolAttr a, void *v), P3(pool, a, v),
        sim_pool_attribute((struct sim_pool *)pool, (int)a, v, false))
RUNTIME(cudaMemPoolSetAccess, 380, (cudaMemPool_t pool, const struct cudaMemAccessDesc *d, size_t n), P3(pool, d, n),
        SIM_OK)

RUNTIME(cudaMemcpy, 31, (void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind), P4(to, from, bytes, kind),
        copy(to, from, bytes, NULL, false))
RUNTIME(cudaMemcpyAsync, 41, (void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t s),
        P5(to, from, bytes, kind, s), copy(to, from, bytes, s, true))
RUNTIME(cudaMemcpy2D, 32,
        (void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t w, size_t h, enum cudaMemcpyKind kind),
        P6(to, to_pitch, from, from_pitch, w, h), copy_2d(to, to_pitch, from, from_pitch, w, h, NULL, false))
RUNTIME(cudaMemcpy2DAsync, 44,
        (void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t w, size_t h, enum cudaMemcpyKind kind,
         cudaStream_t s),
        P6(to, to_pitch, from, from_pitch, w, h), copy_2d(to, to_pitch, from, from_pitch, w, h, s, true))
RUNTIME(cudaMemcpyPeer, 160, (void *to, int to_device, const void *from, int from_device, size_t bytes),
        P5(to, to_device, from, from_device, bytes), copy(to, from, bytes, NULL, false))
RUNTIME(cudaMemcpyPeerAsync, 161,
        (void *to, int to_device, const void *from, int from_device, size_t bytes, cudaStream_t s),
        P6(to, to_device, from, from_device, bytes, s), copy(to, from, bytes, s, true))
RUNTIME(cudaMemset, 49, (void *p, int value, size_t bytes), P3(p, value, bytes), set(p, value, bytes, NULL, false))
RUNTIME(cudaMemsetAsync, 51, (void *p, int value, size_t bytes, cudaStream_t s), P4(p, value, bytes, s),
        set(p, value, bytes, s, true))
RUNTIME(cudaMemset2D, 50, (void *p, size_t row, int value, size_t w, size_t h), P5(p, row, value, w, h),
        set_2d(p, row, value, w, h, NULL))
RUNTIME(cudaMemset2DAsync, 52, (void *p, size_t row, int value, size_t w, size_t h, cudaStream_t s),
        P6(p, row, value, w, h, s), set_2d(p, row, value, w, h, s))

RUNTIME(cudaIpcGetMemHandle, 178, (cudaIpcMemHandle_t * handle, void *p), P2(handle, p), sim_ipc_handle(p, handle))
RUNTIME(cudaIpcOpenMemHandle, 179, (void **p, cudaIpcMemHandle_t handle, unsigned flags), P3(p, handle, flags),
        ipc_open(p, handle))
RUNTIME(cudaIpcCloseMemHandle, 180, (void *p), P1(p), sim_ipc_close(p))
