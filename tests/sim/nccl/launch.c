/* launch.c - a communicator's kernel in time. It starts like any kernel; each of its calls is then told to the other
 * ranks, in memory they share; it ends when the last start it depends on is known and the bytes have moved:
 *   AllReduce, AllGather, ReduceScatter, AlltoAll   all ranks
 *   Broadcast, Scatter                              the root
 *   Reduce, Gather                                  the root waits for all, the others for nobody
 *   Send, Recv (and Put, Signal, WaitSignal)        the peer
 * and a fused kernel on all that its calls depend on. Everything below that takes an op runs with the engine's lock
 * held, in the thread that queued it or in the communicator's progress thread. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/nccl/profiler.h"
#include "tests/sim/nccl/proxy.h"

/* ---- Who depends on whom
 * --------------------------------------------------------------------------------------------- */
static bool is_pair(enum nccl_func f)
{
    return f == FUNC_Send || f == FUNC_Recv || f == FUNC_PutSignal || f == FUNC_Signal || f == FUNC_WaitSignal;
}

static bool receives(enum nccl_func f)
{
    return f == FUNC_Recv || f == FUNC_WaitSignal;
}

static bool depends(const struct ncclComm *c, const struct work *w, int on)
{
    switch (w->func) {
    case FUNC_Broadcast:
    case FUNC_Scatter:
        return on == w->root;
    case FUNC_Reduce:
    case FUNC_Gather:
        return c->rank == w->root || on == c->rank;
    default:
        return true;
    }
}

/* ---- Telling a start, and reading the others'
 * ------------------------------------------------------------------------ */
static struct slot *own_slot(struct ncclComm *c, const struct work *w)
{
    if (!is_pair(w->func))
        return shared_coll(&c->shared, c->rank, w->ordinal);
    bool in = receives(w->func);
    return shared_pair(&c->shared, in ? w->root : c->rank, in ? c->rank : w->root, in, w->ordinal);
}

static struct slot *peer_slot(struct ncclComm *c, const struct work *w)
{
    bool in = receives(w->func);
    return shared_pair(&c->shared, in ? w->root : c->rank, in ? c->rank : w->root, !in, w->ordinal);
}

/* A slot may be written again when everybody is done with what it said a round of the ring ago. */
static bool slots_free(struct ncclComm *c, const struct launch *l)
{
    for (unsigned i = 0; i < l->nr_works; i++)
        for (int r = 0; r < c->nranks && !is_pair(l->works[i].func); r++)
            if (l->works[i].ordinal >= __atomic_load_n(&c->shared.ranks[r].done, __ATOMIC_ACQUIRE) + COLL_RING &&
                !__atomic_load_n(&c->shared.ranks[r].gone, __ATOMIC_ACQUIRE))
                return false;
    return true;
}

static bool all_told(struct ncclComm *c, uint64_t ordinal)
{
    for (int r = 0; r < c->nranks; r++)
        if (__atomic_load_n(&shared_coll(&c->shared, r, ordinal)->number, __ATOMIC_SEQ_CST) != ordinal + 1)
            return false;
    return true;
}

/* Wakes those who may now know the end of theirs: a collective's ranks when the last has come or the root has. */
static void wake(struct ncclComm *c, const struct work *w)
{
    if (is_pair(w->func)) {
        if (w->root != c->rank)
            shared_ring(&c->shared, w->root);
        return;
    }
    bool root_tells = (w->func == FUNC_Broadcast || w->func == FUNC_Scatter) && w->root == c->rank;
    if (!root_tells && !all_told(c, w->ordinal))
        return;
    for (int r = 0; r < c->nranks; r++)
        if (r != c->rank)
            shared_ring(&c->shared, r);
}

static void tell(struct ncclComm *c, const struct launch *l, uint64_t start)
{
    for (unsigned i = 0; i < l->nr_works; i++) {
        struct slot *s = own_slot(c, &l->works[i]);
        s->start = start;
        s->func = l->works[i].func;
        __atomic_store_n(&s->number, l->works[i].ordinal + 1, __ATOMIC_SEQ_CST);
    }
    for (unsigned i = 0; i < l->nr_works; i++)
        wake(c, &l->works[i]);
}

/* Its start if it is there and of the same call: ranks that called different things never meet, as in reality. */
static uint64_t start_in(const struct slot *s, const struct work *w)
{
    if (__atomic_load_n(&s->number, __ATOMIC_SEQ_CST) != w->ordinal + 1)
        return SIM_UNKNOWN;
    return is_pair(w->func) || s->func == (uint32_t)w->func ? s->start : SIM_UNKNOWN;
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b; /* SIM_UNKNOWN is the latest of all */
}

