/* profiler_calls.c - what the calling thread tells the plugin: the API calls while a group is open, then, launch by
 * launch, the kernel and its calls. The latter are started and stopped at once: their stop means "queued". AlltoAll,
 * Gather and Scatter appear as the Sends and Receives they are made of. */
#include <stdlib.h>

#include "tests/sim/nccl/profiler.h"

#define TASKS (PROFILE_Coll | PROFILE_P2p | PROFILE_ProxyOp | PROFILE_ProxyStep | PROFILE_KernelCh | PROFILE_NetPlugin)

static __thread struct {
    struct ncclComm *comm; /* whose context the group's event has: that of its first call */
    void *handle;
} api;

static const char *type_text(ncclDataType_t type)
{
    static const char *const names[ncclNumTypes] = {"ncclInt8",       "Unknown" /* so it is */,
                                                    "ncclInt32",      "ncclUint32",
                                                    "ncclInt64",      "ncclUint64",
                                                    "ncclFloat16",    "ncclFloat32",
                                                    "ncclFloat64",    "ncclBfloat16",
                                                    "ncclFloat8e4m3", "ncclFloat8e5m2"};
    return names[type];
}

static bool one_sided(const struct call *call)
{
    return call->func >= FUNC_PutSignal;
}

/* Adaptors for plugins older than this NCCL always have arguments to hand over, its own interface has none here. */
static const union profiler_args *no_args(struct ncclComm *c)
{
    static const union profiler_args empty;
    return profiler_adapted(c) ? &empty : NULL;
}

/* ---- While the group is open ---- */
static void group_begins(struct call *call, int depth, bool captured)
{
    api.comm = call->comm;
    struct profiler_event e = {.type = PROFILE_GroupApi, .captured = captured, .depth = depth};
    profiler_start(call->comm, &api.handle, &e);
    profiler_state(call->comm, api.handle, STATE_GroupStartApiStop, no_args(call->comm));
}

void profiler_call(struct call *call, int depth)
{
    struct ncclComm *c = call->comm;
    if (!(profiler_mask(c) & ~(unsigned)PROFILE_ProxyCtrl) || c->nranks == 1 || one_sided(call) ||
        profiler_version(c) < 5)
        return;
    bool captured = sim_capturing(call->stream) != NULL;
    if (!api.comm)
        group_begins(call, depth, captured);
    struct profiler_event e = {.type = PROFILE_CollApi,
                               .parent = api.handle,
                               .func = nccl_func_name[call->func],
                               .count = call->count,
                               .type_name = type_text(call->type),
                               .root = call->root < 0 ? 0 : call->root,
                               .stream = call->stream_handle,
                               .captured = captured,
                               .tag = call->tag};
    struct call_part *parts = calloc(2 * (size_t)c->nranks, sizeof(*parts));
    unsigned nr = parts ? call_parts(c, call->func, call->root, parts) : 0, events = nr ? nr : 1;
    call->api_events = calloc(events, sizeof(void *));
    for (unsigned i = 0; i < events && call->api_events; i++) {
        if (nr) {
            e.type = PROFILE_P2pApi;
            e.func = parts[i].is_send ? "Send" : "Recv";
        }
        profiler_start(c, &call->api_events[i], &e);
        profiler_stop(c, call->api_events[i]);
    }
    free(parts);
}

void profiler_group_end_begins(void)
{
    if (api.comm)
        profiler_state(api.comm, api.handle, STATE_GroupEndApiStart, no_args(api.comm));
}

void profiler_group_end_ends(void)
{
    if (api.comm)
        profiler_stop(api.comm, api.handle);
    api.comm = NULL;
    api.handle = NULL;
}

/* ---- Launches ---- */
void *profiler_launch_begin(struct ncclComm *c, void *stream)
{
    void *handle = NULL;
    struct profiler_event e = {.type = PROFILE_KernelLaunch, .parent = api.handle, .stream = stream};
    if (profiler_mask(c) & PROFILE_KernelLaunch)
        profiler_start(c, &handle, &e);
    return handle;
}

void profiler_launch_end(struct ncclComm *c, void *handle)
{
    profiler_stop(c, handle);
}

