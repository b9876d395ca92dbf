/* depend.c - whose start a kernel depends on:
 *   AllReduce, AllGather, ReduceScatter, AlltoAll   all ranks
 *   Broadcast, Scatter                              the root
 *   Reduce, Gather                                  the root waits for all, the others for nobody
 *   Send, Recv (and Put, Signal, WaitSignal)        the peer
 * and a fused kernel on all that its calls depend on. Starts are told in memory that the ranks share. All of it runs
 * with the engine's lock held and never blocks. */
#include "tests/sim/nccl/inside.h"

/* ---- Who depends on whom ---- */
bool depend_is_pair(enum nccl_func f)
{
    return f == FUNC_Send || f == FUNC_Recv || f == FUNC_PutSignal || f == FUNC_Signal || f == FUNC_WaitSignal;
}

bool depend_receives(enum nccl_func f)
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

/* ---- Telling a start, and reading the others' ---- */
static struct slot *own_slot(struct ncclComm *c, const struct work *w)
{
    if (!depend_is_pair(w->func))
        return shared_coll(&c->shared, c->rank, w->ordinal);
    bool in = depend_receives(w->func);
    return shared_pair(&c->shared, in ? w->root : c->rank, in ? c->rank : w->root, in, w->ordinal);
}

static struct slot *peer_slot(struct ncclComm *c, const struct work *w)
{
    bool in = depend_receives(w->func);
    return shared_pair(&c->shared, in ? w->root : c->rank, in ? c->rank : w->root, !in, w->ordinal);
}

/* A slot may be written again when everybody is done with what it said a round of the ring ago. */
bool depend_may_tell(struct ncclComm *c, const struct launch *l)
{
    for (unsigned i = 0; i < l->nr_works; i++)
        for (int r = 0; r < c->nranks && !depend_is_pair(l->works[i].func); r++)
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
    if (depend_is_pair(w->func)) {
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

void depend_tell(struct ncclComm *c, const struct launch *l, uint64_t start)
{
    for (unsigned i = 0; i < l->nr_works; i++) {
        struct slot *s = own_slot(c, &l->works[i]);
        s->start = start - (uint64_t)sim_clock_ahead(); /* by the machine's clock */
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
    return depend_is_pair(w->func) || s->func == (uint32_t)w->func ? s->start + (uint64_t)sim_clock_ahead()
                                                                   : SIM_UNKNOWN;
}

uint64_t depend_later(uint64_t a, uint64_t b)
{
    return a > b ? a : b; /* SIM_UNKNOWN is the latest of all */
}

uint64_t depend_ready(struct ncclComm *c, const struct launch *l, uint64_t start)
{
    uint64_t ready = start;
    for (unsigned i = 0; i < l->nr_works && ready != SIM_UNKNOWN; i++) {
        const struct work *w = &l->works[i];
        if (depend_is_pair(w->func)) {
            ready = depend_later(ready, start_in(peer_slot(c, w), w));
            continue;
        }
        for (int r = 0; r < c->nranks && ready != SIM_UNKNOWN; r++)
            if (depends(c, w, r))
                ready = depend_later(ready, start_in(shared_coll(&c->shared, r, w->ordinal), w));
    }
    return ready;
}
