/* proxy_inside.h - one kernel's work for the progress thread, shared by proxy.c and what it tells plugins. */
#ifndef SIM_NCCL_PROXY_INSIDE_H
#define SIM_NCCL_PROXY_INSIDE_H

#include "tests/sim/nccl/profiler.h"
#include "tests/sim/nccl/proxy.h"

#define STEPS_MAX 32 /* of an operation; longer ones have longer steps */
#define CHUNK_BYTES 524288u

struct proxy_op {
    unsigned work, channel;
    int peer;
    bool out;
    uint64_t bytes, moved; /* moved: of `wired`, what really goes over the wire */
    uint64_t wired;
    int nr_steps, done;
    void *handle, *step;
};

struct channel_run { /* a kernel's channel, for one of its calls */
    unsigned work, channel;
    void *handle;
};

enum phase { QUEUED, APPENDED, STARTED, READY };

struct proxy_item {
    int refs; /* atomic: launch, queue */
    struct ncclComm *comm;
    bool replay;
    struct plan plan;
    uint64_t start, ready, end; /* atomic; SIM_UNKNOWN until known */
    enum phase phase;           /* written by the progress thread; atomic */
    unsigned nr_calls, nr_ops, nr_runs;
    struct call *calls;
    void **handles; /* of Coll or P2p, by call */
    struct proxy_op *ops;
    struct channel_run *runs;
    struct proxy_item *next;
    bool watched; /* its channels are the watching thread's */
    struct proxy_item *next_watched;
};

struct proxy {
    pthread_mutex_t lock; /* of the queue; may be taken inside the engine's, never around it */
    struct proxy_item *first, **end;
    /* The progress thread's own. */
    struct wire *wires;
    void *control; /* ProxyCtrl event that is open */
    void *stale_op[2], *stale_run;
    uint64_t last_size;
    unsigned nr_ops;
    /* From 2.31 on channels have a thread of their own. */
    pthread_t watcher;
    bool watching;
    struct proxy_item *first_watched, **end_watched; /* under the lock */
};

/* proxy_events.c */
void event_control(struct ncclComm *c, enum profiler_state s, int appended);
void event_control_start(struct ncclComm *c);
void event_control_stop(struct ncclComm *c);
void event_op_start(struct proxy_item *i, struct proxy_op *o);
void event_op_stop(struct proxy_item *i, struct proxy_op *o);
void event_step_start(struct proxy_item *i, struct proxy_op *o);
void event_step_end(struct proxy_item *i, struct proxy_op *o); /* and the next one's start */
void event_runs_start(struct proxy_item *i, uint64_t start);
void watch(struct proxy_item *i); /* watch.c: takes over the channels; with no lock held but the engine's */
void watch_end(struct ncclComm *c);
void event_runs_stop(struct proxy_item *i, uint64_t end);

#endif
