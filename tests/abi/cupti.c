/* cupti.c - our declarations of CUPTI against the real headers: compiled, never run (tests/check-abi.t).
 *
 * SAME(our struct, our field, their struct, their field): same place, same size. The records are those of the version
 * whose headers are given: CUPTI fills the newest it knows, and we read the beginning that all have in common. */
#include <cuda.h>
#include <cupti.h>

#include "shim/core/cupti_abi.h"

#define SAME(ours, field, theirs, their_field)                                                                         \
    _Static_assert(offsetof(ours, field) == offsetof(theirs, their_field), #theirs "." #their_field ": place");        \
    _Static_assert(sizeof(((ours *)0)->field) == sizeof(((theirs *)0)->their_field), #theirs "." #their_field ": "     \
                                                                                             "size")

/* The newest record of each kind in these headers; names from the release notes. */
#if CUPTI_API_VERSION >= 130400
typedef CUpti_ActivityKernel13 kernel;
typedef CUpti_ActivityMemcpy7 copy;
#elif CUPTI_API_VERSION >= 130300
typedef CUpti_ActivityKernel12 kernel;
typedef CUpti_ActivityMemcpy6 copy;
#elif CUPTI_API_VERSION >= 130100
typedef CUpti_ActivityKernel11 kernel;
typedef CUpti_ActivityMemcpy6 copy;
#elif CUPTI_API_VERSION >= 130000
typedef CUpti_ActivityKernel10 kernel;
typedef CUpti_ActivityMemcpy6 copy;
#elif CUPTI_API_VERSION >= 26
typedef CUpti_ActivityKernel9 kernel;
typedef CUpti_ActivityMemcpy6 copy;
#elif CUPTI_API_VERSION >= 19
typedef CUpti_ActivityKernel9 kernel;
typedef CUpti_ActivityMemcpy5 copy;
#else
typedef CUpti_ActivityKernel8 kernel;
typedef CUpti_ActivityMemcpy5 copy;
#endif

SAME(struct cupti_kernel, kind, kernel, kind);
SAME(struct cupti_kernel, start, kernel, start);
SAME(struct cupti_kernel, end, kernel, end);
SAME(struct cupti_kernel, device, kernel, deviceId);
SAME(struct cupti_kernel, context, kernel, contextId);
SAME(struct cupti_kernel, stream, kernel, streamId);
SAME(struct cupti_kernel, grid[0], kernel, gridX);
SAME(struct cupti_kernel, grid[2], kernel, gridZ);
SAME(struct cupti_kernel, correlation, kernel, correlationId);
SAME(struct cupti_kernel, name, kernel, name);
SAME(struct cupti_kernel, graph, kernel, graphId);

SAME(struct cupti_memcpy, copy_kind, copy, copyKind);
SAME(struct cupti_memcpy, src, copy, srcKind);
SAME(struct cupti_memcpy, dst, copy, dstKind);
SAME(struct cupti_memcpy, bytes, copy, bytes);
SAME(struct cupti_memcpy, start, copy, start);
SAME(struct cupti_memcpy, end, copy, end);
SAME(struct cupti_memcpy, device, copy, deviceId);
SAME(struct cupti_memcpy, stream, copy, streamId);
SAME(struct cupti_memcpy, correlation, copy, correlationId);

SAME(struct cupti_memcpy_peer, bytes, CUpti_ActivityMemcpyPtoP4, bytes);
SAME(struct cupti_memcpy_peer, start, CUpti_ActivityMemcpyPtoP4, start);
SAME(struct cupti_memcpy_peer, correlation, CUpti_ActivityMemcpyPtoP4, correlationId);

SAME(struct cupti_memset, bytes, CUpti_ActivityMemset4, bytes);
SAME(struct cupti_memset, start, CUpti_ActivityMemset4, start);
SAME(struct cupti_memset, stream, CUpti_ActivityMemset4, streamId);
SAME(struct cupti_memset, correlation, CUpti_ActivityMemset4, correlationId);

SAME(struct cupti_graph_run, correlation, CUpti_ActivityGraphTrace, correlationId);
SAME(struct cupti_graph_run, start, CUpti_ActivityGraphTrace, start);
SAME(struct cupti_graph_run, end, CUpti_ActivityGraphTrace, end);
SAME(struct cupti_graph_run, device, CUpti_ActivityGraphTrace, deviceId);
SAME(struct cupti_graph_run, graph, CUpti_ActivityGraphTrace, graphId);
SAME(struct cupti_graph_run, stream, CUpti_ActivityGraphTrace, streamId);

SAME(struct cupti_api, cbid, CUpti_ActivityAPI, cbid);
SAME(struct cupti_api, start, CUpti_ActivityAPI, start);
SAME(struct cupti_api, thread, CUpti_ActivityAPI, threadId);
SAME(struct cupti_api, correlation, CUpti_ActivityAPI, correlationId);

#define VALUE(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #theirs)
VALUE(CUPTI_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY);
VALUE(CUPTI_MEMSET, CUPTI_ACTIVITY_KIND_MEMSET);
VALUE(CUPTI_DRIVER, CUPTI_ACTIVITY_KIND_DRIVER);
VALUE(CUPTI_RUNTIME, CUPTI_ACTIVITY_KIND_RUNTIME);
VALUE(CUPTI_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
VALUE(CUPTI_GRAPH_TRACE, CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
VALUE(CUPTI_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMCPY2);
VALUE(CUPTI_HTOD, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD);
VALUE(CUPTI_DTOH, CUPTI_ACTIVITY_MEMCPY_KIND_DTOH);
VALUE(CUPTI_HTOA, CUPTI_ACTIVITY_MEMCPY_KIND_HTOA);
VALUE(CUPTI_ATOH, CUPTI_ACTIVITY_MEMCPY_KIND_ATOH);
VALUE(CUPTI_DTOD, CUPTI_ACTIVITY_MEMCPY_KIND_DTOD);
VALUE(CUPTI_HTOH, CUPTI_ACTIVITY_MEMCPY_KIND_HTOH);
VALUE(CUPTI_PTOP, CUPTI_ACTIVITY_MEMCPY_KIND_PTOP);
VALUE(CUPTI_PAGEABLE, CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE);
VALUE(CUPTI_PINNED, CUPTI_ACTIVITY_MEMORY_KIND_PINNED);
VALUE(CUPTI_ON_DEVICE, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE);
VALUE(CUPTI_ARRAY, CUPTI_ACTIVITY_MEMORY_KIND_ARRAY);
VALUE(CUPTI_MANAGED, CUPTI_ACTIVITY_MEMORY_KIND_MANAGED);
#define CALL(name, cbid, leaves) VALUE(cbid, CUPTI_RUNTIME_TRACE_CBID_##name);
CUPTI_RUNTIME_LAUNCHES(CALL)
CUPTI_RUNTIME_COPIES(CALL)
#if CUPTI_API_VERSION >= 130000
CUPTI_RUNTIME_LAUNCHES_13(CALL)
CUPTI_RUNTIME_COPIES_13(CALL)
#endif
#undef CALL
#define CALL(name, cbid, leaves) VALUE(cbid, CUPTI_DRIVER_TRACE_CBID_##name);
CUPTI_DRIVER_LAUNCHES(CALL)
CUPTI_DRIVER_COPIES(CALL)
#undef CALL

SAME(struct cupti_callback, site, CUpti_CallbackData, callbackSite);
SAME(struct cupti_callback, result, CUpti_CallbackData, functionReturnValue);
SAME(struct cupti_callback, correlation, CUpti_CallbackData, correlationId);
VALUE(CUPTI_AT_BEGIN, CUPTI_API_ENTER);
VALUE(CUPTI_AT_END, CUPTI_API_EXIT);
VALUE(CUPTI_DOMAIN_DRIVER, CUPTI_CB_DOMAIN_DRIVER_API);
VALUE(CUPTI_DOMAIN_RUNTIME, CUPTI_CB_DOMAIN_RUNTIME_API);
VALUE(CUPTI_TAKEN, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
