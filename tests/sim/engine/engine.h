/* engine.h - the simulated GPU driver of one process: what libcuda, libcudart, libcupti and the others are made of.
 *
 * Time on a device is computed, never measured: an operation starts when it has been queued and everything it waits for
 * has ended, and ends a told length later. So device timestamps are exact however busy the CPUs are, and a host thread
 * that waits for the device simply sleeps until the computed end.
 * Results are error numbers shared by the driver and the runtime API (enum sim_error). Any thread may call anything.
 * The engine never calls out (observers, kernel models, host functions) with its lock held. */
#ifndef SIM_ENGINE_H
#define SIM_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIM_EXPORT __attribute__((visibility("default")))
#define SIM_UNKNOWN UINT64_MAX /* a time that is not decided yet */
#define SIM_DEVICES_MAX 16
#define SIM_ARGS_MAX 10

/* CUDA's numbers, the same in both APIs. */
enum sim_error {
    SIM_OK = 0,
    SIM_INVALID_VALUE = 1,
    SIM_OUT_OF_MEMORY = 2,
    SIM_NOT_INITIALIZED = 3,
    SIM_NO_DEVICE = 100,
    SIM_INVALID_DEVICE = 101,
    SIM_INVALID_CONTEXT = 201,
    SIM_ALREADY_MAPPED = 208,
    SIM_INVALID_HANDLE = 400,
    SIM_NOT_FOUND = 500,
    SIM_NOT_READY = 600,
    SIM_PEER_ENABLED = 704,
    SIM_ALREADY_REGISTERED = 712,
    SIM_NOT_REGISTERED = 713,
    SIM_INSUFFICIENT_DRIVER = 35,
    SIM_INVALID_FUNCTION = 98,
    SIM_NOT_SUPPORTED = 801,
    SIM_CAPTURE_UNSUPPORTED = 900,
    SIM_CAPTURE_INVALIDATED = 901,
    SIM_CAPTURE_UNJOINED = 904,
    SIM_UNKNOWN_ERROR = 999,
};

/* ---- Settings (settings.c): read once, from SIM_* variables --------------------------------------------------------
 */
struct sim_settings {
    bool driver;                                               /* SIM_DRIVER=none: as if libcuda.so.1 were not there */
    int nr_devices;                                            /* SIM_GPUS, 8 */
    uint64_t memory;                                           /* SIM_GPU_MEMORY bytes, 80 GiB; K, M, G understood */
    const char *gpu_name;                                      /* SIM_GPU_NAME */
    double pinned_rate, pageable_rate, device_rate, peer_rate; /* bytes/s: SIM_PINNED_GBS and so on */
    double peak_flops;                                         /* dense, of the tensor cores: SIM_PEAK_TFLOPS */
    double gemm_reached;  /* share of it that a large product reaches: SIM_GEMM_REACHED, 0.7 */
    uint64_t launch_ns;   /* from the call to the device: SIM_LAUNCH_NS, 3000 */
    unsigned queue_depth; /* launches in flight per stream: SIM_QUEUE_DEPTH, 1024 */
    bool blocking;        /* CUDA_LAUNCH_BLOCKING: a launch returns when its kernel has ended */
    const char *dir;      /* SIM_DIR: memory accounting shared by processes */
    double compute;       /* SIM_COMPUTE: products of up to so many operations are computed on the host, 0 */
    const char *kernels;  /* SIM_KERNELS: library whose sim_kernel_work() computes kernels on the host */
};
SIM_EXPORT const struct sim_settings *sim_settings(void);

/* ---- Clock (clock.c) ------------------------------------------------------------------------------------------------
 */
SIM_EXPORT uint64_t sim_now(void);             /* CLOCK_MONOTONIC ns */
SIM_EXPORT uint64_t sim_realtime(uint64_t ns); /* the same instant on CLOCK_REALTIME; one offset per process */
SIM_EXPORT void sim_sleep_until(uint64_t ns);
/* By how much this process's clock is ahead of its machine's: a simulated host may live in a time namespace of its own,
 * and processes of several hosts that exchange times need a common one. */
