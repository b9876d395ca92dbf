/* proxies.c - what NCCL's proxy thread did for a call: operations (one per channel and peer), and their steps.
 *
 * The operations of one call to one peer in one direction are joined into one event. It is told when as many as the
 * call has channels have ended; or, since nobody says how many there will be, when none is open and nothing came for a
 * while; or with its communicator's end. Operations that never end (CollNet, copies by engine) moved nothing over a
 * network and are not told.
 *
 * Another local process may have its work done by our proxy thread (PXN). Then context and parent are that process's:
 * nothing is looked up by them, and what we tell has no communicator.
 *
 * Steps come at level full only. They overlap, so an operation's time belongs to what its oldest open step waits for:
 * then the parts add up to no more than the whole. A joined event has the mean of its operations. */
#include "plugin/plugin.h"

#define FORGOTTEN_NS (60 * SECOND)
#define QUIET_NS (100 * 1000000ull)
#define NR_STEPS 16  /* of one operation at a time: NCCL has 8 */
#define STEP_MASK 63 /* what a handle holds of a step's number */

enum stage { STAGE_NONE, STAGE_GPU, STAGE_PEER, STAGE_NET, STAGE_MAX };

struct step {
    uint8_t nr; /* & STEP_MASK */
    bool open;
    uint8_t stage;
    void *chained;
};

struct op {
    struct record record;
    struct ref join;
    uint64_t mark_ns; /* up to when the time has been given to stages */
    struct op_sums {
        uint64_t bytes, stage_ns[STAGE_MAX];
        uint32_t steps;
    } sums;
    unsigned oldest, next; /* open steps, counted without end */
    struct step step[NR_STEPS];
};

struct join {
    struct record record;
    struct tr_nccl_proxy told;
    uint32_t open, ended, expected; /* operations; expected 0: not known */
    uint64_t end_ns;
};

struct pool ops = {"proxy operations", 16384, sizeof(struct op)};
struct pool joins = {"proxy work", 8192, sizeof(struct join)};

/* ---- joined ------------------------------------------------------------------------------------------------------ */

/* Held join: tells it and lets go of it. */
static void emit(struct join *j)
{
    struct tr_nccl_proxy told = j->told;
    uint32_t ended = j->ended;
    told.dur_ns = j->end_ns - told.start_ns;
    slot_done(j);
    if (!ended || !is_on(plugin.sink->proxies))
        return;
    told.channels = (uint16_t)ended;
    told.gpu_ns /= ended;
    told.peer_ns /= ended;
    told.net_ns /= ended;
    plugin.sink->proxy(&told);
}

static struct join *new_join(const struct told *t, const struct nccl_told_call *call, uint64_t now)
{
    struct join *j = new_record(&joins, now, FORGOTTEN_NS);
    if (!j)
        return NULL;
    j->told = (struct tr_nccl_proxy){
        .tid = own_tid(),
        .way = t->is_send ? TR_nccl_way_send : TR_nccl_way_receive,
        .op = call->op,
        .nr = call->nr,
        .ordinal = call->ordinal,
        .peer = t->peer,
        .start_ns = now,
    };
    j->expected = call->channels;
    return j;
}

static bool is_of(const struct join *j, const struct told *t)
{
    return j->told.peer == t->peer && (j->told.way == TR_nccl_way_send) == (t->is_send != 0) && !slot_is_done(j);
}

/* The join that an operation belongs to, held; a new one if there is none. */
static struct join *join_of(void *context, const struct told *t, uint64_t now)
{
    struct nccl_told_call unknown = {.nr = 0};
    struct call *c = t->pid == (pid_t)plugin.pid ? hold_handle(t->parent, KIND_CALL) : NULL;
    if (!c) {
        if (t->pid == (pid_t)plugin.pid)
            unknown.nr = comm_nr(context, t);
        return new_join(t, &unknown, now);
    }
    struct join *j = NULL;
    struct ref *room = NULL;
    for (int i = 0; i < NR_JOINS && !room; i++) {
        j = hold_ref(&joins, c->joins[i]);
        if (j && is_of(j, t))
            break;
        if (!j || slot_is_done(j))
            room = &c->joins[i];
        if (j)
            slot_let_go(j);
        j = NULL;
    }
    if (!j) {
        j = new_join(t, &c->told, now);
        if (j && room)
            *room = ref_of(&joins, j);
    }
    slot_let_go(c);
    return j;
}

/* ---- operations -------------------------------------------------------------------------------------------------- */

void *op_start(void *context, const struct told *t)
{
    uint64_t now = now_ns();
    struct op *op = new_record(&ops, now, FORGOTTEN_NS);
    if (!op)
        return NULL;
    struct join *j = join_of(context, t, now);
    if (j) {
        op->join = ref_of(&joins, j);
        j->open++;
        slot_let_go(j);
    }
    op->mark_ns = now;
    op->sums.steps = t->steps > 0 ? (uint32_t)t->steps : 0;
    void *handle = handle_make(KIND_OP, &ops, &op->record.slot, 0);
    slot_let_go(op);
    return handle;
}

/* Versions 1 to 3: how much so far. */
void op_state(struct handle h, const struct told_state *t)
{
    if (t->state > ST_OP_LAST || !t->has_args)
        return;
    struct op *op = slot_hold(&ops, h.index, h.generation);
    if (!op)
        return;
    if (t->bytes > op->sums.bytes)
        op->sums.bytes = t->bytes;
    slot_let_go(op);
}

