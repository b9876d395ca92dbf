/* cupti_abi.h - the records of CUPTI's activity API in the longest form known here, and the types of its calls. Records
 * only ever grew at the end, so an older version's record is the beginning of these (record_size() in cupti/record.c).
 * Offsets are compared with NVIDIA's headers by tests/sim/check_abi.c. */
#ifndef SIM_CUPTI_ABI_H
#define SIM_CUPTI_ABI_H

#include <stddef.h>
#include <stdint.h>

enum cupti_result {
    CUPTI_OK = 0,
    CUPTI_INVALID_PARAMETER = 1,
    CUPTI_INVALID_OPERATION = 7,
    CUPTI_MAX_LIMIT_REACHED = 12,
    CUPTI_NOT_INITIALISED = 15,
    CUPTI_QUEUE_EMPTY = 18,
    CUPTI_INVALID_KIND = 21,
    CUPTI_NOT_SUPPORTED = 27,
    CUPTI_MULTIPLE_SUBSCRIBERS = 39,
    CUPTI_UNKNOWN = 999,
};

enum cupti_kind {
    KIND_MEMCPY = 1,
    KIND_MEMSET = 2,
    KIND_KERNEL = 3,
    KIND_DRIVER = 4,
    KIND_RUNTIME = 5,
    KIND_DEVICE = 8,
    KIND_CONTEXT = 9,
    KIND_CONCURRENT_KERNEL = 10,
    KIND_OVERHEAD = 17,
    KIND_MEMCPY2 = 22,
    KIND_SYNCHRONIZATION = 38,
    KIND_EXTERNAL_CORRELATION = 39,
    KIND_MEMORY2 = 49,
    KIND_MEMORY_POOL = 50,
    KIND_GRAPH_TRACE = 51,
    KIND_MAX = 64,
};

enum cupti_memory_kind { MEMORY_PAGEABLE = 1, MEMORY_PINNED = 2, MEMORY_DEVICE = 3, MEMORY_MANAGED = 5 };
enum cupti_copy_kind { COPY_HTOD = 1, COPY_DTOH = 2, COPY_DTOD = 8, COPY_HTOH = 9, COPY_PTOP = 10 };
#define CUPTI_FLAG_ASYNC 1u
#define OVERHEAD_BUFFER_FLUSH (1u << 16)

#define RECORD __attribute__((packed, aligned(8)))

struct RECORD record_kernel {
    uint32_t kind;
    uint8_t cache_config, shared_config;
    uint16_t registers;
    uint32_t global_cache_requested, global_cache_executed;
    uint64_t start, end, completed;
    uint32_t device, context, stream;
    int32_t grid_x, grid_y, grid_z, block_x, block_y, block_z;
    int32_t static_shared, dynamic_shared;
    uint32_t local_per_thread, local_total, correlation;
    int64_t grid_id;
    const char *name;
    void *reserved;
    uint64_t queued, submitted;
    uint8_t launch_type, carveout_requested, carveout, pad;
    uint32_t shared_executed;
    uint64_t graph_node;
    uint32_t limit_config, graph_id;
    void *policy_window;
    uint32_t channel, channel_type;
    uint32_t cluster_x, cluster_y, cluster_z, cluster_policy;
    uint64_t local_total_2;
    uint32_t cluster_potential, cluster_active;
    uint8_t device_launched, pad_2[7];
    uint64_t tail[4]; /* what 13.1 to 13.4 appended; not checked against a header */
};

struct RECORD record_memcpy {
    uint32_t kind;
    uint8_t copy_kind, from, to, flags;
    uint64_t bytes, start, end;
    uint32_t device, context, stream, correlation, runtime_correlation, pad;
    void *reserved;
    uint64_t graph_node;
    uint32_t graph_id, channel, channel_type;
    uint8_t device_launched, pad_2[3];
    uint64_t copies;
    uint64_t tail[2]; /* 13.4 */
};

struct RECORD record_memcpy2 {
    uint32_t kind;
    uint8_t copy_kind, from, to, flags;
    uint64_t bytes, start, end;
    uint32_t device, context, stream, from_device, from_context, to_device, to_context, correlation;
    void *reserved;
    uint64_t graph_node;
    uint32_t graph_id, channel, channel_type, pad;
};

struct RECORD record_memset {
    uint32_t kind, value;
    uint64_t bytes, start, end;
    uint32_t device, context, stream, correlation;
    uint16_t flags, memory_kind;
    uint32_t pad;
    void *reserved;
    uint64_t graph_node;
    uint32_t graph_id, channel, channel_type;
    uint8_t device_launched, pad_2[3];
};

struct RECORD record_memory2 {
    uint32_t kind, operation, memory_kind, correlation;
    uint64_t address, bytes, ns, pc;
    uint32_t process, device, context, stream;
    const char *name;
    uint32_t async, pad, pool_type, pad_2;
    uint64_t pool_address, pool_threshold, pool_size, pool_used;
    const char *source;
};

struct RECORD record_sync {
    uint32_t kind, type;
    uint64_t start, end;
    uint32_t correlation, context, stream, event;
    uint64_t event_sync;
    uint32_t result, pad;
};

struct RECORD record_api {
    uint32_t kind, cbid;
    uint64_t start, end;
    uint32_t process, thread, correlation, result;
};

struct RECORD record_external {
    uint32_t kind, external_kind;
    uint64_t external_id;
    uint32_t correlation, reserved;
};

struct RECORD record_overhead {
    uint32_t kind, overhead_kind, object_kind, object[3];
    uint64_t start, end;
    uint32_t correlation, reserved;
    void *data;
};

struct RECORD record_graph {
    uint32_t kind, correlation;
    uint64_t start, end;
    uint32_t device, graph_id, context, stream;
    void *reserved;
    uint32_t end_device, end_context;
};

/* What a callback of the callback API is given. */
struct cupti_callback_data {
    uint32_t site; /* 0 enter, 1 exit */
    const char *name;
    const void *params;
    void *result;
    const char *symbol;
    void *context;
    uint32_t context_uid;
    uint64_t *correlation_data;
    uint32_t correlation;
};

typedef void cupti_callback(void *user, uint32_t domain, uint32_t cbid, const void *data);
typedef void cupti_request(uint8_t **buffer, size_t *size, size_t *max_records);
typedef void cupti_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid);
typedef uint64_t cupti_clock(void);

#endif