SIM_EXPORT int64_t sim_clock_ahead(void);

/* ---- Devices (device.c) ---------------------------------------------------------------------------------------------
 */
struct sim_device {
    int index;
    uint8_t uuid[16];
    unsigned pci_domain, pci_bus, pci_device;
    uint64_t total;
    uint64_t used;             /* by this process; guarded by the engine's lock */
    uint64_t copy_engine[3];   /* when each direction's engine is free: to device, to host, within */
    struct sim_stream *legacy; /* the NULL stream */
    struct sim_pool *default_pool, *pool;
};

SIM_EXPORT int sim_init(void); /* 0 or why there is no device; idempotent */
SIM_EXPORT int sim_device_count(void);
SIM_EXPORT struct sim_device *sim_device_at(int index); /* NULL: no such device */
SIM_EXPORT int sim_current(void);                       /* the calling thread's device */
SIM_EXPORT int sim_set_current(int device);
/* Value of a device attribute, by CUdevice_attribute = cudaDeviceAttr number; those not modelled are 0. */
SIM_EXPORT int sim_attribute(int device, int attribute, int *ret_value);

/* ---- Memory (memory.c, vmm.c, pool.c) ------------------------------------------------------------------------------
 */
enum sim_place { SIM_PAGEABLE, SIM_PINNED, SIM_DEVICE, SIM_MANAGED };

struct sim_range { /* one allocation; found by any address inside */
    uintptr_t base;
    size_t size;   /* as asked for */
    size_t mapped; /* as mapped and accounted for */
    enum sim_place place;
    int device;
    unsigned flags;
    struct sim_pool *pool; /* came from this pool */
    bool registered;       /* the job's own memory, pinned by cudaHostRegister: not ours to unmap */
    bool foreign;          /* maps another process's memory (IPC) */
    int fd;                /* shared memory behind it, -1: private */
    uint64_t id;
};

SIM_EXPORT int sim_malloc(int device, size_t size, void **ret);
SIM_EXPORT int sim_malloc_managed(int device, size_t size, void **ret);
SIM_EXPORT int sim_free(void *p);
SIM_EXPORT int sim_host_alloc(size_t size, unsigned flags, void **ret);
SIM_EXPORT int sim_host_free(void *p);
SIM_EXPORT int sim_host_register(void *p, size_t size, unsigned flags);
SIM_EXPORT int sim_host_unregister(void *p);
SIM_EXPORT int sim_memory_info(int device, size_t *ret_free, size_t *ret_total);
SIM_EXPORT bool sim_find_range(const void *p, struct sim_range *ret); /* false: ordinary host memory */
SIM_EXPORT int sim_ipc_handle(void *p, void *ret_handle64);
SIM_EXPORT int sim_ipc_open(const void *handle64, int device, void **ret);
SIM_EXPORT int sim_ipc_close(void *p);

struct sim_stream;
struct sim_pool;
SIM_EXPORT int sim_pool_create(int device, struct sim_pool **ret);
SIM_EXPORT int sim_pool_destroy(struct sim_pool *pool);
SIM_EXPORT int sim_pool_trim(struct sim_pool *pool, size_t keep);
SIM_EXPORT int sim_pool_attribute(struct sim_pool *pool, int attribute, void *value, bool set);
SIM_EXPORT int sim_malloc_async(struct sim_pool *pool, size_t size, struct sim_stream *stream, void **ret);
SIM_EXPORT int sim_free_async(void *p, struct sim_stream *stream);

