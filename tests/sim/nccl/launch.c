/* launch.c - a communicator's kernel: it starts like any kernel, its start is told to the other ranks, and it ends when
 * the last start it depends on is known (depend.c) and the bytes have moved (model.c). What takes an op runs with the
 * engine's lock held, in the thread that queued it or in the communicator's progress thread. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/nccl/profiler.h"
#include "tests/sim/nccl/proxy.h"

/* ---- A kernel's life: placed, asked for its end until it has one ---- */
static void launch_ended(struct launch *l, struct sim_op *op, uint64_t ready, uint64_t end)
{
    struct ncclComm *c = l->comm;
    truth_add(l, op, ready, end);
    uint64_t done = c->shared.ranks[c->rank].done;
    for (unsigned i = 0; i < l->nr_works; i++)
        if (!depend_is_pair(l->works[i].func))
            done = depend_later(done, l->works[i].ordinal + 1);
    __atomic_store_n(&c->shared.ranks[c->rank].done, done, __ATOMIC_RELEASE);
    op->decide_data = NULL;
    if (l->item)
        proxy_decided(l->item, ready, end);
    proxy_unref(l->item);
    __atomic_sub_fetch(&c->nr_open, 1, __ATOMIC_RELEASE);
    free(l);
    comm_unref(c);
}

static uint64_t decide(struct sim_op *op, uint64_t start)
{
    struct launch *l = op->decide_data;
    struct ncclComm *c = l->comm;
    uint64_t ready = SIM_UNKNOWN, end;
    if (!l->posted && depend_may_tell(c, l)) {
        depend_tell(c, l, start);
        l->posted = true;
    }
    op->start = start; /* it runs, and waits; what is told of it needs that */
    if (l->item)
        proxy_started(l->item, start);
    if (l->posted)
        ready = depend_ready(c, l, start);
    if (ready != SIM_UNKNOWN) {
        end = ready + l->transfer_ns;
    } else if (__atomic_load_n(&c->aborted, __ATOMIC_ACQUIRE) || __atomic_load_n(&c->forgotten, __ATOMIC_ACQUIRE)) {
        ready = end = depend_later(start, sim_now());
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
    l->number = __atomic_fetch_add(&c->nr_launches, 1, __ATOMIC_RELAXED);
    if (l->item)
        l->item = l->captured ? proxy_replay(l->item) : proxy_ref(l->item);
    for (unsigned i = 0; i < l->nr_works; i++) {
        struct work *w = &l->works[i];
        uint64_t *next = !depend_is_pair(w->func)   ? &c->nr_colls
                         : depend_receives(w->func) ? &c->nr_receives[w->root]
                                                    : &c->nr_sends[w->root];
        w->ordinal = (*next)++;
    }
    sim_op_add_wait(op, c->last);
    sim_op_unref(c->last);
    c->last = sim_op_ref(op);
    __atomic_add_fetch(&c->nr_open, 1, __ATOMIC_RELEASE);
    comm_ref(c);
    op->decide_data = l;
    op->decide = decide;
}

/* ---- Launching ---- */
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
    if (nr > PAIR_RING) /* slots are for so many */
        return nccl_error(c, ncclInvalidUsage, "sim: not simulated: a group of %u calls", nr);
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
