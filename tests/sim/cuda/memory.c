/* memory.c - memory in the driver API: plain, virtual memory management, stream ordered, IPC. */
#include <string.h>

#include "tests/sim/cuda/driver.h"

#define PTR(address) ((void *)(uintptr_t)(address))
#define S(handle) sim_stream_of(handle)
#define POOL(handle) ((struct sim_pool *)(handle))

static int alloc(CUdeviceptr *ret, size_t bytes)
{
    void *p;
    int error = bytes ? sim_malloc(sim_current(), bytes, &p) : SIM_INVALID_VALUE;
    if (!error)
        *ret = (uintptr_t)p;
    return error;
}

static int alloc_async(CUdeviceptr *ret, size_t bytes, CUmemoryPool pool, CUstream stream)
{
    void *p;
    int error = S(stream) ? sim_malloc_async(POOL(pool), bytes, S(stream), &p) : SIM_INVALID_HANDLE;
    if (!error)
        *ret = (uintptr_t)p;
    return error;
}

static int copy(CUdeviceptr to, const void *from, size_t bytes, CUstream stream, bool async)
{
    return S(stream) ? sim_copy(S(stream), PTR(to), from, bytes, async) : SIM_INVALID_HANDLE;
}

static int set(CUdeviceptr p, unsigned value, unsigned width, size_t n, CUstream stream, bool async)
{
    return S(stream) ? sim_set(S(stream), PTR(p), value, width, n, async) : SIM_INVALID_HANDLE;
}

static int range(CUdeviceptr *base, size_t *size, CUdeviceptr p)
{
    struct sim_range r;
    if (!sim_find_range(PTR(p), &r))
        return SIM_INVALID_VALUE;
    if (base)
        *base = r.base;
    if (size)
        *size = r.size;
    return SIM_OK;
}

static int granularity(size_t *ret)
{
    *ret = SIM_GRANULARITY;
    return SIM_OK;
}

static int reserve(CUdeviceptr *ret, size_t size, size_t alignment)
{
    void *p;
    int error = sim_vmm_reserve(size, alignment, &p);
    if (!error)
        *ret = (uintptr_t)p;
    return error;
}

static int create(CUmemGenericAllocationHandle *ret, size_t size, const CUmemAllocationProp *p)
{
    uint64_t handle;
    int error = sim_vmm_create(p->location.id, size, &handle);
    if (!error)
        *ret = handle;
    return error;
}

static int retain(CUmemGenericAllocationHandle *ret, void *p)
{
    uint64_t handle;
    int error = sim_vmm_retain(p, &handle);
    if (!error)
        *ret = handle;
    return error;
}

#define READ_WRITE 3

static int ipc_open(CUdeviceptr *ret, const void *handle)
{
    void *p;
    int error = sim_ipc_open(handle, sim_current(), &p);
    if (!error)
        *ret = (uintptr_t)p;
    return error;
}

/* CU_POINTER_ATTRIBUTE: 1 context, 2 memory type, 3 and 4 pointers, 7 buffer id, 9 device ordinal. */
static int attribute(void *ret, int which, CUdeviceptr p)
{
    struct sim_range r;
    if (!sim_find_range(PTR(p), &r))
        return SIM_INVALID_VALUE;
    switch (which) {
    case 1:
        *(void **)ret = sim_device_at(r.device);
        return SIM_OK;
    case 2:
        *(unsigned *)ret = r.place == SIM_PINNED ? 1 : 2;
        return SIM_OK;
    case 3:
    case 4:
        *(CUdeviceptr *)ret = p;
        return SIM_OK;
    case 7:
        *(unsigned long long *)ret = r.id;
        return SIM_OK;
    case 9:
        *(int *)ret = r.device;
        return SIM_OK;
    default:
        sim_say_missing("cuPointerGetAttribute of another kind");
        return SIM_NOT_SUPPORTED;
    }
}

static int device_pool(CUmemoryPool *ret, int device)
{
    struct sim_device *d = sim_device_at(device);
    int error = !d ? SIM_INVALID_DEVICE : SIM_OK;
    if (d && !d->default_pool && !(error = sim_pool_create(device, &d->default_pool)) && !d->pool)
        d->pool = d->default_pool;
    if (!error)
        *ret = (CUmemoryPool)d->default_pool;
    return error;
}

