/* shim.h - what the two parts of the shim know of each other.
 *
 * libtrshim.so, the *preload*, is in every process of the job: it holds the hooks, forwards every call and needs
 * nothing but libc. libtrshim-core.so, the *core*, is loaded by it only where events are wanted: it turns calls into
 * events. The preload calls the core through `struct shim_core`; the core never calls the preload.
 *
 * Every function of the core may be called from any thread and from signal handlers, takes no lock that it could wait
 * for, allocates nothing, and leaves errno alone (the preload saves it). */
#ifndef TRSHIM_SHIM_H
#define TRSHIM_SHIM_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "traces/events.h"

#define SHIM_CORE_VERSION 1

struct thread; /* the core's record of a thread */

/* One per thread, in static TLS of the preload (initial-exec: a dynamic TLS access may allocate). */
struct shim_tls {
    struct thread *self;       /* NULL until the first recorded call; owned by the core */
    void *frame;               /* stack frame of the hook we are in, NULL outside: guards re-entry */
    uint8_t in_vfork;          /* set by the vfork stub: this may be a child that borrows our memory */
    uint8_t after_dlopen;      /* set by the dlopen stub: something new may be mapped */
    uint8_t dead;              /* the thread is past its destructors, or is one of ours: never record */
    uint8_t ready;             /* enter() has said yes, and nothing has happened since that could change it */
    uint32_t tid;              /* to tell a vfork child from its parent */
    uint8_t in_nccl;           /* in a recorded call of NCCL: what it calls of its own interface is not the job's */
    uint8_t nccl_pending;      /* the core waits for the end of a group of NCCL's */
    uint16_t nccl_depth;       /* ncclGroupStart without its end */
    struct shim_call *forking; /* in a recorded fork: what its handlers are told (preload/fork.c) */
};

/* One call through a hook; lives on the hook's stack. */
struct shim_call {
    struct shim_tls *tls;
    uint64_t start_ns, end_ns;
    const void *caller; /* an address in the code that called; NULL not told */
    int saved_errno;
};

/* Classes of hooks that are switched together: each has a gate, an int that is non-zero while somebody listens. */
enum shim_gate {
    GATE_IO,
    GATE_META,
    GATE_FILE,
    GATE_WAIT,
    GATE_LIFE,
    GATE_CUDA,
    GATE_SEGMENT,
    GATE_BLOCK,
    GATE_GEMM,
    GATE_NCCL,
    GATE_MAX
};

/* What a communicator of NCCL says of itself. */
struct shim_nccl_asked {
    int32_t rank, nranks, device;
    int32_t version; /* as ncclGetVersion has it; 0 unknown */
};

/* What the preload hands to the core. */
struct shim_preload {
    struct shim_tls *(*tls)(void);                        /* the calling thread's */
    void (*set_gate)(enum shim_gate gate, const int *to); /* later, to lower or raise the detail */
    /* Asks a communicator that the job has just used with success; caller: who used it. NULL: cannot. */
    bool (*nccl_ask)(const void *comm, const void *caller, struct shim_nccl_asked *ret);
};

/* A collective, Send or Recv as the job calls it. */
struct shim_nccl_call {
    const void *comm, *caller;
    const void *send, *recv; /* buffers; NULL none */
    uint64_t count;
    const size_t *counts; /* ncclAllToAllv: one per rank, instead of count */
    int32_t type, peer;   /* ncclDataType_t, -1 none; root or peer, -1 none */
    enum tr_coll_op op;
    bool captured; /* the stream is being captured into a graph */
};

/* Communicators that a call is about to make. */
struct shim_nccl_making {
    void **where; /* the call writes them here; in a group at the group's end */
    const void *parent, *caller;
    const char *name;     /* NULL none */
    const int *devices;   /* all: one per rank, NULL: 0, 1, ... */
    int32_t rank, nranks; /* -1: to be asked when it is made. all: nranks of them */
    enum tr_comm_how how;
};

/* What another user of CUPTI in this process does. */
enum cupti_other {
    CUPTI_OTHER_REGISTERS,
    CUPTI_OTHER_ENABLES,
    CUPTI_OTHER_DISABLES,
    CUPTI_OTHER_FINALIZES,
    CUPTI_OTHER_FINALIZED,
    CUPTI_OTHER_SUBSCRIBES,
    CUPTI_OTHER_UNSUBSCRIBED
};

