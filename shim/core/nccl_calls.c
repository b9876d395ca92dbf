/* nccl_calls.c - calls of NCCL become coll events.
 *
 * A call's kernel is launched when its group ends, so a call waits in a list of its thread until then. Meanwhile, on
 * the same thread, a profiler plugin tells how NCCL runs it: that joins the call in the list. What a plugin tells on
 * another thread (communicators that do not block, captured graphs) is an event of its own; the analyzer joins it. */
#include "shim/core/calls.h"
#include "shim/core/nccl.h"
#include "shim/core/nccl_open.h"

#define HOW_HOOK 1u
#define HOW_PLUGIN 2u
#define HOW_CAPTURED 4u
#define HOW_FAILED 8u
#define NR_LISTS 64
#define NCCL_NOT_DONE (-1)

static struct nccl_thread lists[NR_LISTS]; /* never touched: no memory */
static atomic_uint groups;

struct nccl_thread *nccl_thread_of(struct thread *t, bool take)
{
    if (t->nccl || !take)
        return t->nccl;
    for (int i = 0; i < NR_LISTS; i++) {
        int free_ = 0;
        if (atomic_load_explicit(&lists[i].taken, memory_order_relaxed) ||
            !atomic_compare_exchange_strong(&lists[i].taken, &free_, 1))
            continue;
        lists[i].group = lists[i].nr_calls = lists[i].nr_making = 0;
        lists[i].under_way = NULL;
        lists[i].nr_beyond = 0;
        return t->nccl = &lists[i];
    }
    return NULL;
}

void nccl_thread_release(struct thread *t)
{
    struct nccl_thread *n = t->nccl;
    t->tls->nccl_pending = n && (n->nr_calls || n->nr_making);
    if (!n || t->tls->nccl_pending)
        return;
    t->nccl = NULL;
    atomic_store_explicit(&n->taken, 0, memory_order_release);
}

void nccl_thread_ends(struct thread *t)
{
    for (uint32_t i = 0; t->nccl && i < t->nccl->nr_calls; i++)
        nccl_open_returned(&t->nccl->calls[i], 0, true);
    if (t->nccl)
        t->nccl->nr_calls = t->nccl->nr_making = 0; /* in a group that nobody will end */
    nccl_thread_release(t);
}

/* The records of threads forget theirs in threads_after_fork(). */
void nccl_threads_after_fork(void)
{
    for (int i = 0; i < NR_LISTS; i++)
        if (atomic_load_explicit(&lists[i].taken, memory_order_relaxed))
            atomic_store(&lists[i].taken, 0);
}

/* ---- the event -------------------------------------------------------------------------------------------------- */

static uint32_t at_most_u32(uint64_t v)
{
    return v > UINT32_MAX ? UINT32_MAX : (uint32_t)v;
}

static void send_call(const struct nccl_pending *p, uint32_t tid, uint32_t group, uint64_t end_ns)
{
    struct nccl_comm *comm = nccl_comm_of_nr(p->nr);
    if (detail_is_off())
        return;
    if (comm)
        nccl_comm_send(comm, tid, false);
    EMIT(coll, tid, .op = p->op, .type = p->type, .algo = p->algo, .proto = p->proto, .channels = p->channels,
         .how = p->how, .nr = p->nr, .ordinal = p->ordinal, .peer = p->peer, .group = group,
         .dur_ns = end_ns == UINT64_MAX ? UINT32_MAX : at_most_u32(end_ns - p->start_ns), .count = p->count,
         .start_ns = p->start_ns);
}

void nccl_send_alone(const struct nccl_told_call *told, uint32_t tid)
{
    const struct nccl_pending p = {
        .nr = nccl_comm_number(told->nr),
        .ordinal = told->ordinal,
        .peer = told->peer,
        .op = told->op,
        .type = told->type,
        .algo = told->algo,
        .proto = told->proto,
        .channels = told->channels,
        .how = (uint8_t)(HOW_PLUGIN | (told->captured ? HOW_CAPTURED : 0)),
        .count = told->count,
        .start_ns = told->start_ns,
    };
    /* Its numbers are its own. */
    send_call(&p, tid, told->group ? told->group | 1u << 31 : 0, told->end_ns);
}

