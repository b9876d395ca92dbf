/* cupti_abi.h - what we use of CUPTI, declared by ourselves: no NVIDIA header is needed to build.
 *
 * Records are read through the part of their layout that has not changed from CUDA 11.2 to 13.4 (fields were only ever
 * appended); how long a record is, CUPTI says itself. Checked against the real headers by `make check-abi`. */
#ifndef TRSHIM_CORE_CUPTI_ABI_H
#define TRSHIM_CORE_CUPTI_ABI_H

#include <stddef.h>
#include <stdint.h>

enum cupti_kind {
    CUPTI_MEMCPY = 1,
    CUPTI_MEMSET = 2,
    CUPTI_DRIVER = 4,
    CUPTI_RUNTIME = 5,
    CUPTI_CONCURRENT_KERNEL = 10,
    CUPTI_MEMCPY2 = 22, /* between devices */
    CUPTI_GRAPH_TRACE = 51,
};

struct cupti_kernel {
    uint32_t kind;
    uint8_t cache[2];
    uint16_t registers;
    uint32_t partitioned[2];
    uint64_t start, end, completed;
    uint32_t device, context, stream;
    int32_t grid[3], block[3];
    int32_t shared_static, shared_dynamic;
    uint32_t local_per_thread, local_total;
    uint32_t correlation;
    int64_t grid_id;
    const char *name; /* CUPTI's; never freed */
    uint64_t reserved, queued, submitted;
    uint8_t launch[4];
    uint32_t shared_executed;
    uint64_t graph_node;
    uint32_t shmem_limit;
    uint32_t graph;
};
_Static_assert(offsetof(struct cupti_kernel, start) == 16, "CUpti_ActivityKernel");
_Static_assert(offsetof(struct cupti_kernel, device) == 40, "CUpti_ActivityKernel");
_Static_assert(offsetof(struct cupti_kernel, grid) == 52, "CUpti_ActivityKernel");
_Static_assert(offsetof(struct cupti_kernel, correlation) == 92, "CUpti_ActivityKernel");
_Static_assert(offsetof(struct cupti_kernel, name) == 104, "CUpti_ActivityKernel");
_Static_assert(offsetof(struct cupti_kernel, graph) == 156, "CUpti_ActivityKernel");

struct cupti_memcpy {
    uint32_t kind;
    uint8_t copy_kind, src, dst, flags;
    uint64_t bytes, start, end;
    uint32_t device, context, stream, correlation;
};
_Static_assert(offsetof(struct cupti_memcpy, correlation) == 44, "CUpti_ActivityMemcpy");

struct cupti_memcpy_peer {
    uint32_t kind;
    uint8_t copy_kind, src, dst, flags;
    uint64_t bytes, start, end;
    uint32_t device, context, stream;
    uint32_t src_device, src_context, dst_device, dst_context, correlation;
};
_Static_assert(offsetof(struct cupti_memcpy_peer, correlation) == 60, "CUpti_ActivityMemcpyPtoP");

struct cupti_memset {
    uint32_t kind, value;
    uint64_t bytes, start, end;
    uint32_t device, context, stream, correlation;
};
_Static_assert(offsetof(struct cupti_memset, correlation) == 44, "CUpti_ActivityMemset");

/* A launch of a graph as a whole, from 11.7 on; instead of what its nodes did. */
struct cupti_graph_run {
    uint32_t kind, correlation;
    uint64_t start, end;
    uint32_t device, graph, context, stream;
};
_Static_assert(offsetof(struct cupti_graph_run, stream) == 36, "CUpti_ActivityGraphTrace");

struct cupti_api {
    uint32_t kind, cbid;
    uint64_t start, end;
    uint32_t process, thread, correlation, result;
};
_Static_assert(offsetof(struct cupti_api, correlation) == 32, "CUpti_ActivityAPI");

/* CUpti_ActivityMemcpyKind and CUpti_ActivityMemoryKind */
enum {
    CUPTI_HTOD = 1,
    CUPTI_DTOH = 2,
    CUPTI_HTOA = 3,
    CUPTI_ATOH = 4,
    CUPTI_DTOD = 8,
    CUPTI_HTOH = 9,
    CUPTI_PTOP = 10
};
enum { CUPTI_PAGEABLE = 1, CUPTI_PINNED = 2, CUPTI_ON_DEVICE = 3, CUPTI_ARRAY = 4, CUPTI_MANAGED = 5 };

/* CUpti_CallbackData: what a subscriber is told at the begin and at the end of a call. */
struct cupti_callback {
    uint32_t site;
    const char *name;
    const void *params;
    const void *result; /* at the end: cudaError_t or CUresult */
    const char *symbol;
    void *context;
    uint32_t context_id;
    uint64_t *user;
    uint32_t correlation;
};
_Static_assert(offsetof(struct cupti_callback, correlation) == 64, "CUpti_CallbackData");
enum { CUPTI_AT_BEGIN = 0, CUPTI_AT_END = 1 };
enum { CUPTI_DOMAIN_DRIVER = 1, CUPTI_DOMAIN_RUNTIME = 2, CUPTI_NR_DOMAINS };

