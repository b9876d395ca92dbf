/* host.c - host functions in a stream: one thread runs them, each when the device would have come to it; what follows
 * in the stream starts when it has returned. The thread is made at the first one. */
#include <stdlib.h>

#include "tests/sim/engine/inside.h"

struct due { /* guarded by sim_lock until taken off the list */
    struct sim_op *op;
    struct due *next;
};

static struct due *due_first, **due_end = &due_first;
static pthread_cond_t due_changed = PTHREAD_COND_INITIALIZER;
static pthread_once_t started = PTHREAD_ONCE_INIT;

enum { NOT_HANDED, HANDED, RUN };

static struct due *take_due(void)
{
    sim_lock_engine();
    while (!due_first)
        pthread_cond_wait(&due_changed, &sim_lock);
    struct due *d = due_first;
    due_first = d->next;
    if (!due_first)
        due_end = &due_first;
    sim_unlock_engine();
    return d;
}

static void *run_due(void *unused)
{
    for (;;) {
        struct due *d = take_due();
        sim_sleep_until(d->op->start);
        d->op->host(d->op->host_data);
        sim_lock_engine();
        d->op->length = sim_now();
        d->op->value = RUN;
        sim_unlock_engine();
        sim_op_unref(d->op);
        free(d);
        sim_op_decided();
    }
    return unused;
}

static void start_thread(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, run_due, NULL) == 0)
        pthread_detach(thread);
}

/* A host function's end is known when it has run; `value` is its state and `length` its end. */
static uint64_t host_decide(struct sim_op *op, uint64_t start)
{
    if (op->value == NOT_HANDED) {
        struct due *d = calloc(1, sizeof(*d));
        if (!d)
            abort();
        op->start = start;
        op->value = HANDED;
        d->op = sim_op_ref(op);
        *due_end = d;
        due_end = &d->next;
        pthread_cond_signal(&due_changed);
    }
    return op->value == RUN ? op->length : SIM_UNKNOWN;
}

int sim_host_func(struct sim_stream *s, void (*fn)(void *), void *data)
{
    struct sim_op *op = sim_op_new(SIM_OP_HOST);
    if (!op)
        return SIM_OUT_OF_MEMORY;
    pthread_once(&started, start_thread);
    op->host = fn;
    op->host_data = data;
    op->decide = host_decide;
    return sim_queue(s, op);
}