static uint64_t all_ready(struct ncclComm *c, const struct launch *l, uint64_t start)
{
    uint64_t ready = start;
    for (unsigned i = 0; i < l->nr_works && ready != SIM_UNKNOWN; i++) {
        const struct work *w = &l->works[i];
        if (is_pair(w->func)) {
            ready = later(ready, start_in(peer_slot(c, w), w));
            continue;
        }
        for (int r = 0; r < c->nranks && ready != SIM_UNKNOWN; r++)
            if (depends(c, w, r))
                ready = later(ready, start_in(shared_coll(&c->shared, r, w->ordinal), w));
    }
    return ready;
}

/* ---- A kernel's life: placed, asked for its end until it has one
 * ------------------------------------------------------ */
static void launch_ended(struct launch *l, struct sim_op *op, uint64_t ready, uint64_t end)
{
    struct ncclComm *c = l->comm;
    truth_add(l, op, ready, end);
    uint64_t done = c->shared.ranks[c->rank].done;
    for (unsigned i = 0; i < l->nr_works; i++)
        if (!is_pair(l->works[i].func))
            done = later(done, l->works[i].ordinal + 1);
    __atomic_store_n(&c->shared.ranks[c->rank].done, done, __ATOMIC_RELEASE);
    op->decide_data = NULL;
    if (l->item)
        proxy_decided(l->item, ready, end);
    proxy_unref(l->item);
    c->nr_open--;
    free(l);
    comm_unref(c);
}

static uint64_t decide(struct sim_op *op, uint64_t start)
{
    struct launch *l = op->decide_data;
    struct ncclComm *c = l->comm;
    uint64_t ready = SIM_UNKNOWN, end;
    if (!l->posted && slots_free(c, l)) {
        tell(c, l, start);
        l->posted = true;
    }
    op->start = start; /* it runs, and waits; what is told of it needs that */
    if (l->item)
        proxy_started(l->item, start);
    if (l->posted)
        ready = all_ready(c, l, start);
    if (ready != SIM_UNKNOWN) {
        end = ready + l->transfer_ns;
    } else if (__atomic_load_n(&c->aborted, __ATOMIC_ACQUIRE) || __atomic_load_n(&c->forgotten, __ATOMIC_ACQUIRE)) {
        ready = end = later(start, sim_now());
    } else {
        return SIM_UNKNOWN;
    }
    launch_ended(l, op, ready, end);
    return end;
}

void launch_forget(struct ncclComm *c)
{
    __atomic_store_n(&c->forgotten, 1, __ATOMIC_RELEASE);
    sim_op_decided();
}

static struct launch *launch_copy(const struct launch *from)
{
    size_t bytes = sizeof(*from) + from->nr_works * sizeof(from->works[0]);
    struct launch *l = malloc(bytes);
    if (!l)
        abort(); /* a launch that is lost would be a wrong simulation */
    memcpy(l, from, bytes);
    return l;
}

/* It takes its place among the launches of its communicator: ordinals, and the order after the one before. */
static void placed(struct sim_op *op)
{
    struct launch *pattern = (struct launch *)(uintptr_t)op->args[0], *l = launch_copy(pattern);
    struct ncclComm *c = l->comm;
    l->number = c->nr_launches++;
    if (l->item)
        l->item = l->captured ? proxy_replay(l->item) : proxy_ref(l->item);
    for (unsigned i = 0; i < l->nr_works; i++) {
        struct work *w = &l->works[i];
        uint64_t *next = !is_pair(w->func)   ? &c->nr_colls
                         : receives(w->func) ? &c->nr_receives[w->root]
                                             : &c->nr_sends[w->root];
        w->ordinal = (*next)++;
    }
    sim_op_add_wait(op, c->last);
    sim_op_unref(c->last);
    c->last = sim_op_ref(op);
    c->nr_open++;
    comm_ref(c);
    op->decide_data = l;
    op->decide = decide;
}

/* ---- Launching
 * --------------------------------------------------------------------------------------------------------- */
/* One host stub for each kernel's name, for good: what is recorded points to the name. */
static const char *stub_of(const char *name)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct {
        const char *name;
    } stubs[512];
    static unsigned nr;
    pthread_mutex_lock(&lock);
    unsigned i = 0;
    while (i < nr && strcmp(stubs[i].name, name) != 0)
        i++;
    if (i == nr && nr < sizeof(stubs) / sizeof(stubs[0])) {
        stubs[nr++].name = strdup(name);
        sim_function_register(stubs[i].name, name);
        sim_set_kernel_placed(stubs[i].name, placed);
    }
    const char *stub = i < nr ? stubs[i].name : NULL;
    pthread_mutex_unlock(&lock);
    return stub;
}

/* As the linker knows them: only the LL variants exist as kernels, whatever protocol runs inside. */
static void kernel_name(const struct call *first, const struct plan *p, char ret[128])
{
    static const char *const ops[] = {"Sum", "Prod", "MinMax", "MinMax", "Sum"};
    const char *algo = p->algo == ALGO_TREE ? "TREE" : "RING", *name = nccl_func_name[first->func];
    const char *op = (unsigned)first->op < 5 ? ops[first->op] : "PreMulSum";
    if (first->func == FUNC_AllGather || first->func == FUNC_Broadcast)
        snprintf(ret, 128, "ncclDevKernel_%s_%s_LL", name, algo);
    else if (first->func == FUNC_AllReduce || first->func == FUNC_Reduce || first->func == FUNC_ReduceScatter)
        snprintf(ret, 128, "ncclDevKernel_%s_%s_%s_%s_LL", name, op, nccl_type_name(first->type), algo);
    else
        snprintf(ret, 128, "ncclDevKernel_SendRecv");
}