/* Calls whose begin we want (cupti_runtime_cbid.h, cupti_driver_cbid.h): CALL(name, number, what it leaves on the GPU).
 * What nvcc 13 compiles launches by __cudaLaunchKernel; the _ptsz and _ptds forms are those of programs with a default
 * stream per thread. The driver's calls are those that libraries and compilers make without a runtime. */
#define CUPTI_RUNTIME_LAUNCHES(CALL)                                                                                   \
    CALL(cudaLaunchKernel_v7000, 211, KERNEL)                                                                          \
    CALL(cudaLaunchKernel_ptsz_v7000, 214, KERNEL)                                                                     \
    CALL(cudaLaunchCooperativeKernel_v9000, 269, KERNEL)                                                               \
    CALL(cudaLaunchCooperativeKernel_ptsz_v9000, 270, KERNEL)                                                          \
    CALL(cudaGraphLaunch_v10000, 311, GRAPH)                                                                           \
    CALL(cudaGraphLaunch_ptsz_v10000, 312, GRAPH)                                                                      \
    CALL(cudaLaunchKernelExC_v11060, 430, KERNEL)                                                                      \
    CALL(cudaLaunchKernelExC_ptsz_v11060, 431, KERNEL)
#define CUPTI_RUNTIME_LAUNCHES_13(CALL)                                                                                \
    CALL(__cudaLaunchKernel_v13000, 505, KERNEL)                                                                       \
    CALL(__cudaLaunchKernel_ptsz_v13000, 506, KERNEL)
#define CUPTI_RUNTIME_COPIES(CALL)                                                                                     \
    CALL(cudaMemcpy_v3020, 31, MAYBE)                                                                                  \
    CALL(cudaMemcpy2D_v3020, 32, MAYBE)                                                                                \
    CALL(cudaMemcpyToSymbol_v3020, 39, MAYBE)                                                                          \
    CALL(cudaMemcpyFromSymbol_v3020, 40, MAYBE)                                                                        \
    CALL(cudaMemcpyAsync_v3020, 41, MAYBE)                                                                             \
    CALL(cudaMemcpy2DAsync_v3020, 44, MAYBE)                                                                           \
    CALL(cudaMemcpyToSymbolAsync_v3020, 47, MAYBE)                                                                     \
    CALL(cudaMemcpyFromSymbolAsync_v3020, 48, MAYBE)                                                                   \
    CALL(cudaMemset_v3020, 49, MAYBE)                                                                                  \
    CALL(cudaMemset2D_v3020, 50, MAYBE)                                                                                \
    CALL(cudaMemsetAsync_v3020, 51, MAYBE)                                                                             \
    CALL(cudaMemset2DAsync_v3020, 52, MAYBE)                                                                           \
    CALL(cudaMemcpy3D_v3020, 144, MAYBE)                                                                               \
    CALL(cudaMemcpy3DAsync_v3020, 145, MAYBE)                                                                          \
    CALL(cudaMemcpyPeer_v4000, 160, MAYBE)                                                                             \
    CALL(cudaMemcpyPeerAsync_v4000, 161, MAYBE)                                                                        \
    CALL(cudaMemcpy_ptds_v7000, 215, MAYBE)                                                                            \
    CALL(cudaMemcpy2D_ptds_v7000, 216, MAYBE)                                                                          \
    CALL(cudaMemcpyAsync_ptsz_v7000, 225, MAYBE)                                                                       \
    CALL(cudaMemcpy2DAsync_ptsz_v7000, 228, MAYBE)                                                                     \
    CALL(cudaMemset_ptds_v7000, 233, MAYBE)                                                                            \
    CALL(cudaMemset2D_ptds_v7000, 234, MAYBE)                                                                          \
    CALL(cudaMemsetAsync_ptsz_v7000, 235, MAYBE)                                                                       \
    CALL(cudaMemset2DAsync_ptsz_v7000, 236, MAYBE)                                                                     \
    CALL(cudaMemcpy3D_ptds_v7000, 245, MAYBE)                                                                          \
    CALL(cudaMemcpy3DAsync_ptsz_v7000, 246, MAYBE)
#define CUPTI_RUNTIME_COPIES_13(CALL)                                                                                  \
    CALL(cudaMemcpyBatchAsync_v13000, 509, MAYBE)                                                                      \
    CALL(cudaMemcpyBatchAsync_ptsz_v13000, 510, MAYBE)