/* What happens to a CUDA graph. */
enum shim_graph { GRAPH_CAPTURE_BEGINS, GRAPH_CAPTURE_ENDS, GRAPH_INSTANTIATED, GRAPH_LAUNCHED, GRAPH_GONE };

struct shim_core {
    uint32_t version;
    const int *gate[GATE_MAX]; /* as they are at first */

    /* false: this call must not be recorded (our own thread, a dead one, a fork child that is not ready) */
    bool (*enter)(struct shim_tls *tls);
    /* true: a fork child that has done nothing yet but close and exec; leave it alone, waking LTTng costs 10 ms */
    bool (*untouched_child)(void);
    /* The thread is about to make a call that may block: for the watchdog. Kinds cuda and nccl lie around other calls
     * and are ended, by cuda_call or by start_ns 0. */
    void (*blocking)(struct shim_tls *tls, enum tr_wait_kind kind, uint64_t key, uint64_t start_ns);

    /* File descriptors: what is behind fd is looked up once and kept until fd_forget(). */
    void (*opened)(struct shim_call *call, int dirfd, const char *path, int flags, int fd);
    void (*closing)(struct shim_call *call, int fd);
    void (*closed)(struct shim_call *call);
    void (*fd_forget)(int fd);

    void (*io)(struct shim_call *call, enum tr_io_op op, int fd, ssize_t bytes, int64_t offset);
    void (*meta)(struct shim_call *call, int dirfd, const char *path, bool failed);
    void (*file)(struct shim_call *call, enum tr_file_act op, int fd, int dirfd, const char *path, int dirfd2,
                 const char *path2, uint64_t size, bool failed);

    void (*wait)(struct shim_call *call, enum tr_wait_kind kind, uint64_t obj);
    void (*wait_fd)(struct shim_call *call, enum tr_wait_kind kind, int fd);
    void (*posted)(struct shim_tls *tls, const void *sem);

    /* From the handlers of pthread_atfork; in the parent also of a fork that failed. */
    void (*fork_prepare)(struct shim_call *call);
    void (*fork_parent)(struct shim_call *call);
    void (*fork_child)(struct shim_call *call);
    void (*spawned)(struct shim_call *call, enum tr_spawn_how how, pid_t child);
    void (*before_exec)(struct shim_call *call, const char *path);
    void (*before_exit)(struct shim_call *call, int status);

    void (*step)(struct shim_call *call, uint64_t nr);

    /* CUDA. caller: an address inside the library that asked. device of a c10::Device: index in the high byte. */
    void (*cuda_device)(struct shim_call *call, int device);
    void (*cuda_call)(struct shim_call *call, enum tr_cuda_act act, int err);
    void (*cupti_other)(struct shim_call *call, enum cupti_other does, unsigned kind);
    void (*segment)(struct shim_call *call, enum tr_segment_act act, enum tr_segment_kind kind, void *ptr,
                    uint64_t size, int err, uint64_t free_bytes, const void *caller);
    void (*gemm)(struct shim_call *call, enum tr_dtype type, uint64_t m, uint64_t n, uint64_t k, uint64_t batch,
                 bool captured);
    void (*graph)(struct shim_call *call, enum shim_graph does, const void *graph, const void *exec);
    void (*block)(struct shim_call *call, void *ptr, int64_t change, uint64_t allocated, uint64_t reserved,
                  uint16_t device);
    void (*oom)(struct shim_call *call, uint64_t asked, uint64_t allocated, uint64_t reserved, uint16_t device);

    /* NCCL. nccl_call and nccl_making come before the real call, for what a profiler plugin tells inside it. */
    void (*nccl_call)(struct shim_call *call, const struct shim_nccl_call *seen);
    void (*nccl_called)(struct shim_call *call, int rc);
    void (*nccl_making)(struct shim_call *call, const struct shim_nccl_making *seen);
    void (*nccl_made)(struct shim_call *call, int rc);
    void (*nccl_leaving)(struct shim_call *call, const void *comm);
    void (*nccl_group_end)(struct shim_call *call, bool dropped, int rc); /* of the outermost; dropped: simulated */
};

/* Exported by the core as trshim_core_start: called once by the preload, from its constructor or at the first call
 * after a dlopen (late). `preload` stays valid. Returns NULL if this process is not to be recorded. */
typedef const struct shim_core *(*shim_core_start_fn)(int late, const struct shim_preload *preload);

#endif