/* ---- a call ----------------------------------------------------------------------------------------------------- */

/* A communicator that was made before our time, or without our seeing its address: it says itself who it is. */
static struct nccl_comm *meet(const struct shim_nccl_call *seen, const struct thread *t)
{
    struct nccl_comm *comm = nccl_comm_new(TR_nccl_source_hook, 0); /* a plugin may have told of it at any time */
    if (!comm)
        return NULL;
    nccl_comm_ask(comm, seen->comm, seen->caller);
    nccl_comm_made(comm, (uintptr_t)seen->comm, t->tid);
    return comm;
}

/* Gives the call its communicator, and that its rank, where they were not known. */
static void identify(struct nccl_pending *p, struct thread *t, const struct shim_nccl_call *seen)
{
    struct nccl_comm *comm = nccl_comm_of_nr(p->nr);
    if (!comm)
        comm = meet(seen, t);
    else if (comm->rank < 0)
        nccl_comm_ask(comm, seen->comm, seen->caller);
    p->nr = comm ? comm->nr : 0;
}

/* Elements per peer of an AlltoAll whose parts differ. */
static uint64_t mean_of(const size_t *counts, int32_t nranks)
{
    uint64_t sum = 0;
    for (int32_t i = 0; i < nranks; i++)
        sum += counts[i];
    return nranks > 0 ? sum / (uint32_t)nranks : 0;
}

static struct nccl_pending describe(const struct shim_nccl_call *seen, const struct nccl_comm *comm, uint64_t now)
{
    return (struct nccl_pending){
        .nr = comm ? comm->nr : 0,
        .peer = seen->peer,
        .op = (uint8_t)seen->op,
        .type = (uint8_t)(seen->type < 0 || seen->type > 254 ? 255 : seen->type),
        .how = (uint8_t)(HOW_HOOK | (seen->captured ? HOW_CAPTURED : 0)),
        .count = seen->counts && comm ? mean_of(seen->counts, comm->nranks) : seen->count,
        .start_ns = now,
        .send = seen->send,
        .recv = seen->recv,
    };
}

/* Counted when it has been accepted: ranks must agree on the numbers. */
static void number(struct nccl_pending *p)
{
    struct nccl_comm *comm = nccl_comm_of_nr(p->nr);
    if (p->op == TR_coll_op_Send || p->op == TR_coll_op_Recv)
        p->ordinal = nccl_peer_ordinal(p->nr, p->peer, p->op == TR_coll_op_Recv);
    else if (comm)
        p->ordinal = atomic_fetch_add_explicit(&comm->ordinal, 1, memory_order_relaxed);
}

void call_nccl(struct shim_call *call, const struct shim_nccl_call *seen)
{
    struct thread *t = thread_of(call);
    struct nccl_comm *comm = nccl_comm_of_address(seen->comm);
    struct nccl_thread *n = nccl_thread_of(t, true);
    if (!n) {
        nccl_lost(1);
        return;
    }
    n->seen = *seen;
    n->under_way = n->nr_calls < NCCL_MAX_CALLS ? &n->calls[n->nr_calls++] : &n->alone;
    *n->under_way = describe(seen, comm, call->start_ns);
    n->under_way->open = nccl_open_begin(n->under_way, t->tid);
}

static void send_all(struct thread *t, struct nccl_thread *n, uint64_t end_ns, bool failed)
{
    uint32_t group = n->nr_calls > 1 || n->group ? n->group : 0;
    for (uint32_t i = 0; i < n->nr_calls; i++) {
        if (failed)
            n->calls[i].how |= HOW_FAILED;
        nccl_open_returned(&n->calls[i], end_ns, (n->calls[i].how & (HOW_FAILED | HOW_CAPTURED)) != 0);
        send_call(&n->calls[i], t->tid, group, end_ns);
    }
    n->nr_calls = n->nr_beyond = n->group = 0;
}