DRIVER(cuMemAlloc_v2, 243, (CUdeviceptr * p, size_t bytes), P2(p, bytes), alloc(p, bytes))
DRIVER(cuMemFree_v2, 245, (CUdeviceptr p), P1(p), sim_free(PTR(p)))
DRIVER(cuMemGetInfo_v2, 242, (size_t * available, size_t *total), P2(available, total),
       sim_memory_info(sim_current(), available, total))
DRIVER(cuMemGetAddressRange_v2, 246, (CUdeviceptr * base, size_t *size, CUdeviceptr p), P3(base, size, p),
       range(base, size, p))
DRIVER(cuMemAllocHost_v2, 294, (void **p, size_t bytes), P2(p, bytes), sim_host_alloc(bytes, 0, p))
DRIVER(cuMemHostAlloc, 39, (void **p, size_t bytes, unsigned flags), P3(p, bytes, flags),
       sim_host_alloc(bytes, flags, p))
DRIVER(cuMemFreeHost, 38, (void *p), P1(p), sim_host_free(p))
DRIVER(cuMemHostRegister_v2, 379, (void *p, size_t bytes, unsigned flags), P3(p, bytes, flags),
       sim_host_register(p, bytes, flags))
DRIVER(cuMemHostUnregister, 302, (void *p), P1(p), sim_host_unregister(p))
DRIVER(cuPointerGetAttribute, 310, (void *ret, CUpointer_attribute which, CUdeviceptr p), P3(ret, which, p),
       attribute(ret, (int)which, p))

DRIVER(cuMemAddressReserve, 547,
       (CUdeviceptr * p, size_t size, size_t align, CUdeviceptr hint, unsigned long long flags),
       P5(p, size, align, hint, flags), reserve(p, size, align))
DRIVER(cuMemAddressFree, 548, (CUdeviceptr p, size_t size), P2(p, size), sim_vmm_unreserve(PTR(p), size))
DRIVER(cuMemCreate, 549,
       (CUmemGenericAllocationHandle * handle, size_t size, const CUmemAllocationProp *prop, unsigned long long flags),
       P4(handle, size, prop, flags), create(handle, size, prop))
DRIVER(cuMemRelease, 550, (CUmemGenericAllocationHandle handle), P1(handle), sim_vmm_release(handle))
DRIVER(cuMemRetainAllocationHandle, 565, (CUmemGenericAllocationHandle * handle, void *p), P2(handle, p),
       retain(handle, p))
DRIVER(cuMemMap, 551,
       (CUdeviceptr p, size_t size, size_t offset, CUmemGenericAllocationHandle handle, unsigned long long flags),
       P5(p, size, offset, handle, flags), sim_vmm_map(PTR(p), size, offset, handle))
DRIVER(cuMemUnmap, 552, (CUdeviceptr p, size_t size), P2(p, size), sim_vmm_unmap(PTR(p), size))
DRIVER(cuMemSetAccess, 553, (CUdeviceptr p, size_t size, const CUmemAccessDesc *desc, size_t n), P4(p, size, desc, n),
       sim_vmm_access(PTR(p), size, n && (int)desc->flags == READ_WRITE))
DRIVER(cuMemGetAllocationGranularity, 556,
       (size_t * ret, const CUmemAllocationProp *prop, CUmemAllocationGranularity_flags option), P3(ret, prop, option),
       granularity(ret))

DRIVER(cuMemAllocAsync, 598, (CUdeviceptr * p, size_t bytes, CUstream s), P3(p, bytes, s),
       alloc_async(p, bytes, NULL, s))
DRIVER(cuMemAllocFromPoolAsync, 611, (CUdeviceptr * p, size_t bytes, CUmemoryPool pool, CUstream s),
       P4(p, bytes, pool, s), alloc_async(p, bytes, pool, s))
DRIVER(cuMemFreeAsync, 600, (CUdeviceptr p, CUstream s), P2(p, s),
       S(s) ? sim_free_async(PTR(p), S(s)) : SIM_INVALID_HANDLE)
