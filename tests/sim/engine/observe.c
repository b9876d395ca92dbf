/* observe.c - calls of the public API as an observer (libcupti) sees them: the outermost one on each thread, with a
 * correlation id that everything it queues carries. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "tests/sim/engine/engine.h"

static _Atomic(const struct sim_observer *) observer;
static _Atomic uint32_t last_correlation;
static __thread struct sim_call *current;

void sim_observe(const struct sim_observer *o)
{
    atomic_store(&observer, o);
}

const struct sim_observer *sim_observer(void)
{
    return atomic_load_explicit(&observer, memory_order_acquire);
}

struct sim_call *sim_call_current(void)
{
    return current;
}

void sim_call_enter(struct sim_call *call)
{
    call->nested = current != NULL; /* cudart inside another call of ours, or an observer's own */
    if (call->nested)
        return;
    current = call;
    call->correlation = atomic_fetch_add(&last_correlation, 1) + 1;
    const struct sim_observer *o = sim_observer();
    if (o) {
        call->start = sim_now();
        o->enter(call);
    }
}

int sim_call_exit(struct sim_call *call, int result)
{
    if (call->nested)
        return result;
    const struct sim_observer *o = sim_observer();
    call->result = result;
    if (o) {
        call->end = sim_now();
        if (!call->start)
            call->start = call->end;
        o->exit(call);
    }
    current = NULL;
    return result;
}

void sim_say_missing(const char *name)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static const char *said[256];
    static int nr_said;
    pthread_mutex_lock(&lock);
    int i = 0;
    while (i < nr_said && strcmp(said[i], name) != 0)
        i++;
    if (i == nr_said && nr_said < 256) {
        said[nr_said++] = name;
        fprintf(stderr, "sim: not simulated: %s\n", name);
    }
    pthread_mutex_unlock(&lock);
}
