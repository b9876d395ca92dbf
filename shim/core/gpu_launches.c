/* gpu_launches.c - see gpu_launches.h. Written by the job's threads (callbacks) and CUPTI's (records), read by CUPTI's
 * and the tender. */
#include "shim/core/gpu_launches.h"

#include <errno.h>

#include "shim/core/core.h"

#define NR_CALLS (1u << 16)      /* calls in flight: more than a launch queue holds */
#define NEAR_NS 10000000u        /* two tellings of one id that begin this close are one call */
#define FORGET_NS 60000000000ull /* a call that brought no kernel in this time failed, or was lost */
#define NR_CAPTURES 64           /* the latest ones: records of calls come a second late */

struct call {
    atomic_uint correlation; /* 0: free */
    atomic_bool answered;    /* what it launched has come, or nothing will */
    bool expects;            /* something must come: until then not all has been told */
    uint32_t tid;
    _Atomic uint64_t start_ns;
};

static struct call *calls;

/* From when to when something was captured; end UINT64_MAX: it still is. */
static struct capture {
    _Atomic uint64_t begin_ns, end_ns;
} captures[NR_CAPTURES];
static atomic_uint nr_captures;

int gpu_launches_init(void)
{
    calls = map_lazily(NR_CALLS * sizeof(*calls));
    return calls ? 0 : -ENOMEM;
}

void gpu_capture(bool begin, uint64_t at_ns)
{
    if (begin) {
        struct capture *c = &captures[atomic_fetch_add(&nr_captures, 1) % NR_CAPTURES];
        atomic_store(&c->end_ns, 0);
        atomic_store(&c->begin_ns, at_ns);
        atomic_store(&c->end_ns, UINT64_MAX);
        return;
    }
    for (unsigned i = 0; i < NR_CAPTURES; i++) {
        uint64_t open = UINT64_MAX;
        if (atomic_compare_exchange_strong(&captures[i].end_ns, &open, at_ns))
            return;
    }
}

static bool may_be_captured(uint64_t at_ns)
{
    unsigned n = atomic_load_explicit(&nr_captures, memory_order_relaxed);
    for (unsigned i = 0; i < n && i < NR_CAPTURES; i++)
        if (at_ns >= atomic_load(&captures[i].begin_ns) && at_ns < atomic_load(&captures[i].end_ns))
            return true;
    return false;
}

static struct call *find(uint32_t correlation)
{
    struct call *c = &calls[correlation & (NR_CALLS - 1)];
    return correlation && atomic_load_explicit(&c->correlation, memory_order_acquire) == correlation ? c : NULL;
}

void gpu_launch_began(uint32_t correlation, uint32_t tid, uint64_t start_ns, enum gpu_call_kind kind)
{
    struct call *c = find(correlation);
    if (c && start_ns - atomic_load_explicit(&c->start_ns, memory_order_relaxed) + NEAR_NS < 2 * NEAR_NS) {
        if (start_ns < atomic_load_explicit(&c->start_ns, memory_order_relaxed))
            atomic_store_explicit(&c->start_ns, start_ns, memory_order_relaxed);
        return; /* what has been answered stays so */
    }
    c = &calls[correlation & (NR_CALLS - 1)];
    bool expects = (kind == CALL_KERNEL || kind == CALL_GRAPH) && !may_be_captured(start_ns);
    atomic_store_explicit(&c->correlation, 0, memory_order_relaxed);
    c->tid = tid;
    atomic_store_explicit(&c->start_ns, start_ns, memory_order_relaxed);
    atomic_store_explicit(&c->answered, false, memory_order_relaxed);
    c->expects = expects;
    atomic_store_explicit(&c->correlation, correlation, memory_order_release);
}

void gpu_launch_failed(uint32_t correlation)
{
    struct call *c = find(correlation);
    if (c)
        atomic_store_explicit(&c->answered, true, memory_order_relaxed);
}

bool gpu_launch_answer(uint32_t correlation, bool may_be_many, struct gpu_launch *ret)
{
    struct call *c = find(correlation);
    if (!c)
        return false;
    bool before = atomic_exchange_explicit(&c->answered, true, memory_order_relaxed);
    if (before && !may_be_many)
        return false;
    *ret = (struct gpu_launch){c->tid, atomic_load_explicit(&c->start_ns, memory_order_relaxed)};
    return true;
}

uint64_t gpu_launches_open_ns(uint64_t now_ns, uint64_t until_ns)
{
    for (unsigned i = 0; i < NR_CALLS; i++) {
        struct call *c = &calls[i];
        if (!atomic_load_explicit(&c->correlation, memory_order_acquire) || !c->expects || atomic_load(&c->answered))
            continue;
        uint64_t start_ns = atomic_load(&c->start_ns);
        if (start_ns < now_ns && now_ns - start_ns > FORGET_NS)
            atomic_store(&c->correlation, 0);
        else if (start_ns < until_ns)
            until_ns = start_ns;
    }
    return until_ns;
}

void gpu_launches_forget(void)
{
    for (unsigned i = 0; i < NR_CALLS; i++)
        atomic_store_explicit(&calls[i].correlation, 0, memory_order_relaxed);
}
