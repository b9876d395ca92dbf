/* op.c - an operation's place in time. It starts when it was queued and all it waits for has ended; whoever queues it
 * decides that at once, unless something it waits for is itself undecided (a host function, a collective that needs
 * other processes): then it joins a list in the order of queueing, which is gone through when one of those becomes
 * known. */
#include <stdlib.h>
#include <string.h>

#include "tests/sim/engine/inside.h"

pthread_mutex_t sim_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t sim_changed = PTHREAD_COND_INITIALIZER;

static struct sim_op *undecided, **undecided_end = &undecided; /* guarded by sim_lock */
static __thread uint32_t tag;

void sim_lock_engine(void)
{
    pthread_mutex_lock(&sim_lock);
}

void sim_unlock_engine(void)
{
    pthread_mutex_unlock(&sim_lock);
}

void sim_set_tag(uint32_t t)
{
    tag = t;
}

struct sim_op *sim_op_new(enum sim_op_kind kind)
{
    struct sim_op *op = calloc(1, sizeof(*op));
    if (!op)
        return NULL;
    op->kind = kind;
    op->refs = 1;
    op->start = op->end = SIM_UNKNOWN;
    op->source_device = op->target_device = -1;
    op->tag = tag;
    struct sim_call *call = sim_call_current();
    op->correlation = call ? call->correlation : 0;
    return op;
}

struct sim_op *sim_op_ref(struct sim_op *op)
{
    __atomic_add_fetch(&op->refs, 1, __ATOMIC_RELAXED);
    return op;
}

static void drop_waits(struct sim_op *op)
{
    for (unsigned i = 0; i < op->nr_waits; i++)
        sim_op_unref(op->waits[i]);
    free(op->waits);
    op->waits = NULL;
    op->nr_waits = op->max_waits = 0;
}

void sim_op_unref(struct sim_op *op)
{
    if (!op || __atomic_sub_fetch(&op->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    drop_waits(op);
    free(op->work.state);
    free(op);
}

void sim_op_add_wait(struct sim_op *op, struct sim_op *before)
{
    if (!before || before->end <= op->queued)
        return;
    if (op->nr_waits == op->max_waits) {
        unsigned max = op->max_waits ? 2 * op->max_waits : 2;
        struct sim_op **larger = realloc(op->waits, max * sizeof(*larger));
        if (!larger)
            abort(); /* an order that is not kept would be a wrong simulation */
        op->waits = larger;
        op->max_waits = max;
    }
    op->waits[op->nr_waits++] = sim_op_ref(before);
}

/* Copies of one direction share an engine of the device; which also serves them one by one. */
static uint64_t *copy_engine(const struct sim_op *op)
{
    struct sim_device *d = sim_device_at((int)op->device);
    if (op->kind != SIM_OP_COPY || !d)
        return NULL;
    bool to_device = op->to == SIM_DEVICE || op->to == SIM_MANAGED;
    bool from_device = op->from == SIM_DEVICE || op->from == SIM_MANAGED;
    return &d->copy_engine[to_device && from_device ? 2 : from_device];
}

/* Returns whether its times are known now. */
static bool decide(struct sim_op *op)
{
    uint64_t start = op->queued;
    for (unsigned i = 0; i < op->nr_waits; i++) {
        if (op->waits[i]->end == SIM_UNKNOWN)
            return false;
        if (op->waits[i]->end > start)
            start = op->waits[i]->end;
    }
    uint64_t *engine = copy_engine(op);
    if (engine && *engine > start)
        start = *engine;
    uint64_t end = op->decide ? op->decide(op, start) : start + op->length;
    __atomic_store_n(&op->start, start, __ATOMIC_RELEASE);
    if (end == SIM_UNKNOWN)
        return false;
    __atomic_store_n(&op->end, end, __ATOMIC_RELEASE);
    if (engine)
        *engine = end;
    drop_waits(op);
    return true;
}

void sim_op_try(struct sim_op *op)
{
    if (decide(op))
        return;
    *undecided_end = sim_op_ref(op);
    undecided_end = &op->next;
    op->next = NULL;
}

void sim_op_decided(void)
{
    sim_lock_engine();
    /* What waits for something was queued after it: one pass in that order decides all that can be. */
    for (struct sim_op **at = &undecided; *at;) {
        struct sim_op *op = *at;
        if (!decide(op)) {
            at = &op->next;
            continue;
        }
        *at = op->next;
        sim_op_effect(op); /* a copy of bytes; with the lock, so that nothing that follows it can overtake it */
        sim_op_unref(op);
    }
    undecided_end = &undecided;
    while (*undecided_end)
        undecided_end = &(*undecided_end)->next;
    pthread_cond_broadcast(&sim_changed);
    sim_unlock_engine();
}

bool sim_op_ended(const struct sim_op *op)
{
    uint64_t end = __atomic_load_n(&op->end, __ATOMIC_ACQUIRE);
    return end != SIM_UNKNOWN && end <= sim_now();
}

void sim_op_wait(struct sim_op *op)
{
    if (__atomic_load_n(&op->end, __ATOMIC_ACQUIRE) == SIM_UNKNOWN) {
        sim_lock_engine();
        while (op->end == SIM_UNKNOWN)
            pthread_cond_wait(&sim_changed, &sim_lock);
        sim_unlock_engine();
    }
    sim_sleep_until(op->end);
}

void sim_op_effect(struct sim_op *op)
{
    if (__atomic_exchange_n(&op->effect_done, true, __ATOMIC_ACQ_REL))
        return; /* decided by another thread between queueing and here */
    if (op->kind == SIM_OP_COPY && op->source)
        memmove(op->target, op->source, op->bytes);
    if (op->kind == SIM_OP_SET && op->width == 1)
        memset(op->target, (int)op->value, op->bytes);
    else if (op->kind == SIM_OP_SET)
        for (size_t i = 0; i + op->width <= op->bytes; i += op->width)
            memcpy((char *)op->target + i, &op->value, op->width);
    if (op->body) {
        void *args[SIM_ARGS_MAX];
        for (int i = 0; i < SIM_ARGS_MAX; i++)
            args[i] = &op->args[i];
        op->body(op, args);
    }
    if (op->work.run)
        op->work.run(op->work.state);
}
