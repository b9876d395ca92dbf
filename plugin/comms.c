/* comms.c - communicators, as init and finalize tell them. Both may come on several threads at once. */
#include "plugin/plugin.h"

struct pool comms = {"communicators", 2048, sizeof(struct comm)};

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
        c->mask = mask_use(mask, told->version, true);
        context = handle_make(KIND_COMM, &comms, &c->record.slot, 0);
        slot_let_go(c);
    } else {
        mask_use(mask, told->version, false); /* no finalize will say that it is over */
        if (is_chained)
            chain_finalize(chained);
    }
    return context;
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
    int mask = c->mask;
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
    mask_leave(mask);
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