/* Gives the time since the last look to what the oldest open step has been waiting for. */
static void attribute(struct op *op, uint64_t now)
{
    while (op->oldest != op->next && !op->step[op->oldest % NR_STEPS].open)
        op->oldest++;
    unsigned stage = op->oldest != op->next ? op->step[op->oldest % NR_STEPS].stage : STAGE_NONE;
    if (now > op->mark_ns)
        op->sums.stage_ns[stage] += now - op->mark_ns;
    op->mark_ns = now;
}

void op_stop(struct handle h)
{
    uint64_t now = now_ns();
    struct op *op = slot_hold(&ops, h.index, h.generation);
    if (!op)
        return;
    if (slot_is_done(op)) {
        slot_let_go(op);
        return;
    }
    attribute(op, now);
    const struct op_sums was = op->sums;
    struct ref join = op->join;
    slot_done(op);

    struct join *j = hold_ref(&joins, join);
    if (!j)
        return;
    if (slot_is_done(j)) {
        slot_let_go(j);
        return;
    }
    j->open--;
    j->ended++;
    j->end_ns = now;
    j->told.steps += was.steps;
    j->told.size_bytes += was.bytes;
    j->told.gpu_ns += was.stage_ns[STAGE_GPU];
    j->told.peer_ns += was.stage_ns[STAGE_PEER];
    j->told.net_ns += was.stage_ns[STAGE_NET];
    if (!j->open && (j->ended == j->expected || !j->told.nr))
        emit(j);
    else
        slot_let_go(j);
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

void *step_start(const struct told *t)
{
    struct op *op = hold_handle(t->parent, KIND_OP);
    if (!op)
        return NULL;
    void *handle = NULL;
    if (!slot_is_done(op)) {
        attribute(op, now_ns());
        if (op->next - op->oldest == NR_STEPS)
            op->step[op->oldest % NR_STEPS].open = false; /* its end was not told: NCCL 2.24 to 2.26 */
        op->step[op->next % NR_STEPS] = (struct step){.nr = op->next & STEP_MASK, .open = true};
        handle = handle_make(KIND_STEP, &ops, &op->record.slot, op->next & STEP_MASK);
        op->next++;
    }
    slot_let_go(op);
    return handle;
}

/* Held operation and open step of a handle; NULL if it is over. */
static struct op *hold_step(struct handle h, struct step **ret_step)
{
    struct op *op = slot_hold(&ops, h.index, h.generation);
    if (!op)
        return NULL;
    struct step *s = &op->step[h.extra % NR_STEPS];
    if (!slot_is_done(op) && s->open && s->nr == h.extra) {
        *ret_step = s;
        return op;
    }
    slot_let_go(op);
    return NULL;
}

static enum stage stage_of(int state)
{
    switch (state) {
    case ST_STEP_SEND_GPU:
    case ST_STEP_RECV_GPU:
        return STAGE_GPU;
    case ST_STEP_SEND_PEER:
    case ST_STEP_RECV: /* for what the other side has not sent, or the network not brought: from here that is one */
        return STAGE_PEER;
    case ST_STEP_SEND:
    case ST_STEP_FLUSH:
        return STAGE_NET;
    default:
        return STAGE_NONE;
    }
}

void step_state(struct handle h, const struct told_state *t)
{
    struct step *s;
    enum stage stage = stage_of(t->state);
    struct op *op = stage ? hold_step(h, &s) : NULL;
    if (!op)
        return;
    attribute(op, now_ns());
    s->stage = (uint8_t)stage;
    /* In other states the size is that of another step. */
    if (t->has_args && (t->state == ST_STEP_SEND || t->state == ST_STEP_FLUSH))
        op->sums.bytes += t->bytes;
    slot_let_go(op);
}

void step_stop(struct handle h)
{
    struct step *s;
    struct op *op = hold_step(h, &s);
    if (!op)
        return;
    attribute(op, now_ns());
    s->open = false;
    slot_let_go(op);
}

void **step_chained(void *record, uint8_t nr)
{
    struct op *op = record;
    struct step *s = &op->step[nr % NR_STEPS];
    return s->nr == nr ? &s->chained : NULL;
}

/* ---- what nothing more is told of -------------------------------------------------------------------------------- */

void proxies_end(uint32_t nr)
{
    unsigned top = atomic_load_explicit(&joins.top, memory_order_acquire);
    for (unsigned i = 0; i < top; i++) {
        struct join *j = slot_hold_live(&joins, i);
        if (j && j->told.nr == nr)
            emit(j);
        else if (j)
            slot_let_go(j);
    }
}

void proxies_tend(uint64_t now, bool last)
{
    unsigned top = atomic_load_explicit(&joins.top, memory_order_acquire);
    for (unsigned i = 0; i < top; i++) {
        struct join *j = slot_hold_live(&joins, i);
        if (!j)
            continue;
        uint64_t since_ns = j->open || !j->ended ? j->told.start_ns : j->end_ns;
        uint64_t patience_ns = j->open || !j->ended ? FORGOTTEN_NS : QUIET_NS;
        if (last || (now > since_ns && now - since_ns > patience_ns))
            emit(j);
        else
            slot_let_go(j);
    }
}
