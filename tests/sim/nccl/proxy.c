/* proxy.c - the progress thread's work, kernel by kernel in the order of launching: when one has been launched its
 * operations are appended (one for each channel, peer and direction that goes over the network); they wait for the
 * kernel to begin, then for the last rank, then their steps pass until its end. What the plugin hears follows that, on
 * this thread, with what the real one gets wrong: stale handles, stale sizes, other processes' pointers on request. */
#include "tests/sim/nccl/proxy.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/sim/nccl/profiler.h"
#include "tests/sim/nccl/proxy_inside.h"
#include "tests/sim/nccl/wire.h"

/* ---- What a kernel has for the network ---- */
static void add_ops(struct proxy_item *i, unsigned work, int peer, bool out, uint64_t bytes, unsigned channels)
{
    const struct nccl_settings *s = nccl_settings();
    bool socket = link_between(i->comm, i->comm->rank, peer) != LINK_IB;
    uint64_t wired = !socket ? 0 : bytes < (uint64_t)s->wire_bytes ? bytes : (uint64_t)s->wire_bytes;
    i->ops = realloc(i->ops, (i->nr_ops + channels) * sizeof(*i->ops));
    if (!i->ops)
        abort();
    for (unsigned ch = 0; ch < channels; ch++) {
        uint64_t part = bytes / channels + (ch < bytes % channels);
        uint64_t steps = (part + CHUNK_BYTES - 1) / CHUNK_BYTES;
        i->ops[i->nr_ops++] = (struct proxy_op){.work = work,
                                                .channel = ch,
                                                .peer = peer,
                                                .out = out,
                                                .bytes = part,
                                                .wired = wired / channels + (ch < wired % channels),
                                                .nr_steps = steps < 1           ? 1
                                                            : steps > STEPS_MAX ? STEPS_MAX
                                                                                : (int)steps};
    }
}

static bool over_network(const struct ncclComm *c, int peer)
{
    return peer != c->rank && link_between(c, c->rank, peer) >= LINK_IB;
}

static void add_call(struct proxy_item *i, unsigned work, const struct call *call)
{
    struct ncclComm *c = i->comm;
    int next = (c->rank + 1) % c->nranks, previous = (c->rank + c->nranks - 1) % c->nranks;
    if (call->func <= FUNC_AllReduce) {
        uint64_t bytes = (uint64_t)(work_share(c, call->func) * (double)call_bytes(call));
        if (over_network(c, previous))
            add_ops(i, work, previous, false, bytes, i->plan.channels);
        if (over_network(c, next))
            add_ops(i, work, next, true, bytes, i->plan.channels);
        return;
    }
    struct call_part *parts = calloc(2 * (size_t)c->nranks, sizeof(*parts));
    unsigned nr = parts ? call_parts(c, call->func, call->root, parts) : 0;
    for (unsigned p = 0; p < nr; p++)
        if (over_network(c, parts[p].peer))
            add_ops(i, work, parts[p].peer, parts[p].is_send, call->count * nccl_type_size(call->type), 1);
    free(parts);
}

static void add_runs(struct proxy_item *i)
{
    i->nr_runs = i->nr_calls * i->plan.channels;
    i->runs = calloc(i->nr_runs, sizeof(*i->runs));
    for (unsigned r = 0; r < i->nr_runs && i->runs; r++)
        i->runs[r] = (struct channel_run){.work = r / i->plan.channels, .channel = r % i->plan.channels};
}

static bool has_work(const struct proxy_item *i)
{
    unsigned mask = profiler_mask(i->comm);
    for (unsigned o = 0; o < i->nr_ops; o++)
        if (i->ops[o].wired)
            return true;
    return (i->nr_ops && (mask & (PROFILE_ProxyOp | PROFILE_ProxyStep | PROFILE_NetPlugin))) ||
           (mask & PROFILE_KernelCh);
}

struct proxy_item *proxy_new(struct ncclComm *c, const struct call *calls, unsigned nr, const struct plan *p)
{
    struct proxy_item *i = calloc(1, sizeof(*i));
    if (!i)
        abort();
    *i = (struct proxy_item){.refs = 1,
                             .comm = c,
                             .plan = *p,
                             .nr_calls = nr,
                             .start = SIM_UNKNOWN,
                             .ready = SIM_UNKNOWN,
                             .end = SIM_UNKNOWN};
    i->calls = malloc(nr * sizeof(*i->calls));
    i->handles = calloc(nr, sizeof(*i->handles));
    if (!i->calls || !i->handles)
        abort();
    memcpy(i->calls, calls, nr * sizeof(*calls));
    for (unsigned n = 0; n < nr; n++) {
        i->calls[n].api_events = NULL;
        add_call(i, n, &calls[n]);
    }
    if (!has_work(i)) {
        proxy_unref(i);
        return NULL;
    }
    if (profiler_mask(c) & PROFILE_KernelCh)
        add_runs(i);
    return i;
}