void call_nccl_done(struct shim_call *call, int rc)
{
    struct thread *t = call->tls->self;
    struct nccl_thread *n = t->nccl;
    struct nccl_pending *p = n ? n->under_way : NULL;
    if (!p)
        return;
    n->under_way = NULL;
    if (nccl_went_well(rc)) {
        if (rc == NCCL_SUCCESS)
            identify(p, t, &n->seen);
        number(p);
        nccl_open_accepted(p);
    } else {
        p->how |= HOW_FAILED;
    }
    if (!call->tls->nccl_depth) {
        send_all(t, n, call->end_ns, false);
    } else {
        if (!n->group)
            n->group = atomic_fetch_add(&groups, 1) + 1;
        if (p == &n->alone) { /* its group's end is not waited for */
            nccl_lost(1);
            n->nr_beyond++;
            nccl_open_returned(p, UINT64_MAX, true);
            send_call(p, t->tid, n->group, UINT64_MAX);
        }
    }
    nccl_thread_release(t);
}

void call_nccl_group_end(struct shim_call *call, bool dropped, int rc)
{
    struct thread *t = thread_of(call);
    struct nccl_thread *n = t->nccl;
    if (!n)
        return;
    nccl_made_in_group(t, n, dropped ? NCCL_NOT_DONE : rc);
    if (n->nr_calls == 1)
        n->group = 0; /* alone after all */
    for (uint32_t i = 0; dropped && i < n->nr_calls; i++)
        nccl_open_returned(&n->calls[i], call->end_ns, true);
    if (dropped)
        n->nr_calls = n->nr_beyond = n->group = 0;
    send_all(t, n, call->end_ns, !nccl_went_well(rc));
    nccl_thread_release(t);
}

/* ---- what a plugin tells ---------------------------------------------------------------------------------------- */

static bool same_buffer(const void *a, const void *b)
{
    return !a || !b || a == b;
}

/* NCCL itself makes these of Sends and Recvs. */
static bool is_of_parts(uint8_t op)
{
    return op == TR_coll_op_AlltoAll || op == TR_coll_op_Gather || op == TR_coll_op_Scatter;
}

static bool is_part(uint8_t op)
{
    return op == TR_coll_op_Send || op == TR_coll_op_Recv;
}

/* The communicator of a pending call that a plugin may be telling of without our knowing that it is the same one. */
static bool may_be(const struct nccl_pending *p, const struct nccl_comm *plugins)
{
    struct nccl_comm *hooks = nccl_comm_of_nr(p->nr);
    return hooks && plugins && !atomic_load(&hooks->plugin) && !atomic_load(&plugins->same) &&
           (plugins->rank < 0 || hooks->rank < 0 || plugins->rank == hooks->rank) &&
           (plugins->nranks <= 0 || hooks->nranks <= 0 || plugins->nranks == hooks->nranks);
}

static void fill(struct nccl_pending *p, const struct nccl_told_call *told)
{
    if (told->ran) {
        p->algo = told->algo;
        p->proto = told->proto;
        if (told->channels > p->channels)
            p->channels = told->channels;
        p->told = true;
    }
    p->how |= (uint8_t)(HOW_PLUGIN | (told->captured ? HOW_CAPTURED : 0));
}

bool nccl_join(struct thread *t, const struct nccl_told_call *told)
{
    struct nccl_thread *n = t->nccl;
    struct nccl_comm *comm = nccl_comm_known_as(told->nr), *plugins = nccl_comm_of_nr(told->nr);
    struct nccl_pending *whole = NULL;

    for (uint32_t i = 0; n && i < n->nr_calls; i++) {
        struct nccl_pending *p = &n->calls[i];
        bool same = comm && p->nr == comm->nr, unsure = !same && told->send && told->recv && may_be(p, plugins);
        if (!same && !unsure)
            continue;
        if (is_of_parts(p->op) && is_part(told->op) && same)
            whole = p;
        if (p->op != told->op || p->told || !same_buffer(p->send, told->send) || !same_buffer(p->recv, told->recv) ||
            (is_part(p->op) && told->peer >= 0 && p->peer != told->peer))
            continue;
        if (unsure)
            nccl_comm_tie(nccl_comm_of_nr(p->nr), plugins);
        fill(p, told);
        return true;
    }
    if (whole) {
        fill(whole, told);
        whole->told = false; /* more of its parts may come */
        return true;
    }
    if (n && n->nr_beyond && comm && comm->source == TR_nccl_source_hook) {
        n->nr_beyond--; /* sent already */
        return true;
    }
    return false;
}