DRIVER(cuDeviceGetDefaultMemPool, 606, (CUmemoryPool * pool, CUdevice d), P2(pool, d), device_pool(pool, d))
DRIVER(cuMemPoolCreate, 607, (CUmemoryPool * pool, const CUmemPoolProps *p), P2(pool, p),
       sim_pool_create(p->location.id, (struct sim_pool **)pool))
DRIVER(cuMemPoolDestroy, 608, (CUmemoryPool pool), P1(pool), sim_pool_destroy(POOL(pool)))
DRIVER(cuMemPoolTrimTo, 602, (CUmemoryPool pool, size_t keep), P2(pool, keep), sim_pool_trim(POOL(pool), keep))
DRIVER(cuMemPoolSetAttribute, 603, (CUmemoryPool pool, CUmemPool_attribute a, void *v), P3(pool, a, v),
       sim_pool_attribute(POOL(pool), (int)a, v, true))
DRIVER(cuMemPoolGetAttribute, 604, (CUmemoryPool pool, CUmemPool_attribute a, void *v), P3(pool, a, v),
       sim_pool_attribute(POOL(pool), (int)a, v, false))

DRIVER(cuMemcpy, 305, (CUdeviceptr to, CUdeviceptr from, size_t bytes), P3(to, from, bytes),
       copy(to, PTR(from), bytes, NULL, false))
DRIVER(cuMemcpyAsync, 306, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream s), P4(to, from, bytes, s),
       copy(to, PTR(from), bytes, s, true))
DRIVER(cuMemcpyHtoD_v2, 276, (CUdeviceptr to, const void *from, size_t bytes), P3(to, from, bytes),
       copy(to, from, bytes, NULL, false))
DRIVER(cuMemcpyHtoDAsync_v2, 277, (CUdeviceptr to, const void *from, size_t bytes, CUstream s), P4(to, from, bytes, s),
       copy(to, from, bytes, s, true))
DRIVER(cuMemcpyDtoH_v2, 278, (void *to, CUdeviceptr from, size_t bytes), P3(to, from, bytes),
       copy((uintptr_t)to, PTR(from), bytes, NULL, false))
DRIVER(cuMemcpyDtoHAsync_v2, 279, (void *to, CUdeviceptr from, size_t bytes, CUstream s), P4(to, from, bytes, s),
       copy((uintptr_t)to, PTR(from), bytes, s, true))
DRIVER(cuMemcpyDtoD_v2, 280, (CUdeviceptr to, CUdeviceptr from, size_t bytes), P3(to, from, bytes),
       copy(to, PTR(from), bytes, NULL, false))
DRIVER(cuMemcpyDtoDAsync_v2, 281, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream s), P4(to, from, bytes, s),
       copy(to, PTR(from), bytes, s, true))
DRIVER(cuMemcpyPeerAsync, 319,
       (CUdeviceptr to, CUcontext to_ctx, CUdeviceptr from, CUcontext from_ctx, size_t bytes, CUstream s),
       P6(to, to_ctx, from, from_ctx, bytes, s), copy(to, PTR(from), bytes, s, true))
DRIVER(cuMemsetD8_v2, 249, (CUdeviceptr p, unsigned char v, size_t n), P3(p, v, n), set(p, v, 1, n, NULL, false))
DRIVER(cuMemsetD8Async, 216, (CUdeviceptr p, unsigned char v, size_t n, CUstream s), P4(p, v, n, s),
       set(p, v, 1, n, s, true))
DRIVER(cuMemsetD32_v2, 251, (CUdeviceptr p, unsigned v, size_t n), P3(p, v, n), set(p, v, 4, n, NULL, false))
DRIVER(cuMemsetD32Async, 220, (CUdeviceptr p, unsigned v, size_t n, CUstream s), P4(p, v, n, s),
       set(p, v, 4, n, s, true))

DRIVER(cuIpcGetMemHandle, 328, (CUipcMemHandle * handle, CUdeviceptr p), P2(handle, p), sim_ipc_handle(PTR(p), handle))
DRIVER(cuIpcOpenMemHandle_v2, 567, (CUdeviceptr * p, CUipcMemHandle handle, unsigned flags), P3(p, handle, flags),
       ipc_open(p, &handle))
DRIVER(cuIpcCloseMemHandle, 330, (CUdeviceptr p), P1(p), sim_ipc_close(PTR(p)))