/* Virtual memory management: physical memory (a handle) mapped into reserved addresses. */
#define SIM_GRANULARITY (2u << 20)
SIM_EXPORT int sim_vmm_reserve(size_t size, size_t alignment, void **ret);
SIM_EXPORT int sim_vmm_unreserve(void *p, size_t size);
SIM_EXPORT int sim_vmm_create(int device, size_t size, uint64_t *ret_handle);
SIM_EXPORT int sim_vmm_retain(void *p, uint64_t *ret_handle);
SIM_EXPORT int sim_vmm_release(uint64_t handle);
SIM_EXPORT int sim_vmm_map(void *p, size_t size, size_t offset, uint64_t handle);
SIM_EXPORT int sim_vmm_unmap(void *p, size_t size);
SIM_EXPORT int sim_vmm_access(void *p, size_t size, bool writable);

/* ---- Streams, events, operations (stream.c, op.c, event.c) ---------------------------------------------------------
 */
enum sim_op_kind { SIM_OP_MARK, SIM_OP_KERNEL, SIM_OP_COPY, SIM_OP_SET, SIM_OP_HOST };

struct sim_dim {
    unsigned x, y, z;
};

/* What an operation computes on the host, called when its place in the order has come, perhaps with the engine's lock
 * held: it must not call the engine. The state is one block of malloc, freed with the operation; a graph copies it. */
struct sim_work {
    void (*run)(void *state);
    void *state;
    size_t state_bytes;
};

struct sim_op {
    enum sim_op_kind kind;
    int refs; /* atomic */
    uint32_t device, stream_id, correlation;
    uint64_t queued, start, end, length; /* start and end are SIM_UNKNOWN until decided; then they never change */
    uint32_t graph_id;                   /* 0: not from a graph */
    uint64_t graph_node;
    bool effect_done; /* bytes were moved, the body has run */
    uint32_t tag;     /* of the thread that queued it: sim_set_tag() */

    const char *name; /* kernel; lives as long as the process */
    struct sim_dim grid, block;
    unsigned shared_bytes;
    bool cooperative;

    size_t bytes; /* copy, set */
    bool async;   /* so asked for by the caller */
    void *target;
    const void *source;
    enum sim_place from, to;
    int source_device, target_device; /* -1: host */
    unsigned value, width;            /* set */

    void (*host)(void *); /* SIM_OP_HOST: runs on the engine's thread at its time */
    void *host_data;
    /* A model that runs the kernel on the host: called when the kernel's place in the order has come. */
    void (*body)(struct sim_op *op, void **args);
    uint64_t args[SIM_ARGS_MAX]; /* copy of the launch's arguments for body */
    struct sim_work work;        /* run NULL: none */

    /* Decided by somebody else (a collective waits for other processes): returns the end for `start`, or SIM_UNKNOWN to
     * be asked again after sim_op_decided(). NULL: start + length. Called with the engine's lock held: must not block.
     */
    uint64_t (*decide)(struct sim_op *op, uint64_t start);
    void *decide_data;
    /* Called when it is queued or a graph that holds it is launched, in the order of the stream, with the engine's lock
     * held: an operation that belongs to something bigger takes its place in that here, may fill in decide, decide_data
     * and (sim_op_add_wait) what it waits for. */
    void (*placed)(struct sim_op *op);

    unsigned nr_waits, max_waits;
    struct sim_op **waits; /* referenced until this one is decided */
    struct sim_op *next;   /* in the list of undecided operations */
};

SIM_EXPORT struct sim_op *sim_op_new(enum sim_op_kind kind);
SIM_EXPORT struct sim_op *sim_op_ref(struct sim_op *op);
SIM_EXPORT void sim_op_unref(struct sim_op *op);
SIM_EXPORT void sim_op_wait(struct sim_op *op); /* the calling thread sleeps until it has ended */
SIM_EXPORT bool sim_op_ended(const struct sim_op *op);
SIM_EXPORT void sim_op_add_wait(struct sim_op *op,
                                struct sim_op *before); /* only before it is queued, or in `placed` */
SIM_EXPORT void sim_op_decided(void);                   /* ask the `decide` functions again */
/* Queues op (taken over) on the stream and tells the observer; while the stream is captured it becomes a node. */
SIM_EXPORT int sim_queue(struct sim_stream *stream, struct sim_op *op);
SIM_EXPORT void sim_set_tag(uint32_t tag);