#define CUPTI_DRIVER_LAUNCHES(CALL)                                                                                    \
    CALL(cuLaunchKernel, 307, KERNEL)                                                                                  \
    CALL(cuLaunchKernel_ptsz, 442, KERNEL)                                                                             \
    CALL(cuLaunchCooperativeKernel, 477, KERNEL)                                                                       \
    CALL(cuLaunchCooperativeKernel_ptsz, 478, KERNEL)                                                                  \
    CALL(cuGraphLaunch, 514, GRAPH)                                                                                    \
    CALL(cuGraphLaunch_ptsz, 515, GRAPH)                                                                               \
    CALL(cuLaunchKernelEx, 652, KERNEL)                                                                                \
    CALL(cuLaunchKernelEx_ptsz, 653, KERNEL)
#define CUPTI_DRIVER_COPIES(CALL)                                                                                      \
    CALL(cuMemsetD8Async, 216, MAYBE)                                                                                  \
    CALL(cuMemsetD16Async, 218, MAYBE)                                                                                 \
    CALL(cuMemsetD32Async, 220, MAYBE)                                                                                 \
    CALL(cuMemsetD8_v2, 249, MAYBE)                                                                                    \
    CALL(cuMemsetD16_v2, 250, MAYBE)                                                                                   \
    CALL(cuMemsetD32_v2, 251, MAYBE)                                                                                   \
    CALL(cuMemcpyHtoD_v2, 276, MAYBE)                                                                                  \
    CALL(cuMemcpyHtoDAsync_v2, 277, MAYBE)                                                                             \
    CALL(cuMemcpyDtoH_v2, 278, MAYBE)                                                                                  \
    CALL(cuMemcpyDtoHAsync_v2, 279, MAYBE)                                                                             \
    CALL(cuMemcpyDtoD_v2, 280, MAYBE)                                                                                  \
    CALL(cuMemcpyDtoDAsync_v2, 281, MAYBE)                                                                             \
    CALL(cuMemcpy2D_v2, 287, MAYBE)                                                                                    \
    CALL(cuMemcpy2DAsync_v2, 289, MAYBE)                                                                               \
    CALL(cuMemcpy3D_v2, 290, MAYBE)                                                                                    \
    CALL(cuMemcpy3DAsync_v2, 291, MAYBE)                                                                               \
    CALL(cuMemcpy, 305, MAYBE)                                                                                         \
    CALL(cuMemcpyAsync, 306, MAYBE)                                                                                    \
    CALL(cuMemcpyPeer, 318, MAYBE)                                                                                     \
    CALL(cuMemcpyPeerAsync, 319, MAYBE)                                                                                \
    CALL(cuMemcpyHtoD_v2_ptds, 397, MAYBE)                                                                             \
    CALL(cuMemcpyDtoH_v2_ptds, 398, MAYBE)                                                                             \
    CALL(cuMemcpyDtoD_v2_ptds, 399, MAYBE)                                                                             \
    CALL(cuMemcpy_ptds, 408, MAYBE)                                                                                    \
    CALL(cuMemsetD8_v2_ptds, 411, MAYBE)                                                                               \
    CALL(cuMemsetD16_v2_ptds, 412, MAYBE)                                                                              \
    CALL(cuMemsetD32_v2_ptds, 413, MAYBE)                                                                              \
    CALL(cuMemcpyAsync_ptsz, 418, MAYBE)                                                                               \
    CALL(cuMemcpyHtoDAsync_v2_ptsz, 421, MAYBE)                                                                        \
    CALL(cuMemcpyDtoHAsync_v2_ptsz, 422, MAYBE)                                                                        \
    CALL(cuMemcpyDtoDAsync_v2_ptsz, 423, MAYBE)                                                                        \
    CALL(cuMemcpyPeerAsync_ptsz, 426, MAYBE)                                                                           \
    CALL(cuMemsetD8Async_ptsz, 428, MAYBE)                                                                             \
    CALL(cuMemsetD16Async_ptsz, 429, MAYBE)                                                                            \
    CALL(cuMemsetD32Async_ptsz, 430, MAYBE)

/* The version that cuptiGetVersion tells from which single calls can be asked for: CUDA 12.5. */
#define CUPTI_HAS_SINGLE_CALLS 23
/* And from which a refused buffer is no crash: 12.9. */
#define CUPTI_MAY_REFUSE_BUFFER 27

/* cuptiSubscribe()'s answer when somebody else is subscribed, from 11.0 on. */
#define CUPTI_TAKEN 39

typedef void (*cupti_callback_fn)(void *user, uint32_t domain, uint32_t cbid, const void *data);
typedef void (*cupti_buffer_requested)(uint8_t **buffer, size_t *size, size_t *max_records);
typedef void (*cupti_buffer_completed)(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid);

#endif
