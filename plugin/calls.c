/* calls.c - collectives, Sends and Recvs: what was called (CollApi, P2pApi) and how it was launched (Coll, P2p,
 * CeColl).
 *
 * One record per call holds both: a launch whose parent is a call not launched yet is that call's. Otherwise (version 4
 * and before, a graph's replay, whose parent is the call that was captured, a parent that is stale or was dropped) it
 * is a record of its own. A call is told once, when its group ends and it was launched, whichever comes last; what is
 * never launched (a Broadcast that NCCL runs as AllGatherV) after a while. Its record stays: the proxy's work comes
 * later and refers to it. */
#include "plugin/plugin.h"

#define FORGOTTEN_NS (60 * SECOND)
#define LAUNCH_NS (2 * SECOND) /* a call that was not launched by then never will be */

struct pool calls = {"calls", 16384, sizeof(struct call)};

/* ---- ordinals where NCCL has none -------------------------------------------------------------------------------- */

#define NR_SEQUENCES 65536 /* a power of 2 */
#define LOOKS 64

uint32_t sequence_next(uint32_t nr, uint8_t op, int32_t peer)
{
    static _Atomic uint64_t keys[NR_SEQUENCES];
    static atomic_uint counts[NR_SEQUENCES];
    uint64_t key = (uint64_t)nr << 32 | (uint64_t)op << 26 | ((uint32_t)(peer + 1) & 0x3ffffff);
    uint64_t hash = key * 0x9E3779B97F4A7C15ull >> 40;
    for (unsigned i = 0; key && i < LOOKS; i++) {
        unsigned at = (unsigned)(hash + i) & (NR_SEQUENCES - 1);
        uint64_t there = atomic_load_explicit(&keys[at], memory_order_relaxed);
        if (there == key || (!there && (atomic_compare_exchange_strong(&keys[at], &there, key) || there == key)))
            return atomic_fetch_add_explicit(&counts[at], 1, memory_order_relaxed);
    }
    count_dropped();
    return 0;
}

/* ---- records ----------------------------------------------------------------------------------------------------- */

void call_emit(struct call *c)
{
    struct nccl_told_call told = c->told;
    if (!told.ran && told.nr)
        told.ordinal = 1u << 31 | sequence_next(told.nr, told.op, -2);
    slot_done(c);
    if (is_on(plugin.sink->calls))
        plugin.sink->call(&told);
}

static struct call *new_call(void *context, const struct told *t, uint64_t now)
{
    uint32_t nr = comm_nr(context, t);
    struct call *c = new_record(&calls, now, FORGOTTEN_NS);
    if (!c)
        return NULL;
    bool has_peer = t->type == EV_P2P;
    c->told = (struct nccl_told_call){
        .nr = nr,
        .tid = own_tid(),
        .op = op_of(t->func),
        .type = type_of(t->datatype),
        .peer = has_peer                ? t->peer
                : t->type == EV_P2P_API ? -1
                                        : t->root,
        .count = t->count,
        .start_ns = now,
        .end_ns = now,
    };
    return c;
}

/* Operations with a root; for the others NCCL says 0. */
static int32_t root_of(uint8_t op, int root)
{
    switch (op) {
    case TR_coll_op_Broadcast:
    case TR_coll_op_Reduce:
    case TR_coll_op_Gather:
    case TR_coll_op_Scatter:
        return root;
    default:
        return -1;
    }
}

void *call_api_start(void *context, const struct told *t)
{
    struct call *c = new_call(context, t, now_ns());
    if (!c)
        return NULL;
    c->told.called = true;
    c->told.captured = t->captured;
    c->told.peer = root_of(c->told.op, t->root);
    group_add(t->parent, c);
    void *handle = handle_make(KIND_CALL_API, &calls, &c->record.slot, 0);
    slot_let_go(c);
    return handle;
}

/* ---- launches ---------------------------------------------------------------------------------------------------- */

static void launched(struct call *c, const struct told *t)
{
    struct nccl_told_call *told = &c->told;
    told->ran = true;
    told->channels = t->channels;
    told->algo = t->type == EV_CE_COLL ? TR_coll_algo_CE : algo_of(t);
    told->proto = proto_of(t->proto);
    if (t->type == EV_P2P) {
        told->peer = t->peer;
        told->send = told->op == TR_coll_op_Send ? t->buffer : NULL;
        told->recv = told->op == TR_coll_op_Recv ? t->buffer : NULL;
        told->ordinal = sequence_next(told->nr, told->op, t->peer);
    } else {
        told->peer = root_of(told->op, t->root);
        told->send = t->send;
        told->recv = t->recv;
        told->ordinal = (uint32_t)t->seq & ~(1u << 31);
    }
}

/* The call that this launch is of, held; NULL: not known, or launched before. ret_facts: the API's side of it, also of
 * one launched before (a replay). */
static struct call *call_of_launch(const struct told *t, struct nccl_told_call *ret_facts)
{
    struct call *c = hold_handle(t->parent, KIND_CALL_API);
    if (!c)
        return NULL;
    bool is_same = c->told.op == op_of(t->func);
    if (is_same && !c->told.ran && !slot_is_done(c))
        return c;
    /* NCCL leaves the handle of an earlier call in later ones: believe it only if it can be. */
    if (is_same && c->told.captured)
        *ret_facts = c->told;
    slot_let_go(c);
    return NULL;
}

void *call_start(void *context, const struct told *t)
{
    struct nccl_told_call captured = {0};
    struct call *c = call_of_launch(t, &captured);
    if (!c) {
        c = new_call(context, t, now_ns());
        if (!c)
            return NULL;
        if (captured.called) {
            c->told.called = c->told.captured = true;
            c->told.count = captured.count;
            c->told.type = captured.type;
        }
        if (t->version < 5)
            group_add(t->parent, c);
    }
    launched(c, t);
    void *handle = handle_make(KIND_CALL, &calls, &c->record.slot, 0);
    slot_let_go(c);
    return handle;
}

void call_stop(struct handle h)
{
    struct call *c = slot_hold(&calls, h.index, h.generation);
    if (!c)
        return;
    if (!slot_is_done(c) && (c->ended || !c->in_group))
        call_emit(c);
    else
        slot_let_go(c);
}

/* ---- what nothing more is told of -------------------------------------------------------------------------------- */

void calls_end(uint32_t nr)
{
    unsigned top = atomic_load_explicit(&calls.top, memory_order_acquire);
    for (unsigned i = 0; i < top; i++) {
        struct call *c = slot_hold_live(&calls, i);
        if (c && c->told.nr == nr)
            call_emit(c);
        else if (c)
            slot_let_go(c);
    }
}

void calls_tend(uint64_t now, bool last)
{
    unsigned top = atomic_load_explicit(&calls.top, memory_order_acquire);
    for (unsigned i = 0; i < top; i++) {
        struct call *c = slot_hold_live(&calls, i);
        if (!c)
            continue;
        uint64_t told_ns = c->ended ? c->told.end_ns : c->told.start_ns;
        uint64_t patience_ns = c->ended ? LAUNCH_NS : FORGOTTEN_NS;
        if (last || (now > told_ns && now - told_ns > patience_ns))
            call_emit(c);
        else
            slot_let_go(c);
    }
}
