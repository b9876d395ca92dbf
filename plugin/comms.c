/* comms.c - communicators, as init and finalize tell them, and the mask: which events NCCL is asked for.
 *
 * The mask is one int of the whole process, inside libnccl; whoever wrote last wins. It follows who listens: nothing
 * is asked for while no session does, and it can change at any time, so events come without their parents. Its address
 * is good while a communicator lives (libnccl may be unmapped after the last one), and the tender writes it from its
 * own thread: `mask_users` keeps the two apart. */
#include "plugin/plugin.h"

#include <sched.h>

struct pool comms = {"communicators", 2048, sizeof(struct comm)};

static _Atomic(int *) mask_of_nccl;
static atomic_int mask_users, nr_comms, newest_version;

/* What NCCL must be asked for, for what is listened to. */
static int wanted(int version)
{
    const struct nccl_sink *s = plugin.sink;
    int mask = 0;
    if (!s)
        return 0;
    if (is_on(s->calls)) {
        mask |= EV_COLL | EV_P2P;
        if (version >= 5)
            mask |= EV_COLL_API | EV_P2P_API; /* times of the calls, and their own counts and types */
        if (version >= 6)
            mask |= EV_CE_COLL;
    }
    if (is_on(s->proxies))
        mask |= EV_PROXY_OP;
    if (is_on(s->proxies) && is_on(s->channels)) /* level full */
        mask |= EV_PROXY_STEP;
    /* On request only: it makes each communicator's first call seconds slower. NCCL prepares for it at init, whether
     * somebody listens then or not. */
    if (plugin.wants_kernels && version >= 4)
        mask |= EV_KERNEL_CH;
    return mask;
}

void mask_update(void)
{
    atomic_fetch_add(&mask_users, 1);
    int *mask = atomic_load(&mask_of_nccl);
    if (mask) {
        int now = wanted(atomic_load(&newest_version)) | chain_mask();
        if (__atomic_load_n(mask, __ATOMIC_RELAXED) != now)
            __atomic_store_n(mask, now, __ATOMIC_RELAXED);
    }
    atomic_fetch_sub(&mask_users, 1);
}

static void identify(struct comm *c, const struct nccl_told_comm *told)
{
    c->identified = told->rank >= 0;
    c->rank = told->rank;
    c->nranks = told->nranks;
}

void *comm_start(const struct told_init *told, int *mask)
{
    void *chained = NULL;
    bool is_chained = chain_init(told, &chained);
    struct comm *c = plugin.sink || is_chained ? new_record(&comms, now_ns(), UINT64_MAX) : NULL;
    void *context = NULL;
    if (c) {
        const struct nccl_told_comm facts = {.id = told->comm_hash,
                                             .name = told->comm_name,
                                             .rank = told->rank,
                                             .nranks = told->nranks,
                                             .nodes = told->nodes};
        c->version = told->version;
        c->is_chained = is_chained;
        c->record.chained[0] = chained;
        identify(c, &facts);
        if (plugin.sink)
            c->nr = plugin.sink->comm(&facts);
        context = handle_make(KIND_COMM, &comms, &c->record.slot, 0);
        slot_let_go(c);
    } else if (is_chained) {
        chain_finalize(chained);
    }
    atomic_store(&newest_version, told->version);
    if (mask)
        __atomic_store_n(mask, wanted(told->version) | chain_mask(), __ATOMIC_RELAXED);
    if (context) { /* else no finalize will say that it is over */
        atomic_fetch_add(&nr_comms, 1);
        if (mask)
            atomic_store(&mask_of_nccl, mask);
    }
    return context;
}

/* The last one may be libnccl's last word: its mask is not ours to write from now on. */
static void forget_mask(void)
{
    if (atomic_fetch_sub(&nr_comms, 1) > 1)
        return;
    atomic_store(&mask_of_nccl, NULL);
    while (atomic_load(&mask_users)) /* the tender is at its one store */
        sched_yield();
}

void comm_stop(void *context)
{
    struct comm *c = hold_handle(context, KIND_COMM);
    if (!c)
        return;
    if (slot_is_done(c)) {
        slot_let_go(c);
        return;
    }
    uint32_t nr = c->nr;
    void *chained = c->record.chained[0];
    bool is_chained = c->is_chained;
    c->is_chained = false;
    slot_done(c);

    if (is_chained)
        chain_finalize(chained);
    if (plugin.sink) {
        calls_end(nr);
        proxies_end(nr);
        plugin.sink->comm_gone(nr);
    }
    forget_mask();
}

uint32_t comm_nr(void *context, const struct told *t)
{
    struct comm *c = hold_handle(context, KIND_COMM);
    if (!c)
        return 0;
    uint32_t nr = c->nr;
    bool tells = !c->identified && t->version < 4 && (t->type == EV_COLL || t->type == EV_P2P);
    struct nccl_told_comm told = {.id = t->comm_hash, .name = t->comm_name, .rank = t->rank, .nranks = -1};
    if (tells)
        identify(c, &told);
    slot_let_go(c);
    if (tells)
        plugin.sink->comm_is(nr, &told);
    return nr;
}
