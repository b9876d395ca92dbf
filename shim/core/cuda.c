/* cuda.c - calls of the CUDA runtime and blocks of PyTorch's allocator become events.
 *
 * What ran on the GPU, and when, is CUPTI's to say; here is what the host asked for, and how long it was in it. */
#include <dlfcn.h>
#include <string.h>

#include "shim/core/burst.h"
#include "shim/core/calls.h"
#include "shim/core/callsite.h"
#include "shim/core/gpu.h"
#include "shim/core/name.h"
#include "shim/core/options.h"

void call_cuda_device(struct shim_call *call, int device)
{
    struct thread *t = thread_of(call);
    gpu_start(); /* if libcuda has not told us to */
    if (device >= 0)
        t->cuda_device = device;
}

void call_cuda(struct shim_call *call, enum tr_cuda_act act, int err)
{
    struct thread *t = thread_of(call);
    if (!call->tls->in_nccl)
        atomic_store_explicit(&t->api_start_ns, 0, memory_order_relaxed);
    gpu_start();
    struct burst b = {.key = (uint32_t)err,
                      .start_ns = call->start_ns,
                      .end_ns = call->end_ns,
                      .busy_ns = call->end_ns - call->start_ns,
                      .count = 1,
                      .op = (uint8_t)act};
    if (!detail_is_off())
        burst_add(t, SLOT_CUDA, &b);
}

void call_cupti_other(struct shim_call *call, enum cupti_other does, unsigned kind)
{
    (void)thread_of(call);
    gpu_other(does, kind, now_ns());
}

/* File name of the library that holds an address: who owns this memory. */
static uint32_t library_name(const void *address)
{
    Dl_info info;
    if (!dladdr(address, &info) || !info.dli_fname)
        return 0;
    const char *slash = strrchr(info.dli_fname, '/'), *base = slash ? slash + 1 : info.dli_fname;
    return name_of(TR_name_kind_library, base, strlen(base));
}

void call_segment(struct shim_call *call, enum tr_segment_act act, enum tr_segment_kind kind, void *ptr, uint64_t size,
                  int err, uint64_t free_bytes, const void *caller)
{
    struct thread *t = thread_of(call);
    gpu_start();
    if (act == TR_segment_act_free && !ptr)
        return; /* cudaFree(NULL) is how programs wake CUDA up */
    if (ptr && t->segment.address == (uintptr_t)ptr && t->segment.act == act && t->segment.at_ns >= call->start_ns)
        return; /* told inside this call: ncclMemAlloc by cudaMalloc */
    t->segment.address = (uintptr_t)ptr;
    t->segment.act = act;
    t->segment.at_ns = call->end_ns;
    uint32_t owner = library_name(caller);
    name_send(owner, t->tid);
    bool told = lttng_ust_tracepoint_enabled(trshim, segment) && act != TR_segment_act_free;
    uint32_t site = told && size >= options.site_bytes ? callsite_here(caller, t->tid) : 0;
    EMIT(segment, t->tid, .act = (uint8_t)act, .kind = (uint8_t)kind, .device = (uint32_t)t->cuda_device,
         .owner = owner, .err = err, .address = (uintptr_t)ptr, .size_bytes = size, .free_bytes = free_bytes,
         .start_ns = call->start_ns, .dur_ns = call->end_ns - call->start_ns, .site = site);
}

void call_gemm(struct shim_call *call, enum tr_dtype type, uint64_t m, uint64_t n, uint64_t k, uint64_t batch,
               bool captured)
{
    struct thread *t = thread_of(call);
    if (captured)
        graph_work_add(type, 2 * m * n * k * batch);
    else if (!detail_is_off())
        EMIT(gemm, t->tid, .type = (uint8_t)type, .count = 1, .m = (uint32_t)m, .n = (uint32_t)n, .k = (uint32_t)k,
             .batch = (uint32_t)batch, .flop = 2 * m * n * k * batch, .start_ns = call->start_ns,
             .dur_ns = call->end_ns - call->start_ns);
}

void call_block(struct shim_call *call, void *ptr, int64_t change, uint64_t allocated, uint64_t reserved,
                uint16_t device)
{
    struct thread *t = thread_of(call);
    bool taken = change >= 0;
    if (!detail_is_off())
        EMIT(block, t->tid, .act = taken ? TR_segment_act_alloc : TR_segment_act_free, .device = device >> 8,
             .address = (uintptr_t)ptr, .size_bytes = (uint64_t)(taken ? change : -change),
             .allocated_bytes = allocated, .reserved_bytes = reserved);
}

void call_oom(struct shim_call *call, uint64_t asked, uint64_t allocated, uint64_t reserved, uint16_t device)
{
    struct thread *t = thread_of(call);
    burst_flush(t);
    EMIT(oom, t->tid, .device = device >> 8, .size_bytes = asked, .allocated_bytes = allocated,
         .reserved_bytes = reserved);
}
