/* thread.h - what is kept per thread of the job, and the bursts in it.
 *
 * Records lie in one mapped table, not in thread-local memory: the tender thread reads them while their thread runs
 * and after it has died. A record's slots are guarded by a word each, taken by compare-and-swap and never waited for:
 * whoever finds it taken (a signal handler over its own thread, or a thread whose burst the tender is just closing)
 * emits its call by itself instead. */
#ifndef TRSHIM_CORE_THREAD_H
#define TRSHIM_CORE_THREAD_H

#include <signal.h>

#include "shim/core/core.h"

enum slot_kind { SLOT_FILE, SLOT_META, SLOT_PIPE, SLOT_SOCK, SLOT_WAIT, SLOT_CUDA, SLOT_MAX };

#define BURST_BY_NCCL (1ull << 32)

/* A burst in the making. count == 0: empty. */
struct burst {
    uint64_t key; /* name id, or inode; SLOT_WAIT: obj; SLOT_SOCK: BURST_BY_NCCL too */
    uint64_t start_ns, end_ns, busy_ns;
    uint64_t bytes;
    uint64_t device_bytes;
    uint32_t count, opens, failed;
    uint32_t waker;
    uint8_t op; /* enum tr_io_op, or enum tr_wait_kind */
    bool random;
    bool sampled; /* device_bytes means something */
};

struct slot {
    atomic_int taken;
    struct burst burst;
};

/* Short waits since the last wait_sum. Guarded by the SLOT_WAIT slot. */
struct wait_total {
    uint32_t count;
    uint64_t total_ns, since_ns;
};

enum thread_state { THREAD_FREE, THREAD_CLAIMED, THREAD_LIVE };

struct thread {
    atomic_int state;
    uint32_t tid;
    uint64_t start_ns;
    uint64_t pthread; /* pthread_self() */
    char comm[16];
    bool is_main;

    _Atomic uint64_t calls; /* observed; only the thread itself adds */
    struct slot slots[SLOT_MAX];
    enum slot_kind in_order; /* the thread's latest of SLOT_PIPE and SLOT_CUDA, else SLOT_FILE; its own to use */
    struct wait_total waits[TR_wait_kind_MAX];

    /* the call it may be blocked in, for the watchdog; start 0: none */
    _Atomic uint64_t open_start_ns, open_key, reported_ns;
    atomic_int open_kind;
    /* the call of CUDA or NCCL it is in, which may make calls of the kind above; start 0: none */
    _Atomic uint64_t api_start_ns;
    atomic_int api_kind;
    atomic_bool trains; /* it passed an anchor: when it stands, training does */

    uint64_t last_inblock; /* of getrusage, for device_bytes */
    _Atomic uint64_t cpu_sampled_ns;
    struct tr_cpu cpu; /* last sample taken by the thread itself */

    struct shim_tls *tls; /* valid while live */
    int32_t cuda_device;  /* the thread's current one, as cudaSetDevice was last told */

    struct nccl_thread *nccl; /* what it has begun in NCCL (nccl.h); NULL nothing */
    struct {
        uint64_t address, at_ns;
        enum tr_segment_act act;
    } segment; /* the last it took or gave: NCCL may do so by a call that is hooked too */

    /* from closing() to closed(): what the descriptor stood for */
    uint32_t closing_name, closing_dir; /* dir 0: nothing to tell */
    uint64_t closing_bytes;
    int closing_error; /* of an earlier write */

    sigset_t fork_mask; /* between fork_prepare and its end */

    struct {
        const void *record;
        uint64_t start_ns;
        uint32_t name;
    } ranges[32]; /* open ranges, innermost last */
    uint32_t depth;
};

int threads_init(void);

/* The thread of a call that has come back: it is blocked no more. */
static inline struct thread *thread_of(struct shim_call *call);

/* The record of the calling thread, made at its first call; NULL if it is not to be recorded. */
struct thread *thread_self(struct shim_tls *tls);

/* Calls fn for each live thread. */
void threads_each(void (*fn)(struct thread *, void *), void *arg);

/* In a fork child: the records of the other threads are void, and so are unfinished bursts (the parent has them). */
void threads_after_fork(struct shim_tls *tls);

/* Calls observed in this process so far. */
uint64_t threads_calls(void);

/* Emits what is pending in all threads: before exit, exec. */
void threads_flush(void);

/* Sends `thread` and, if it is due, `cpu`. */
void thread_send(struct thread *t, enum tr_thread_how how);
void thread_sample_cpu(struct thread *t);    /* by the thread itself, at anchors and long waits */
void thread_sample_cpu_of(struct thread *t); /* by the tender */

static inline struct thread *thread_of(struct shim_call *call)
{
    struct thread *t = call->tls->self;
    atomic_store_explicit(&t->open_start_ns, 0, memory_order_relaxed);
    uint64_t calls = atomic_load_explicit(&t->calls, memory_order_relaxed);
    atomic_store_explicit(&t->calls, calls + 1, memory_order_relaxed); /* no locked instruction for a counter of ours */
    return t;
}

#endif
