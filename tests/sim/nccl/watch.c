/* watch.c - NCCL 2.31 and later: a thread of a communicator watches the channels of its kernels, so that their events
 * do not come from the progress thread. Made when there is something to watch. */
#include "tests/sim/nccl/proxy_inside.h"

static struct proxy_item *first_watched(struct proxy *p)
{
    pthread_mutex_lock(&p->lock);
    struct proxy_item *i = p->first_watched;
    pthread_mutex_unlock(&p->lock);
    return i;
}

static void drop_first(struct proxy *p)
{
    pthread_mutex_lock(&p->lock);
    struct proxy_item *i = p->first_watched;
    p->first_watched = i->next_watched;
    if (!p->first_watched)
        p->end_watched = &p->first_watched;
    pthread_mutex_unlock(&p->lock);
    proxy_unref(i);
}

/* Sleeps until then, or until something was rung for, or the communicator goes. */
static void sleep_until(struct ncclComm *c, uint32_t bell, uint64_t due)
{
    uint64_t now = sim_now(), longest = 10000000;
    if (due > now)
        shared_wait(&c->shared, c->rank, bell, due - now < longest ? due - now : longest);
}

/* Waits for *time to be known and past; false: the communicator ends before. */
static bool comes(struct ncclComm *c, const uint64_t *time)
{
    for (;;) {
        uint32_t bell = __atomic_load_n(&c->shared.ranks[c->rank].bell, __ATOMIC_SEQ_CST);
        uint64_t due = __atomic_load_n(time, __ATOMIC_ACQUIRE);
        if (due <= sim_now())
            return true;
        if (__atomic_load_n(&c->stopping, __ATOMIC_ACQUIRE))
            return false;
        sleep_until(c, bell, due);
    }
}

static bool appended(struct ncclComm *c, const struct proxy_item *i)
{
    while (__atomic_load_n(&i->phase, __ATOMIC_ACQUIRE) == QUEUED) {
        if (__atomic_load_n(&c->stopping, __ATOMIC_ACQUIRE))
            return false;
        sim_sleep_until(sim_now() + 50000); /* the progress thread is about to */
    }
    return true;
}

static void *run_watch(void *arg)
{
    struct ncclComm *c = arg;
    for (;;) {
        uint32_t bell = __atomic_load_n(&c->shared.ranks[c->rank].bell, __ATOMIC_SEQ_CST);
        struct proxy_item *i = first_watched(c->proxy);
        if (!i && __atomic_load_n(&c->stopping, __ATOMIC_ACQUIRE))
            return NULL;
        if (!i) {
            sleep_until(c, bell, SIM_UNKNOWN);
            continue;
        }
        if (appended(c, i) && comes(c, &i->start)) {
            event_runs_start(i, i->start);
            if (comes(c, &i->end))
                event_runs_stop(i, i->end);
        }
        drop_first(c->proxy);
    }
}

void watch(struct proxy_item *i)
{
    struct proxy *p = i->comm->proxy;
    pthread_mutex_lock(&p->lock);
    if (!p->watching)
        p->watching = pthread_create(&p->watcher, NULL, run_watch, i->comm) == 0;
    i->watched = p->watching;
    if (i->watched) {
        *p->end_watched = proxy_ref(i);
        p->end_watched = &i->next_watched;
    }
    pthread_mutex_unlock(&p->lock);
}

/* In the progress thread, when it ends. */
void watch_end(struct ncclComm *c)
{
    if (c->proxy->watching)
        pthread_join(c->proxy->watcher, NULL);
}
