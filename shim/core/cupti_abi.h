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

/* Calls whose begin we want: what launches kernels (cupti_runtime_cbid.h, cupti_driver_cbid.h). What nvcc 13 compiles
 * launches by __cudaLaunchKernel; the _ptsz forms are those of programs with a default stream per thread. */
#define CUPTI_RUNTIME_LAUNCHES(CALL)                                                                                   \
    CALL(cudaLaunchKernel_v7000, 211)                                                                                  \
    CALL(cudaLaunchKernel_ptsz_v7000, 214)                                                                             \
    CALL(cudaLaunchCooperativeKernel_v9000, 269)                                                                       \
    CALL(cudaLaunchCooperativeKernel_ptsz_v9000, 270)                                                                  \
    CALL(cudaGraphLaunch_v10000, 311)                                                                                  \
    CALL(cudaGraphLaunch_ptsz_v10000, 312)                                                                             \
    CALL(cudaLaunchKernelExC_v11060, 430)                                                                              \
    CALL(cudaLaunchKernelExC_ptsz_v11060, 431)
#define CUPTI_RUNTIME_LAUNCHES_13(CALL)                                                                                \
    CALL(__cudaLaunchKernel_v13000, 505)                                                                               \
    CALL(__cudaLaunchKernel_ptsz_v13000, 506)
#define CUPTI_DRIVER_LAUNCHES(CALL)                                                                                    \
    CALL(cuLaunchKernel, 307)                                                                                          \
    CALL(cuLaunchKernel_ptsz, 442)                                                                                     \
    CALL(cuLaunchCooperativeKernel, 477)                                                                               \
    CALL(cuLaunchCooperativeKernel_ptsz, 478)                                                                          \
    CALL(cuGraphLaunch, 514)                                                                                           \
    CALL(cuGraphLaunch_ptsz, 515)                                                                                      \
    CALL(cuLaunchKernelEx, 652)                                                                                        \
    CALL(cuLaunchKernelEx_ptsz, 653)

/* The version that cuptiGetVersion tells from which single calls can be asked for: CUDA 12.5. */
#define CUPTI_HAS_SINGLE_CALLS 23
/* And from which a refused buffer is no crash: 12.9. */
#define CUPTI_MAY_REFUSE_BUFFER 27

typedef void (*cupti_buffer_requested)(uint8_t **buffer, size_t *size, size_t *max_records);
typedef void (*cupti_buffer_completed)(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid);

#endif