/* In front of 5 a task's parent is its group; then the API call, and the group is told besides. */
static void *parent_of(struct ncclComm *c, const struct call *call, unsigned part, void *group)
{
    if (profiler_version(c) < 5)
        return group;
    return call->api_events ? call->api_events[part] : NULL;
}

static struct profiler_event task(struct ncclComm *c, const struct call *call, const struct plan *p, unsigned part,
                                  void *group)
{
    bool own = nccl_version() < 22700; /* later NCCLs have no place for these in their own form */
    return (struct profiler_event){.parent = parent_of(c, call, part, group),
                                   .rank = c->rank,
                                   .name = own && *c->name ? c->name : NULL,
                                   .hash = own ? c->hash : 0,
                                   .count = call->count,
                                   .type_name = type_text(call->type),
                                   .type_number = (uint8_t)call->type,
                                   .channels = (uint8_t)p->channels,
                                   .group = group,
                                   .tag = call->tag};
}

static void start_coll(struct ncclComm *c, const struct call *call, const struct plan *p, bool replay, void *group,
                       void **handle)
{
    static const char *const algos[] = {"TREE", "RING"}, *const protos[] = {"LL", "LL128", "SIMPLE"};
    struct profiler_event e = task(c, call, p, 0, group);
    bool counted = !replay || (profiler_mask(c) & PROFILE_KernelCh);
    e.type = PROFILE_Coll;
    e.sequence = counted ? c->sequence[call->func]++ : c->sequence[call->func];
    e.func = nccl_func_name[call->func];
    e.func_number = (uint8_t)call->func;
    e.send = call->send;
    e.recv = call->recv;
    e.root = call->root < 0 ? 0 : call->root;
    e.op = nccl_version() < 22400 ? call->op : 0;
    e.traffic = call_bytes(call);
    e.warps = (uint8_t)(p->threads / 32);
    e.algo = algos[p->algo];
    e.algo_number = (uint8_t)p->algo;
    e.proto = protos[p->proto];
    e.proto_number = (uint8_t)p->proto;
    if (call->func == FUNC_AllGather || call->func == FUNC_Broadcast) { /* bytes is all they are to it */
        e.count *= nccl_type_size(call->type);
        e.type_name = type_text(ncclInt8);
        e.type_number = ncclInt8;
    }
    profiler_start(c, handle, &e);
    profiler_stop(c, *handle);
}

static void start_pairs(struct ncclComm *c, const struct call *call, const struct plan *p, void *group, void **handle)
{
    struct call_part *parts = calloc(2 * (size_t)c->nranks, sizeof(*parts));
    unsigned nr = parts ? call_parts(c, call->func, call->root, parts) : 0;
    for (unsigned i = 0; i < nr; i++) {
        struct profiler_event e = task(c, call, p, i, group);
        void *own = NULL;
        e.type = PROFILE_P2p;
        e.func = parts[i].is_send ? "Send" : "Recv";
        e.func_number = parts[i].is_send ? FUNC_Send : FUNC_Recv;
        e.recv = parts[i].is_send ? call->send : call->recv;
        e.peer = parts[i].peer;
        e.channels = 1;
        profiler_start(c, &own, &e);
        profiler_stop(c, own);
        *handle = own;
    }
    free(parts);
}

/* Not told at all: broadcasts since 2.29, which go another way by default; one-sided calls. */
static bool untold(const struct call *call)
{
    bool gathered =
        call->func == FUNC_Broadcast && nccl_version() >= 22900 && nccl_variable_number("NCCL_ALLGATHERV_ENABLE", 1);
    return gathered || one_sided(call);
}

void profiler_plan(struct ncclComm *c, struct call *calls, unsigned nr, const struct plan *p, bool replay,
                   void **ret_handles)
{
    unsigned mask = profiler_mask(c);
    void *group = NULL;
    if (!(mask & (TASKS | PROFILE_Group)))
        return;
    struct profiler_event e = {.type = PROFILE_Group};
    profiler_start(c, &group, &e);
    for (unsigned i = 0; i < nr && (mask & TASKS); i++) {
        if (untold(&calls[i]))
            continue;
        if (calls[i].func <= FUNC_AllReduce)
            start_coll(c, &calls[i], p, replay, group, &ret_handles[i]);
        else
            start_pairs(c, &calls[i], p, group, &ret_handles[i]);
    }
    profiler_stop(c, group);
}