struct proxy_item *proxy_ref(struct proxy_item *i)
{
    __atomic_add_fetch(&i->refs, 1, __ATOMIC_RELAXED);
    return i;
}

void proxy_unref(struct proxy_item *i)
{
    if (!i || __atomic_sub_fetch(&i->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    free(i->calls);
    free(i->handles);
    free(i->ops);
    free(i->runs);
    free(i);
}

void **proxy_handles(struct proxy_item *i)
{
    return i->handles;
}

void proxy_queue(struct proxy_item *i)
{
    struct proxy *p = i->comm->proxy;
    proxy_ref(i);
    if (i->nr_runs && nccl_version() >= 23100)
        watch(i);
    pthread_mutex_lock(&p->lock);
    *p->end = i;
    p->end = &i->next;
    pthread_mutex_unlock(&p->lock);
    shared_ring(&i->comm->shared, i->comm->rank);
}

struct proxy_item *proxy_replay(const struct proxy_item *pattern)
{
    struct proxy_item *i = proxy_new(pattern->comm, pattern->calls, pattern->nr_calls, &pattern->plan);
    if (i) {
        i->replay = true;
        proxy_queue(i);
    }
    return i;
}

void proxy_started(struct proxy_item *i, uint64_t start)
{
    if (__atomic_load_n(&i->start, __ATOMIC_RELAXED) != SIM_UNKNOWN)
        return; /* asked again */
    __atomic_store_n(&i->start, start, __ATOMIC_RELEASE);
    shared_ring(&i->comm->shared, i->comm->rank);
}

void proxy_decided(struct proxy_item *i, uint64_t ready, uint64_t end)
{
    __atomic_store_n(&i->ready, ready, __ATOMIC_RELEASE);
    __atomic_store_n(&i->end, end, __ATOMIC_RELEASE);
    shared_ring(&i->comm->shared, i->comm->rank);
}

/* ---- Going on ---- */
static void append(struct proxy_item *i)
{
    struct ncclComm *c = i->comm;
    bool told = profiler_mask(c) & (PROFILE_ProxyOp | PROFILE_ProxyStep | PROFILE_NetPlugin);
    if (i->replay)
        profiler_plan(c, i->calls, i->nr_calls, &i->plan, true, i->handles);
    event_control(c, STATE_CtrlWakeup, 0);
    event_control_stop(c);
    event_control_start(c);
    event_control(c, STATE_CtrlAppend, 0);
    for (unsigned o = 0; o < i->nr_ops && told; o++)
        event_op_start(i, &i->ops[o]);
    event_control(c, STATE_CtrlAppendEnd, (int)i->nr_ops);
    event_control_stop(c);
    for (unsigned o = 0; o < i->nr_ops && told; o++) {
        profiler_state(c, i->ops[o].handle, STATE_OpInProgress, NULL);
        event_step_start(i, &i->ops[o]);
    }
    __atomic_store_n(&i->phase, APPENDED, __ATOMIC_RELEASE); /* handles are there */
}

/* On one wire the bytes of one operation follow those of another. */
static bool earlier_one_moves(const struct proxy_item *i, unsigned n)
{
    for (unsigned e = 0; e < n; e++)
        if (i->ops[e].peer == i->ops[n].peer && i->ops[e].out == i->ops[n].out && i->ops[e].moved < i->ops[e].wired)
            return true;
    return false;
}

/* Real bytes, as far as they go now; true: all have passed, or the other end is gone. */
static bool move_bytes(struct proxy_item *i)
{
    bool all = true;
    for (unsigned n = 0; n < i->nr_ops; n++) {
        struct proxy_op *o = &i->ops[n];
        if (o->moved == o->wired)
            continue;
        struct wire *w = wire_find(i->comm, &i->comm->proxy->wires, o->peer, o->out);
        size_t moved;
        if (earlier_one_moves(i, n)) {
            all = false;
            continue;
        }
        while (o->moved < o->wired && (moved = wire_move(i->comm, w, o->wired - o->moved, o->step)) > 0)
            o->moved += moved;
        if (wire_lost(w))
            o->moved = o->wired;
        all &= o->moved == o->wired;
    }
    return all || __atomic_load_n(&i->comm->aborted, __ATOMIC_ACQUIRE);
}

/* Steps pass evenly between ready and end; returns when the next is due. */
static uint64_t pass_steps(struct proxy_item *i, uint64_t now)
{
    uint64_t ready = __atomic_load_n(&i->ready, __ATOMIC_ACQUIRE), end = i->end, next = SIM_UNKNOWN;
    for (unsigned n = 0; n < i->nr_ops; n++) {
        struct proxy_op *o = &i->ops[n];
        if (!o->handle && !o->step && !profiler_mask(i->comm))
            continue;
        while (o->done < o->nr_steps) {
            uint64_t due = ready + (end - ready) / (unsigned)o->nr_steps * (unsigned)(o->done + 1);
            if (due > now) {
                next = due < next ? due : next;
                break;
            }
            event_step_end(i, o);
        }
    }
    return next;
}

static void finish(struct proxy_item *i)
{
    pass_steps(i, SIM_UNKNOWN);
    if (!i->watched)
        event_runs_stop(i, i->end);
    for (unsigned o = 0; o < i->nr_ops; o++)
        event_op_stop(i, &i->ops[o]);
}

/* Returns 0 when it is finished, else when to look again. */
static uint64_t go_on(struct proxy_item *i)
{
    uint64_t start = __atomic_load_n(&i->start, __ATOMIC_ACQUIRE), end = __atomic_load_n(&i->end, __ATOMIC_ACQUIRE);
    uint64_t ready = __atomic_load_n(&i->ready, __ATOMIC_ACQUIRE), now = sim_now();
    if (i->phase == QUEUED)
        append(i);
    if (i->phase == APPENDED) {
        if (start > now)
            return start;
        if (!i->watched)
            event_runs_start(i, start);
        __atomic_store_n(&i->phase, STARTED, __ATOMIC_RELEASE);
    }
    if (i->phase == STARTED) {
        if (end == SIM_UNKNOWN || ready > now)
            return end == SIM_UNKNOWN ? SIM_UNKNOWN : ready;
        __atomic_store_n(&i->phase, READY, __ATOMIC_RELEASE);
    }
    uint64_t next = pass_steps(i, now);
    if (!move_bytes(i))
        return now + 300000; /* sockets are looked at again soon; they have no bell */
    if (end > now)
        return next < end ? next : end;
    finish(i);
    return 0;
}

static struct proxy_item *first_of(struct proxy *p)
{
    pthread_mutex_lock(&p->lock);
    struct proxy_item *i = p->first;
    pthread_mutex_unlock(&p->lock);
    return i;
}

bool proxy_idle(struct ncclComm *c)
{
    return !c->progress_runs || !c->proxy || !first_of(c->proxy);
}

static void drop_first(struct proxy *p)
{
    pthread_mutex_lock(&p->lock);
    struct proxy_item *i = p->first;
    p->first = i->next;
    if (!p->first)
        p->end = &p->first;
    pthread_mutex_unlock(&p->lock);
    proxy_unref(i);
}

uint64_t proxy_progress(struct ncclComm *c)
{
    bool any = false;
    for (struct proxy_item *i; (i = first_of(c->proxy));) {
        uint64_t again = go_on(i);
        if (again)
            return again;
        drop_first(c->proxy);
        any = true;
    }
    if (any || !c->proxy->control) {
        event_control_start(c);
        event_control(c, STATE_CtrlSleep, 0);
    }
    return SIM_UNKNOWN;
}

void proxy_begin(struct ncclComm *c)
{
    c->proxy = calloc(1, sizeof(*c->proxy));
    if (!c->proxy)
        abort();
    pthread_mutex_init(&c->proxy->lock, NULL);
    c->proxy->end = &c->proxy->first;
    c->proxy->end_watched = &c->proxy->first_watched;
}

/* After the progress thread has gone. */
void proxy_end(struct ncclComm *c)
{
    struct proxy *p = c->proxy;
    if (!p)
        return;
    watch_end(c);
    event_control_stop(c);
    while (p->first)
        drop_first(p);
    wire_free(p->wires);
    free(p);
    c->proxy = NULL;
}