static void stream_after(void *waits, void *for_stream)
{
    const struct nccl_driver *d = nccl_driver();
    CUevent event;
    if (d->event_create(&event, 2) != 0) /* 2: without timing */
        return;
    d->event_record(event, (CUstream)for_stream);
    d->stream_wait_event((CUstream)waits, event, 0);
    d->event_destroy(event);
}

/* Calls of a group on other streams: the kernel follows them all, and they follow it. */
static void join_streams(struct call *calls, unsigned nr, bool before)
{
    for (unsigned i = 1; i < nr; i++) {
        bool seen = false;
        for (unsigned j = 0; j < i; j++)
            seen |= calls[j].stream == calls[i].stream;
        if (!seen && before)
            stream_after(calls[0].stream_handle, calls[i].stream_handle);
        else if (!seen)
            stream_after(calls[i].stream_handle, calls[0].stream_handle);
    }
}

/* A communicator of one rank has no kernel: what is not in place is copied. */
static ncclResult_t copy_alone(const struct call *call)
{
    size_t bytes = call->count * nccl_type_size(call->type);
    if (!call->send || !call->recv || call->send == call->recv || !bytes)
        return ncclSuccess;
    CUresult error = nccl_driver()->memcpy_dtod_async((CUdeviceptr)(uintptr_t)call->recv,
                                                      (CUdeviceptr)(uintptr_t)call->send, bytes, call->stream_handle);
    return error ? ncclUnhandledCudaError : ncclSuccess;
}

static struct launch *launch_new(struct call *calls, unsigned nr, const struct plan *p)
{
    struct launch *l = calloc(1, sizeof(*l) + nr * sizeof(l->works[0]));
    if (!l)
        return NULL;
    l->comm = calls[0].comm;
    l->nr_works = nr;
    l->transfer_ns = p->ns;
    for (unsigned i = 0; i < nr; i++) {
        l->works[i] = (struct work){.func = calls[i].func, .root = calls[i].root, .bytes = call_bytes(&calls[i])};
        l->bytes += l->works[i].bytes;
    }
    return l;
}

/* What follows the launch: the plugin hears of the calls, the progress thread gets its work. */
static void tell_plan(struct ncclComm *c, struct call *calls, unsigned nr, const struct plan *p,
                      struct proxy_item *item)
{
    void **handles = item ? proxy_handles(item) : calloc(nr, sizeof(void *));
    if (handles)
        profiler_plan(c, calls, nr, p, false, handles);
    if (item)
        proxy_queue(item);
    else
        free(handles);
}

ncclResult_t launch_calls(struct call *calls, unsigned nr)
{
    struct ncclComm *c = calls[0].comm;
    if (!nccl_driver())
        return nccl_error(c, ncclUnhandledCudaError, "Cuda failure 'no driver'");
    if (c->nranks == 1) {
        ncclResult_t result = ncclSuccess;
        for (unsigned i = 0; i < nr && !result; i++)
            result = copy_alone(&calls[i]);
        return result;
    }
    int before = sim_current();
    sim_set_current(c->device);
    struct plan p = plan_calls(calls, nr);
    char name[128];
    kernel_name(&calls[0], &p, name);
    struct launch *l = launch_new(calls, nr, &p);
    const char *stub = stub_of(name);
    if (!l || !stub)
        return ncclSystemError;
    join_streams(calls, nr, true);
    CUlaunchConfig config = {.gridDimX = p.channels,
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = p.threads,
                             .blockDimY = 1,
                             .blockDimZ = 1,
                             .sharedMemBytes = 82240,
                             .hStream = (CUstream)calls[0].stream_handle};
    void *args[] = {&l, NULL};
    l->captured = sim_capturing(calls[0].stream) != NULL;
    l->item = proxy_new(c, calls, nr, &p);
    void *launching = profiler_launch_begin(c, calls[0].stream_handle);
    CUresult error = nccl_driver()->launch_kernel_ex(&config, (CUfunction)stub, args, NULL);
    profiler_launch_end(c, launching);
    if (!error && !l->captured)
        tell_plan(c, calls, nr, &p, l->item);
    join_streams(calls, nr, false);
    sim_set_current(before);
    if (error || !l->captured) { /* what was queued has a copy; a graph keeps the pattern for its replays */
        proxy_unref(l->item);
        free(l);
    }
    return error ? nccl_error(c, ncclUnhandledCudaError, "Cuda failure %d", (int)error) : ncclSuccess;
}
