/* mask.c - which events NCCL is asked for.
 *
 * The mask is one int of a whole libnccl; a process may hold two of those. It follows who listens: nothing is asked for
 * while no session does, and it can change at any time, so events come without their parents. It is written at each
 * init, as NCCL expects, and afterwards when what we want changes, not when somebody else has changed it: NCCL 2.31
 * lets its RAS client do so.
 *
 * Its address is good while a communicator lives: libnccl may be unmapped after the last one. The tender writes from
 * its own thread, so who takes an address away waits for the tender's one store (`users`). Only init and finalize take
 * the lock, never in a fork child. */
#include <sched.h>

#include "plugin/plugin.h"

#define NR_MASKS 8

static struct {
    _Atomic(int *) where; /* NULL: free */
    atomic_int users, version, written;
    int nr_comms; /* under the lock */
} masks[NR_MASKS];

static atomic_flag locked = ATOMIC_FLAG_INIT;

static void lock(void)
{
    while (atomic_flag_test_and_set_explicit(&locked, memory_order_acquire))
        sched_yield();
}

static void unlock(void)
{
    atomic_flag_clear_explicit(&locked, memory_order_release);
}

/* For what is listened to. */
static int wanted(int version)
{
    const struct nccl_sink *s = plugin.sink;
    int mask = chain_mask();
    if (!s)
        return mask;
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

static int slot_for(const int *where)
{
    int free_ = -1;
    for (int i = 0; i < NR_MASKS; i++) {
        int *there = atomic_load(&masks[i].where);
        if (there == where)
            return i;
        if (!there && free_ < 0)
            free_ = i;
    }
    return free_;
}

int mask_use(int *where, int version, bool lives)
{
    int now = wanted(version);
    if (!where)
        return -1;
    __atomic_store_n(where, now, __ATOMIC_RELAXED);
    if (!lives)
        return -1;
    lock();
    int i = slot_for(where);
    if (i >= 0) {
        masks[i].nr_comms++;
        atomic_store(&masks[i].version, version);
        atomic_store(&masks[i].written, now);
        atomic_store(&masks[i].where, where);
    }
    unlock();
    return i;
}

void mask_leave(int i)
{
    if (i < 0)
        return;
    lock();
    if (--masks[i].nr_comms == 0) {
        atomic_store(&masks[i].where, NULL);
        while (atomic_load(&masks[i].users))
            sched_yield();
    }
    unlock();
}

void masks_update(void)
{
    for (int i = 0; i < NR_MASKS; i++) {
        atomic_fetch_add(&masks[i].users, 1);
        int *where = atomic_load(&masks[i].where);
        int now = where ? wanted(atomic_load(&masks[i].version)) : 0;
        if (where && atomic_exchange(&masks[i].written, now) != now)
            __atomic_store_n(where, now, __ATOMIC_RELAXED);
        atomic_fetch_sub(&masks[i].users, 1);
    }
}
