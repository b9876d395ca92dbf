/* nccl_sink.c - the core's side of shim/nccl_sink.h: what the profiler plugin and the wrapped network plugin
 * tell, from any thread of NCCL's. */
#include "shim/nccl_sink.h"

#include <pthread.h>
#include <stdio.h>

#include "shim/core/anchor.h"
#include "shim/core/nccl.h"
#include "shim/core/nccl_open.h"

#define MAX_FRONTS 4

static _Atomic(const struct nccl_front *) fronts[MAX_FRONTS];

static void add_front(const struct nccl_front *front)
{
    for (int i = 0; i < MAX_FRONTS; i++) {
        const struct nccl_front *none = NULL;
        if (atomic_load(&fronts[i]) == front || atomic_compare_exchange_strong(&fronts[i], &none, front))
            return;
    }
}

/* This thread is asking front ends for what is pending: the tender, whose own calls are never recorded, or one that
 * ends the process. What they tell is about others. */
static __thread bool tending __attribute__((tls_model("initial-exec")));

static bool tell_begin(struct shim_call *call)
{
    if (!tending)
        return core_begin(call);
    call->tls = process.preload->tls();
    return !process.excluded;
}

static void tell_end(struct shim_call *call)
{
    if (!tending)
        core_end(call);
}

static void describe(struct nccl_comm *comm, const struct nccl_told_comm *told)
{
    atomic_store(&comm->id, told->id);
    comm->rank = told->rank;
    comm->nranks = told->nranks;
    comm->nodes = told->nodes > 0 ? (uint32_t)told->nodes : 0;
    snprintf(comm->name, sizeof(comm->name), "%s", told->name ? told->name : "");
}

/* The call that this thread is in makes just one communicator: this is the one. */
static struct nccl_comm *being_made(const struct thread *t)
{
    struct nccl_comm *comm = t->nccl && t->nccl->nr_making == 1 ? nccl_comm_of_nr(t->nccl->making[0].nr) : NULL;
    return comm && atomic_load(&comm->state) == COMM_BEGUN && !atomic_load(&comm->plugin) ? comm : NULL;
}

static uint32_t tell_comm(const struct nccl_told_comm *told)
{
    struct shim_call call;
    struct nccl_comm *comm, *hooks;
    uint32_t nr = 0;
    if (!tell_begin(&call))
        return 0;
    comm = nccl_comm_new(TR_nccl_source_plugin, now_ns());
    if (comm) {
        nr = comm->nr;
        describe(comm, told);
        nccl_comm_set(comm, COMM_MADE);
        hooks = being_made(call.tls->self);
        if (hooks && (hooks->rank < 0 || hooks->rank == comm->rank || comm->rank < 0))
            nccl_comm_tie(hooks, comm);
        else
            nccl_comm_tie_by_rank(comm);
        /* Untied it may still be the one of a call that has not returned: the tender tells of it if it is not. */
    }
    tell_end(&call);
    return nr;
}

static void tell_comm_is(uint32_t nr, const struct nccl_told_comm *told)
{
    struct shim_call call;
    struct nccl_comm *comm = nccl_comm_of_nr(nr), *hooks;
    if (!comm || !tell_begin(&call))
        return;
    describe(comm, told);
    hooks = nccl_comm_of_nr(atomic_load(&comm->same));
    if (hooks) {
        atomic_store(&hooks->id, told->id);
        atomic_store(&hooks->sent_epoch, 0);
    } else {
        nccl_comm_tie_by_rank(comm);
        atomic_store(&comm->sent_epoch, 0);
    }
    tell_end(&call);
}

static void tell_comm_gone(uint32_t nr)
{
    struct shim_call call;
    struct nccl_comm *comm = nccl_comm_of_nr(nr);
    if (!comm || !tell_begin(&call))
        return;
    if (!atomic_load(&comm->same))
        nccl_comm_send_gone(comm, call.tls->tid);
    nccl_comm_free(comm);
    tell_end(&call);
}

static void tell_call(const struct nccl_told_call *told)
{
    struct shim_call call;
    if (!tell_begin(&call))
        return;
    bool ours = call.tls->self && (!told->tid || told->tid == call.tls->tid);
    struct nccl_comm *comm = nccl_comm_of_nr(told->nr);
    /* A call that was never launched, told when that was clear: a hook, if it knows the communicator, has told it long
     * ago. */
    bool known = !told->ran && comm && atomic_load(&comm->same);
    if ((!ours || !nccl_join(call.tls->self, told)) && !known)
        nccl_send_alone(told, told->tid ? told->tid : call.tls->tid);
    tell_end(&call);
}

/* What later events call a communicator that has two numbers. */
static uint32_t known_as(uint32_t nr, uint32_t tid)
{
    struct nccl_comm *comm = nccl_comm_known_as(nr);
    if (comm)
        nccl_comm_send(comm, tid, false);
    return nccl_comm_number(nr);
}

static void tell_proxy(const struct tr_nccl_proxy *p)
{
    struct shim_call call;
    if (!tell_begin(&call))
        return;
    uint32_t tid = p->tid ? p->tid : call.tls->tid;
    if (!detail_is_off())
        EMIT(nccl_proxy, tid, .way = p->way, .op = p->op, .channels = p->channels, .nr = known_as(p->nr, tid),
             .ordinal = p->ordinal, .peer = p->peer, .steps = p->steps, .size_bytes = p->size_bytes,
             .start_ns = p->start_ns, .dur_ns = p->dur_ns, .gpu_ns = p->gpu_ns, .peer_ns = p->peer_ns,
             .net_ns = p->net_ns);
    tell_end(&call);
}

