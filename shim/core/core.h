/* core.h - what the files of the core share: the process's own state and how an event is emitted.
 *
 * Everything here runs inside the job's threads. No lock is waited for, nothing is allocated after start (tables are
 * mapped once, without reserve), and no function calls back into the preload's hooks: libc calls made from here pass
 * through them because shim_tls.frame is set, or because the thread is one of ours. */
#ifndef TRSHIM_CORE_H
#define TRSHIM_CORE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "shim/shim.h"
#include "traces/clock.h"
#include "traces/control.h"
#include "traces/tp_trshim.h"

#define unlikely(x) __builtin_expect(!!(x), 0)

/* What the process knows of itself. Written at start and after fork, and by the training thread (rank). */
struct process {
    uint32_t pid;
    int32_t rank, world, local_rank, attempt;
    uint64_t start_ns;
    struct tr_control *control; /* shared with record; NULL without one */
    atomic_uint names_epoch;    /* a name not sent in this epoch is sent again before it is used */
    atomic_ullong events;       /* for the self report */
    atomic_uint lost_names, lost_nccl;
    atomic_int fork_pending; /* 1: LTTng in this child is still as fork left it; 2: being repaired */
    bool excluded;           /* --ranks leaves us out */
    atomic_bool announced;   /* a session was there to hear `proc`: LTTng may register us late */
    bool foreign_fork;       /* liblttng-ust-fork is there and does what we would do around fork */
    atomic_bool outside;     /* outside the steps asked for: no detail */
    const struct shim_preload *preload;
};

extern struct process process;

/* EMIT(wait, tid, .kind = .., ..): sends one event if a session wants it. */
#define EMIT(name, tid_, ...)                                                                                          \
    do {                                                                                                               \
        if (lttng_ust_tracepoint_enabled(trshim, name)) {                                                              \
            const struct tr_##name e_ = {.pid = process.pid, .tid = (tid_), __VA_ARGS__};                              \
            lttng_ust_do_tracepoint(trshim, name, &e_);                                                                \
            atomic_fetch_add_explicit(&process.events, 1, memory_order_relaxed);                                       \
        }                                                                                                              \
    } while (0)

static inline enum tr_level level_in_force(void)
{
    return process.control ? (enum tr_level)process.control->level : LEVEL_STANDARD;
}

/* Whether detail is wanted at this step. Workers look at what their trainer says. */
static inline bool detail_is_off(void)
{
    const struct tr_control *c = process.control;
    if (c && process.local_rank >= 0 && process.local_rank < TR_CONTROL_SLOTS)
        return c->off[process.local_rank];
    return atomic_load_explicit(&process.outside, memory_order_relaxed);
}

/* True once the core works in this process; starts it, on behalf of `preload`, if nobody has. */
bool core_started(const struct shim_preload *preload);

/* Anonymous memory that costs nothing until it is touched; NULL if there is none. */
void *map_lazily(size_t size);

#endif
