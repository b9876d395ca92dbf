/* profiler.h - the profiler plugin: found and loaded as NCCL does, told in the order, on the threads and with the
 * quirks of the real one. All of it does nothing where there is no plugin. */
#ifndef SIM_NCCL_PROFILER_H
#define SIM_NCCL_PROFILER_H

#include "tests/sim/abi/nccl_profiler_abi.h"
#include "tests/sim/nccl/inside.h"

/* profiler_load.c: which, and of which version */
const struct profiler_plugin *profiler_open(int *ret_version); /* NULL: none; counted */
int profiler_native_version(void);                             /* of the NCCL claimed; 0: it has none */
void profiler_close(void);                                     /* the last one unloads it */

/* profiler.c: one event. Values of all kinds; which of them a descriptor has is its version's business. */
struct profiler_event {
    enum profiler_type type;
    void *parent, *context; /* context NULL: the communicator's own */
    int rank;
    const char *name, *func, *type_name, *algo, *proto, *variant;
    uint8_t func_number, type_number, algo_number, proto_number, channels, warps, channel, captured;
    int root, peer, op, pid, steps, chunk, is_send, step, depth;
    uint64_t hash, sequence, count, traffic, tag, ptimer;
    const void *send, *recv, *stream;
    void *group;
    uint64_t id; /* NetPlugin */
    void *data;
};

void profiler_comm_begin(struct ncclComm *c); /* in the thread that makes it */
void profiler_comm_end(struct ncclComm *c);
int profiler_version(const struct ncclComm *c); /* of the plugin in use; 0: none */
bool profiler_adapted(const struct ncclComm *c);
unsigned profiler_mask(const struct ncclComm *c);
/* *handle is what the plugin writes, or stays: the caller decides what is in it before. */
void profiler_start(struct ncclComm *c, void **handle, const struct profiler_event *e);
void profiler_stop(struct ncclComm *c, void *handle);
void profiler_state(struct ncclComm *c, void *handle, enum profiler_state state, const union profiler_args *args);

/* profiler_calls.c: what the thread that calls NCCL tells */
void profiler_call(struct call *call, int depth); /* queued */
void profiler_group_end_begins(void);
void profiler_group_end_ends(void);
void *profiler_launch_begin(struct ncclComm *c, void *stream);
void profiler_launch_end(struct ncclComm *c, void *handle);
/* After the launch (or in a replay, on another thread): events of the kernel's calls; handles for what follows. */
void profiler_plan(struct ncclComm *c, struct call *calls, unsigned nr, const struct plan *p, bool replay,
                   void **ret_handles);

#endif