static void tell_channel_run(const struct tr_nccl_channel_run *r)
{
    struct shim_call call;
    if (!tell_begin(&call))
        return;
    uint32_t tid = r->tid ? r->tid : call.tls->tid;
    if (!detail_is_off())
        EMIT(nccl_channel_run, tid, .nr = known_as(r->nr, tid), .op = r->op, .ordinal = r->ordinal,
             .channel = r->channel, .start_ns = r->start_ns, .dur_ns = r->dur_ns);
    tell_end(&call);
}

static void tell_net_device(const struct tr_nccl_net_device *d)
{
    struct shim_call call;
    if (!tell_begin(&call))
        return;
    EMIT(nccl_net_device, d->tid ? d->tid : call.tls->tid, .device = d->device, .speed_mbps = d->speed_mbps,
         .gdr = d->gdr, .dmabuf = d->dmabuf, .net = d->net, .name = d->name, .pci = d->pci);
    tell_end(&call);
}

static void tell_net_connection(const struct tr_nccl_net_connection *c)
{
    struct shim_call call;
    if (!tell_begin(&call))
        return;
    EMIT(nccl_net_connection, c->tid ? c->tid : call.tls->tid, .connection = c->connection, .device = c->device,
         .way = c->way, .state = c->state, .start_ns = c->start_ns, .dur_ns = c->dur_ns);
    tell_end(&call);
}

static void tell_net_io(const struct tr_nccl_net_io *io)
{
    struct shim_call call;
    if (!tell_begin(&call))
        return;
    if (!detail_is_off())
        EMIT(nccl_net_io, io->tid ? io->tid : call.tls->tid, .connection = io->connection, .way = io->way,
             .gdr = io->gdr, .count = io->count, .failed = io->failed, .size_bytes = io->size_bytes,
             .busy_ns = io->busy_ns, .worst_ns = io->worst_ns, .start_ns = io->start_ns, .dur_ns = io->dur_ns);
    tell_end(&call);
}

/* ---- from the core ---------------------------------------------------------------------------------------------- */

void nccl_tend(uint64_t now, bool last)
{
    struct shim_tls *tls = process.preload->tls();
    void *frame = tls->frame;
    tls->frame = __builtin_frame_address(0);
    tending = true;
    for (int i = 0; i < MAX_FRONTS; i++) {
        const struct nccl_front *front = atomic_load(&fronts[i]);
        if (front && front->tend)
            front->tend(now, last);
    }
    tending = false;
    tls->frame = frame;
    nccl_comms_send(now);
}

void nccl_after_fork(void)
{
    nccl_comms_after_fork();
    nccl_threads_after_fork();
    nccl_open_after_fork();
    for (int i = 0; i < MAX_FRONTS; i++) {
        const struct nccl_front *front = atomic_load(&fronts[i]);
        if (front && front->after_fork)
            front->after_fork();
    }
}

/* ---- from the plugin -------------------------------------------------------------------------------------------- */

/* A process whose preload, if it has one, saw no reason to load the core: the plugin is one. */
static __thread struct shim_tls own_tls __attribute__((tls_model("initial-exec")));

static struct shim_tls *tls_of_our_own(void)
{
    return &own_tls;
}

static void no_gates(enum shim_gate gate, const int *to)
{
}

static const struct shim_preload alone = {tls_of_our_own, no_gates, NULL};

/* Without the preload nobody brings LTTng over a fork: the child is silent, also when it ends. */
static void silence_child(void)
{
    if (process.preload == &alone)
        atomic_store(&process.fork_pending, 2);
}

static const struct nccl_sink sink = {
    .version = NCCL_SINK_VERSION,
    .calls = &lttng_ust_tracepoint_trshim___coll.state,
    .proxies = &lttng_ust_tracepoint_trshim___nccl_proxy.state,
    .channels = &lttng_ust_tracepoint_trshim___nccl_channel_run.state,
    .front = add_front,
    .comm = tell_comm,
    .comm_is = tell_comm_is,
    .comm_gone = tell_comm_gone,
    .call = tell_call,
    .proxy = tell_proxy,
    .channel_run = tell_channel_run,
    .dropped = nccl_lost,
    .net_ios = &lttng_ust_tracepoint_trshim___nccl_net_io.state,
    .net_states = &lttng_ust_tracepoint_trshim___nccl_net_connection.state,
    .net_device = tell_net_device,
    .net_connection = tell_net_connection,
    .net_io = tell_net_io,
};

__attribute__((visibility("default"))) const struct nccl_sink *trshim_nccl_sink(uint32_t version);

const struct nccl_sink *trshim_nccl_sink(uint32_t version)
{
    static atomic_bool watches_fork;
    if (version != NCCL_SINK_VERSION || !core_started(&alone) || process.excluded)
        return NULL;
    if (process.preload == &alone && !atomic_exchange(&watches_fork, true))
        (void)pthread_atfork(NULL, NULL, silence_child);
    return &sink;
}