#define SIM_STREAM_NON_BLOCKING 1u
/* The public handles: NULL and 1 are the legacy stream of the current device, 2 the calling thread's own. */
SIM_EXPORT struct sim_stream *sim_stream_of(void *handle); /* NULL: not a stream */
SIM_EXPORT int sim_stream_create(unsigned flags, int priority, struct sim_stream **ret);
SIM_EXPORT int sim_stream_destroy(struct sim_stream *s);
SIM_EXPORT int sim_stream_sync(struct sim_stream *s);
SIM_EXPORT int sim_stream_query(struct sim_stream *s);
SIM_EXPORT int sim_device_sync(int device);
SIM_EXPORT uint32_t sim_stream_id(const struct sim_stream *s);
SIM_EXPORT int sim_stream_device(const struct sim_stream *s);
SIM_EXPORT unsigned sim_stream_flags(const struct sim_stream *s);
SIM_EXPORT int sim_stream_priority(const struct sim_stream *s);

struct sim_event;
SIM_EXPORT int sim_event_create(unsigned flags, struct sim_event **ret);
SIM_EXPORT int sim_event_destroy(struct sim_event *e);
SIM_EXPORT int sim_event_record(struct sim_event *e, struct sim_stream *s);
SIM_EXPORT int sim_event_query(struct sim_event *e);
SIM_EXPORT int sim_event_sync(struct sim_event *e);
SIM_EXPORT int sim_event_elapsed(struct sim_event *from, struct sim_event *to, float *ret_ms);
SIM_EXPORT int sim_stream_wait_event(struct sim_stream *s, struct sim_event *e);

/* ---- Work (kernel.c, copy.c) ----------------------------------------------------------------------------------------
 */
struct sim_launch {
    struct sim_dim grid, block;
    unsigned shared_bytes;
    bool cooperative;
};

/* What the device does with a kernel of this name: its length in ns, and, if it is to have an effect, who has it. */
typedef uint64_t sim_length_fn(const char *name, const struct sim_launch *launch, void **args, void *context);
SIM_EXPORT void sim_set_kernel_model(sim_length_fn *length, void *context);
/* Kernels whose first argument, a uint64_t, is their length in ns: `stub` is the host function that launches them. */
SIM_EXPORT void sim_kernel_told(const void *stub);
SIM_EXPORT void sim_set_kernel_body(const void *stub, void (*body)(struct sim_op *, void **));
/* Its launches get this `placed`; op->args are copies of the launch's arguments. */
SIM_EXPORT void sim_set_kernel_placed(const void *stub, void (*placed)(struct sim_op *));

struct sim_function;
SIM_EXPORT struct sim_function *sim_function_register(const void *stub, const char *name);
SIM_EXPORT struct sim_function *sim_function_of(const void *stub); /* NULL: not registered */
SIM_EXPORT const char *sim_function_name(const struct sim_function *f);
SIM_EXPORT int sim_launch(struct sim_stream *s, struct sim_function *f, const struct sim_launch *launch, void **args);
/* What the library of SIM_KERNELS exports by the name sim_kernel_work: whether it can compute a kernel of that name,
 * and how; the arguments are valid during the call alone, so what is needed of them is copied into the state. */
typedef bool sim_kernel_work_fn(const char *name, const struct sim_launch *launch, void **args, struct sim_work *ret);
/* A kernel of the libraries' own (gemm and the like), with its length and what it computes (taken over; NULL: nothing).
 */
SIM_EXPORT int sim_launch_work(struct sim_stream *s, const char *name, const struct sim_launch *launch, uint64_t ns,
                               const struct sim_work *work);
