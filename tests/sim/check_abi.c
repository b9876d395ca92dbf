/* check_abi.c - compiled, never run, where NVIDIA's headers are: the layouts written out in tests/sim/abi are theirs.
 * Signatures are compared by compiling cuda/ and cudart/ with SIM_REAL_HEADERS; check-abi.t does both. */
#include <cupti.h>

#include "tests/sim/abi/cuda_abi.h"
#include "tests/sim/abi/cupti_abi.h"

#define SAME(ours, field, theirs, their_field)                                                                         \
    _Static_assert(offsetof(struct ours, field) == offsetof(theirs, their_field), #ours "." #field);                   \
    _Static_assert(sizeof(((struct ours *)0)->field) == sizeof(((theirs *)0)->their_field), #ours "." #field " size")

#if CUPTI_API_VERSION >= 130000
_Static_assert(sizeof(CUpti_ActivityKernel10) == 216, "kernel");
SAME(record_kernel, registers, CUpti_ActivityKernel10, registersPerThread);
SAME(record_kernel, start, CUpti_ActivityKernel10, start);
SAME(record_kernel, end, CUpti_ActivityKernel10, end);
SAME(record_kernel, completed, CUpti_ActivityKernel10, completed);
SAME(record_kernel, device, CUpti_ActivityKernel10, deviceId);
SAME(record_kernel, context, CUpti_ActivityKernel10, contextId);
SAME(record_kernel, stream, CUpti_ActivityKernel10, streamId);
SAME(record_kernel, grid_x, CUpti_ActivityKernel10, gridX);
SAME(record_kernel, block_z, CUpti_ActivityKernel10, blockZ);
SAME(record_kernel, dynamic_shared, CUpti_ActivityKernel10, dynamicSharedMemory);
SAME(record_kernel, correlation, CUpti_ActivityKernel10, correlationId);
SAME(record_kernel, grid_id, CUpti_ActivityKernel10, gridId);
SAME(record_kernel, name, CUpti_ActivityKernel10, name);
SAME(record_kernel, queued, CUpti_ActivityKernel10, queued);
SAME(record_kernel, launch_type, CUpti_ActivityKernel10, launchType);
SAME(record_kernel, graph_node, CUpti_ActivityKernel10, graphNodeId);
SAME(record_kernel, graph_id, CUpti_ActivityKernel10, graphId);
SAME(record_kernel, channel, CUpti_ActivityKernel10, channelID);
SAME(record_kernel, local_total_2, CUpti_ActivityKernel10, localMemoryTotal_v2);
SAME(record_kernel, device_launched, CUpti_ActivityKernel10, isDeviceLaunched);
#endif
#if CUPTI_API_VERSION >= 26
_Static_assert(sizeof(CUpti_ActivityMemcpy6) == 96, "memcpy");
SAME(record_memcpy, copy_kind, CUpti_ActivityMemcpy6, copyKind);
SAME(record_memcpy, from, CUpti_ActivityMemcpy6, srcKind);
SAME(record_memcpy, flags, CUpti_ActivityMemcpy6, flags);
SAME(record_memcpy, bytes, CUpti_ActivityMemcpy6, bytes);
SAME(record_memcpy, end, CUpti_ActivityMemcpy6, end);
SAME(record_memcpy, stream, CUpti_ActivityMemcpy6, streamId);
SAME(record_memcpy, correlation, CUpti_ActivityMemcpy6, correlationId);
SAME(record_memcpy, graph_node, CUpti_ActivityMemcpy6, graphNodeId);
SAME(record_memcpy, graph_id, CUpti_ActivityMemcpy6, graphId);
SAME(record_memcpy, copies, CUpti_ActivityMemcpy6, copyCount);
_Static_assert(sizeof(CUpti_ActivitySynchronization2) == sizeof(struct record_sync), "sync");
SAME(record_sync, type, CUpti_ActivitySynchronization2, type);
SAME(record_sync, end, CUpti_ActivitySynchronization2, end);
SAME(record_sync, stream, CUpti_ActivitySynchronization2, streamId);
SAME(record_sync, event_sync, CUpti_ActivitySynchronization2, cudaEventSyncId);
SAME(record_sync, result, CUpti_ActivitySynchronization2, returnValue);
_Static_assert(sizeof(CUpti_ActivityMemory4) == sizeof(struct record_memory2), "memory2");
SAME(record_memory2, operation, CUpti_ActivityMemory4, memoryOperationType);
SAME(record_memory2, address, CUpti_ActivityMemory4, address);
SAME(record_memory2, ns, CUpti_ActivityMemory4, timestamp);
SAME(record_memory2, pc, CUpti_ActivityMemory4, PC);
SAME(record_memory2, process, CUpti_ActivityMemory4, processId);
SAME(record_memory2, stream, CUpti_ActivityMemory4, streamId);
SAME(record_memory2, async, CUpti_ActivityMemory4, isAsync);
SAME(record_memory2, pool_type, CUpti_ActivityMemory4, memoryPoolConfig.memoryPoolType);
SAME(record_memory2, pool_address, CUpti_ActivityMemory4, memoryPoolConfig.address);
SAME(record_memory2, pool_size, CUpti_ActivityMemory4, memoryPoolConfig.pool.size);
SAME(record_memory2, pool_used, CUpti_ActivityMemory4, memoryPoolConfig.utilizedSize);
SAME(record_memory2, source, CUpti_ActivityMemory4, source);
_Static_assert(sizeof(CUpti_ActivityOverhead3) == sizeof(struct record_overhead), "overhead");
SAME(record_overhead, start, CUpti_ActivityOverhead3, start);
SAME(record_overhead, correlation, CUpti_ActivityOverhead3, correlationId);
_Static_assert(sizeof(CUpti_ActivityGraphTrace2) == sizeof(struct record_graph), "graph");
SAME(record_graph, start, CUpti_ActivityGraphTrace2, start);
SAME(record_graph, device, CUpti_ActivityGraphTrace2, deviceId);
SAME(record_graph, graph_id, CUpti_ActivityGraphTrace2, graphId);
SAME(record_graph, stream, CUpti_ActivityGraphTrace2, streamId);
SAME(record_graph, end_context, CUpti_ActivityGraphTrace2, endContextId);
#endif
_Static_assert(sizeof(CUpti_ActivityMemcpyPtoP4) == sizeof(struct record_memcpy2), "memcpy2");
SAME(record_memcpy2, from_device, CUpti_ActivityMemcpyPtoP4, srcDeviceId);
SAME(record_memcpy2, correlation, CUpti_ActivityMemcpyPtoP4, correlationId);
SAME(record_memcpy2, graph_id, CUpti_ActivityMemcpyPtoP4, graphId);
_Static_assert(sizeof(CUpti_ActivityMemset4) == sizeof(struct record_memset), "memset");
SAME(record_memset, bytes, CUpti_ActivityMemset4, bytes);
SAME(record_memset, correlation, CUpti_ActivityMemset4, correlationId);
SAME(record_memset, memory_kind, CUpti_ActivityMemset4, memoryKind);
SAME(record_memset, graph_id, CUpti_ActivityMemset4, graphId);
_Static_assert(sizeof(CUpti_ActivityAPI) == sizeof(struct record_api), "api");
SAME(record_api, thread, CUpti_ActivityAPI, threadId);
SAME(record_api, result, CUpti_ActivityAPI, returnValue);
_Static_assert(sizeof(CUpti_ActivityExternalCorrelation) == sizeof(struct record_external), "external correlation");
SAME(record_external, external_id, CUpti_ActivityExternalCorrelation, externalId);

_Static_assert(sizeof(CUpti_CallbackData) == sizeof(struct cupti_callback_data), "callback data");
SAME(cupti_callback_data, name, CUpti_CallbackData, functionName);
SAME(cupti_callback_data, symbol, CUpti_CallbackData, symbolName);
SAME(cupti_callback_data, correlation_data, CUpti_CallbackData, correlationData);
SAME(cupti_callback_data, correlation, CUpti_CallbackData, correlationId);

#if CUDART_VERSION >= 13000
_Static_assert(sizeof(struct cudaDeviceProp) == sizeof(struct sim_properties_13), "properties");
#define FIELD(type, name, array) SAME(sim_properties_13, name, struct cudaDeviceProp, name);
#define OLD(type, name, array)
DEVICE_PROPERTIES(FIELD, OLD, FIELD)
#elif CUDART_VERSION >= 12000
_Static_assert(sizeof(struct cudaDeviceProp) == sizeof(struct sim_properties_12), "properties");
#endif
