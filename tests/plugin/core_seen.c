/* core_seen.c - see core_seen.h. Links in place of plugin/core.c. */
#include "tests/plugin/core_seen.h"

#include <string.h>

#include "plugin/plugin.h"

struct seen seen;
int seen_calls_on = 1, seen_proxies_on = 1, seen_channels_on = 1;
bool seen_nothing;
static _Atomic(const struct nccl_front *) front;

#define KEEP(what, told)                                                                                               \
    do {                                                                                                               \
        unsigned i = atomic_fetch_add(&seen.nr_##what, 1);                                                             \
        if (i < NR_SEEN)                                                                                               \
            seen.what[i] = *(told);                                                                                    \
    } while (0)

static void see_front(const struct nccl_front *f)
{
    atomic_store(&front, f);
}

static uint32_t see_comm(const struct nccl_told_comm *told)
{
    unsigned i = atomic_fetch_add(&seen.nr_comms, 1);
    if (i < NR_SEEN)
        seen.comms[i] = *told;
    return i + 1;
}

static void see_comm_is(uint32_t nr, const struct nccl_told_comm *told)
{
    KEEP(is, told);
}

static void see_gone(uint32_t nr)
{
    atomic_fetch_add(&seen.nr_gone, 1);
}

static void see_call(const struct nccl_told_call *told)
{
    KEEP(calls, told);
}

static void see_proxy(const struct tr_nccl_proxy *told)
{
    KEEP(proxies, told);
}

static void see_run(const struct tr_nccl_channel_run *told)
{
    KEEP(runs, told);
}

static void see_dropped(uint32_t n)
{
    atomic_fetch_add(&seen.nr_dropped, n);
}

const struct nccl_sink *core_find(void)
{
    static const struct nccl_sink sink = {
        .version = NCCL_SINK_VERSION,
        .calls = &seen_calls_on,
        .proxies = &seen_proxies_on,
        .channels = &seen_channels_on,
        .front = see_front,
        .comm = see_comm,
        .comm_is = see_comm_is,
        .comm_gone = see_gone,
        .call = see_call,
        .proxy = see_proxy,
        .channel_run = see_run,
        .dropped = see_dropped,
    };
    return seen_nothing ? NULL : &sink;
}

void seen_forget(void)
{
    seen_tend(now_ns() + 3600 * SECOND, true);
    atomic_store(&seen.nr_calls, 0);
    atomic_store(&seen.nr_proxies, 0);
    atomic_store(&seen.nr_runs, 0);
    atomic_store(&seen.nr_is, 0);
    atomic_store(&seen.nr_gone, 0);
    atomic_store(&seen.nr_dropped, 0);
}

void seen_tend(uint64_t now, bool last)
{
    const struct nccl_front *f = atomic_load(&front);
    if (f)
        f->tend(now, last);
}