SIM_EXPORT int sim_launch_named(struct sim_stream *s, const char *name, const struct sim_launch *launch, uint64_t ns);
SIM_EXPORT int sim_copy(struct sim_stream *s, void *target, const void *source, size_t bytes, bool async);
SIM_EXPORT int sim_set(struct sim_stream *s, void *target, unsigned value, unsigned width, size_t count, bool async);
SIM_EXPORT int sim_host_func(struct sim_stream *s, void (*fn)(void *), void *data);

/* ---- Graphs (graph.c) -----------------------------------------------------------------------------------------------
 */
struct sim_graph;
struct sim_exec;
SIM_EXPORT int sim_capture_begin(struct sim_stream *s);
SIM_EXPORT int sim_capture_end(struct sim_stream *s, struct sim_graph **ret);
SIM_EXPORT struct sim_graph *sim_capturing(struct sim_stream *s); /* NULL: it is not */
SIM_EXPORT uint64_t sim_capture_id(struct sim_stream *s);
SIM_EXPORT struct sim_graph *sim_graph_new(void);
SIM_EXPORT void sim_graph_free(struct sim_graph *g);
SIM_EXPORT size_t sim_graph_nodes(const struct sim_graph *g);
SIM_EXPORT int sim_graph_add(struct sim_graph *g, struct sim_op *op, const size_t *waits, size_t nr_waits,
                             size_t *ret_index);
SIM_EXPORT int sim_instantiate(const struct sim_graph *g, struct sim_exec **ret);
SIM_EXPORT void sim_exec_free(struct sim_exec *x);
SIM_EXPORT uint32_t sim_exec_id(const struct sim_exec *x);
SIM_EXPORT int sim_graph_launch(struct sim_exec *x, struct sim_stream *s);

/* ---- Observation (observe.c): how libcupti sees it
 * ------------------------------------------------------------------- */
enum sim_domain { SIM_DRIVER_API = 1, SIM_RUNTIME_API = 2 };

struct sim_call { /* one outermost call of the public API */
    enum sim_domain domain;
    uint32_t cbid, correlation;
    const char *name;
    const void *params; /* the arguments in order, as CUPTI's structs have them */
    const char *symbol; /* kernel being launched, or NULL */
    uint64_t start, end, user;
    int result;
    bool nested;
};

enum sim_sync_kind { SIM_SYNC_EVENT = 1, SIM_SYNC_STREAM_WAIT = 2, SIM_SYNC_STREAM = 3, SIM_SYNC_DEVICE = 4 };

struct sim_sync {
    enum sim_sync_kind kind;
    uint64_t start, end;
    uint32_t device, stream_id, event_id, correlation;
};

struct sim_memory {
    bool release, async;
    enum sim_place place;
    uint64_t address, bytes, ns;
    uint32_t device, stream_id, correlation;
    struct sim_pool *pool;
    uint64_t pool_size, pool_used, pool_threshold;
};

struct sim_observer {
    void (*enter)(struct sim_call *call);
    void (*exit)(struct sim_call *call);
    void (*op)(struct sim_op *op); /* borrowed: reference it to keep it */
    void (*graph)(struct sim_exec *x, struct sim_op *first, struct sim_op *last, uint32_t stream_id);
    void (*sync)(const struct sim_sync *sync);
    void (*memory)(const struct sim_memory *memory);
};

SIM_EXPORT void sim_observe(const struct sim_observer *observer); /* NULL: nobody; the table must live on */
SIM_EXPORT const struct sim_observer *sim_observer(void);
SIM_EXPORT void sim_call_enter(struct sim_call *call);
SIM_EXPORT int sim_call_exit(struct sim_call *call, int result); /* returns result */
SIM_EXPORT struct sim_call *sim_call_current(void);
SIM_EXPORT void sim_say_missing(const char *name); /* once per name on stderr: this is not simulated */

/* ---- The log (log.c): what really happened, for tests and for simtrain's truth
 * --------------------------------------- */
SIM_EXPORT void sim_log_start(void);
/* All operations queued since, in that order, none of them undecided; *ret is owned by the caller (free each, free). */
SIM_EXPORT size_t sim_log_take(struct sim_op ***ret);

#endif
