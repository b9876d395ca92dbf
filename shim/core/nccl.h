/* nccl.h - what the core keeps of NCCL: who the communicators are, and which calls have not ended yet.
 *
 * Two front ends tell of the same things: the preload's hooks (address, ordinals, buffers, the call's time) and a
 * profiler plugin (commHash, algorithm, protocol; shim/nccl_sink.h). Here they become one. Either may be alone. */
#ifndef TRSHIM_CORE_NCCL_H
#define TRSHIM_CORE_NCCL_H

#include "shim/core/thread.h"
#include "shim/nccl_abi.h"
#include "shim/nccl_sink.h"

enum nccl_comm_state { COMM_FREE, COMM_CLAIMED, COMM_BEGUN, COMM_MADE };

/* A communicator of this process. One made by a hook and told by a plugin has two entries: the plugin's then points to
 * the hook's by `same` and is told no more. Written by the thread that makes it; each later change is one word. */
struct nccl_comm {
    atomic_int state; /* enum nccl_comm_state; written last */
    uint32_t nr;      /* what events call it; never used twice */
    _Atomic uint64_t address, id;
    _Atomic int32_t rank, nranks;
    int32_t device; /* -1 unknown */
    uint32_t nodes; /* 0 unknown */
    uint8_t source; /* enum tr_nccl_source: hook or plugin */
    uint8_t how;    /* enum tr_comm_how */
    uint64_t parent, begun_ns;
    char name[64];
    atomic_uint same;   /* plugin's: nr of the hook's entry, 0 none */
    atomic_uint plugin; /* hook's: nr of the plugin's entry, 0 none */
    atomic_uint ordinal;
    atomic_uint finished;   /* 1 + the ordinal of the last collective whose kernel is known to have run (nccl_open.h) */
    atomic_bool ran;        /* kernels of it are told */
    atomic_uint sent_epoch; /* as of names (name.h) */
};

/* A new entry in state COMM_CLAIMED: fill it and call nccl_comm_set(). NULL: no room, counted. */
struct nccl_comm *nccl_comm_new(enum tr_nccl_source source, uint64_t now);
void nccl_comm_set(struct nccl_comm *comm, enum nccl_comm_state state);
void nccl_comm_free(struct nccl_comm *comm);

struct nccl_comm *nccl_comm_of_nr(uint32_t nr);           /* NULL: gone */
struct nccl_comm *nccl_comm_of_address(const void *comm); /* made by a hook; NULL: never seen */
/* As nccl_comm_of_nr, the hook's entry where there are two. */
struct nccl_comm *nccl_comm_known_as(uint32_t nr);

/* Its number: the hook's where there are two, also when the job has destroyed it and the plugin still tells of it. */
uint32_t nccl_comm_number(uint32_t nr);

/* It has got its address: found by it from now on. */
void nccl_comm_made(struct nccl_comm *comm, uint64_t address, uint32_t tid);

/* Says that two entries are the same communicator. */
void nccl_comm_tie(struct nccl_comm *hooks, struct nccl_comm *plugins);
/* Looks for the one entry of the other front end that it can only be; rank and nranks must be known. */
void nccl_comm_tie_by_rank(struct nccl_comm *comm);

/* Sends nccl_comm before an event that refers to it, once in each epoch; `always`: now. */
void nccl_comm_send(struct nccl_comm *comm, uint32_t tid, bool always);
void nccl_comm_send_gone(struct nccl_comm *comm, uint32_t tid);
void nccl_comms_send(uint64_t now); /* by the tender: those that this epoch does not know yet */
/* Calls fn for each that exists, the hook's entry of two. */
void nccl_comms_each(void (*fn)(struct nccl_comm *comm, void *arg), void *arg);
void nccl_comms_after_fork(void);

/* The ordinal of a Send or Recv of this communicator to or from this peer, counted up. */
uint32_t nccl_peer_ordinal(uint32_t nr, int32_t peer, bool receives);

/* A call that has begun; its coll event is sent at the end of its launch. */
struct nccl_pending {
    uint32_t nr;
    uint32_t ordinal;
    int32_t peer;
    uint8_t op, type, algo, proto, channels, how;
    bool told;     /* by the plugin, that NCCL launched it */
    uint64_t open; /* what nccl_open.h calls it */
    uint64_t count, start_ns;
    const void *send, *recv;
};

#define NCCL_MAX_CALLS 2048
#define NCCL_MAX_MAKING 256

/* What a thread has begun in NCCL. Taken at its first call, given back when all of it has ended: a process has more
 * threads than ones that call NCCL at a time. Its thread's alone. */
struct nccl_thread {
    atomic_int taken;
    uint32_t group; /* number of the group that is open, 0 none */
    uint32_t nr_calls, nr_making;
    uint32_t nr_beyond;             /* calls of this group that found no room */
    uint32_t first_making;          /* of the call that is under way */
    struct shim_nccl_call seen;     /* the call that is under way */
    struct nccl_pending *under_way; /* in calls, or &alone */
    struct nccl_pending alone;      /* one that found no room */
    struct nccl_pending calls[NCCL_MAX_CALLS];
    struct {
        uint32_t nr;
        void **where;
        const void *caller;
    } making[NCCL_MAX_MAKING];
};

/* The thread's own; takes one if `take`. NULL: none, or no room. */
struct nccl_thread *nccl_thread_of(struct thread *t, bool take);
/* Gives it back if nothing is pending. */
void nccl_thread_release(struct thread *t);
void nccl_thread_ends(struct thread *t);
void nccl_threads_after_fork(void);

/* At the end of a group: what was made in it. */
void nccl_made_in_group(struct thread *t, struct nccl_thread *n, int rc);

/* Asks the communicator for its rank, size and device, after a call on it that was done with success. */
void nccl_comm_ask(struct nccl_comm *comm, const void *address, const void *caller);

/* What a plugin tells of a call: joined with the one that is pending on this thread. false: none is like it. */
bool nccl_join(struct thread *t, const struct nccl_told_call *told);
void nccl_send_alone(const struct nccl_told_call *told, uint32_t tid);

/* By the tender, four times a second; `last`: the process ends. */
void nccl_tend(uint64_t now, bool last);
/* Maps our network plugin, if NCCL was told to use it. */
void nccl_net_prepare(void);
void nccl_after_fork(void);

static inline void nccl_lost(uint32_t n)
{
    atomic_fetch_add_explicit(&process.lost_nccl, n, memory_order_relaxed);
}

/* In progress: it goes on without the caller. */
static inline bool nccl_went_well(int rc)
{
    return rc == NCCL_SUCCESS || rc == NCCL_IN_PROGRESS;
}

#endif
