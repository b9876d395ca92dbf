/* gpu_records.c - see gpu_records.h. CUPTI stamps with CLOCK_REALTIME; events carry CLOCK_MONOTONIC: the distance is
 * measured at each buffer's records, so that a clock that is being set moves no more than one buffer. */
#include "shim/core/gpu_records.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

#include "shim/core/core.h"
#include "shim/core/cupti_abi.h"
#include "shim/core/name.h"

#define NR_CALLS (1u << 16)      /* calls in flight: more than a launch queue holds */
#define NR_WAITING (1u << 14)    /* kernels whose call is not known yet */
#define NEAR_NS 10000000u        /* two records of one id that begin this close are one call */
#define FORGET_NS 60000000000ull /* a call that brought no kernel in this time failed, or was lost */

struct launch {
    atomic_uint correlation; /* 0: free */
    atomic_bool answered;    /* a kernel has come for it */
    uint32_t tid;
    _Atomic uint64_t start_ns;
};

static struct launch *launches;
static struct waiting {
    struct tr_kernel kernel;
    bool waited; /* through one gpu_records_settle(): its call came in no buffer of that round */
} * waiting;
static unsigned nr_waiting;
static atomic_flag waiting_taken = ATOMIC_FLAG_INIT; /* guards the two above; never taken by a thread of the job */
static _Atomic uint64_t devices, untimed;

int gpu_records_init(void)
{
    launches = map_lazily(NR_CALLS * sizeof(*launches));
    waiting = map_lazily(NR_WAITING * sizeof(*waiting));
    return launches && waiting ? 0 : -ENOMEM;
}

static int64_t realtime_ahead_ns(void)
{
    struct timespec real, mono;
    clock_gettime(CLOCK_MONOTONIC, &mono);
    clock_gettime(CLOCK_REALTIME, &real);
    return (real.tv_sec - mono.tv_sec) * 1000000000ll + (real.tv_nsec - mono.tv_nsec);
}

static uint64_t monotonic(uint64_t realtime_ns)
{
    static _Atomic int64_t ahead_ns;
    static _Atomic uint64_t measured_ns;
    uint64_t now = now_ns();
    if (now - atomic_load_explicit(&measured_ns, memory_order_relaxed) > 100000000u) {
        atomic_store(&ahead_ns, realtime_ahead_ns());
        atomic_store(&measured_ns, now);
    }
    return realtime_ns - (uint64_t)atomic_load_explicit(&ahead_ns, memory_order_relaxed);
}

static void take_waiting(void)
{
    while (atomic_flag_test_and_set_explicit(&waiting_taken, memory_order_acquire))
        sched_yield();
}

static void release_waiting(void)
{
    atomic_flag_clear_explicit(&waiting_taken, memory_order_release);
}

static void note_launch(const struct cupti_api *api)
{
    struct launch *l = &launches[api->correlation & (NR_CALLS - 1)];
    uint64_t start_ns = monotonic(api->start);
    /* The driver's call inside the runtime's may be told as well, under the same id: the outer one counts, and what has
     * been answered stays so. */
    if (atomic_load_explicit(&l->correlation, memory_order_acquire) == api->correlation &&
        start_ns - atomic_load_explicit(&l->start_ns, memory_order_relaxed) + NEAR_NS < 2 * NEAR_NS) {
        if (start_ns < atomic_load_explicit(&l->start_ns, memory_order_relaxed))
            atomic_store_explicit(&l->start_ns, start_ns, memory_order_relaxed);
        return;
    }
    l->tid = api->thread;
    atomic_store_explicit(&l->start_ns, start_ns, memory_order_relaxed);
    atomic_store_explicit(&l->answered, false, memory_order_relaxed);
    atomic_store_explicit(&l->correlation, api->correlation, memory_order_release);
}

/* The call behind a correlation id, which from now on counts as answered. A call launches one kernel, unless it
 * launches a graph: one that has been answered before belongs to an earlier use of the id. */
static struct launch *answer(uint32_t correlation, bool may_be_many)
{
    struct launch *l = &launches[correlation & (NR_CALLS - 1)];
    if (!correlation || atomic_load_explicit(&l->correlation, memory_order_acquire) != correlation)
        return NULL;
    bool before = atomic_exchange_explicit(&l->answered, true, memory_order_relaxed);
    return before && !may_be_many ? NULL : l;
}

static void emit_kernel(const struct tr_kernel *k)
{
    name_send(k->name, process.pid);
    EMIT(kernel, k->tid, .device = k->device, .stream = k->stream, .name = k->name, .correlation = k->correlation,
         .blocks = k->blocks, .graph = k->graph, .queued_ns = k->queued_ns, .start_ns = k->start_ns,
         .dur_ns = k->dur_ns);
}

static bool join_call(struct tr_kernel *k)
{
    const struct launch *l = answer(k->correlation, k->graph != 0);
    if (!l)
        return false;
    k->tid = l->tid;
    k->queued_ns = atomic_load_explicit(&l->start_ns, memory_order_relaxed);
    return true;
}

static bool has_times(uint64_t start, uint64_t end, uint32_t device)
{
    if (device < 64)
        atomic_fetch_or_explicit(&devices, 1ull << device, memory_order_relaxed);
    if (start && end >= start)
        return true;
    atomic_fetch_add(&untimed, 1);
    return false;
}

static void kernel(const struct cupti_kernel *r)
{
    if (!has_times(r->start, r->end, r->device)) {
        (void)answer(r->correlation, true);
        return;
    }
    const char *name = r->name ? r->name : "";
    struct tr_kernel k = {.device = r->device,
                          .stream = r->stream,
                          .name = name_of(TR_name_kind_kernel, name, strlen(name)),
                          .correlation = r->correlation,
                          .blocks = (uint32_t)r->grid[0] * (uint32_t)r->grid[1] * (uint32_t)r->grid[2],
                          .graph = r->graph,
                          .start_ns = monotonic(r->start),
                          .dur_ns = r->end - r->start};
    if (!join_call(&k)) {
        bool kept = false;
        take_waiting();
        if (nr_waiting < NR_WAITING) {
            waiting[nr_waiting++] = (struct waiting){.kernel = k};
            kept = true;
        }
        release_waiting();
        if (kept)
            return;
    }
    emit_kernel(&k);
}

static uint8_t copy_kind(uint8_t kind)
{
    switch (kind) {
    case CUPTI_HTOD:
    case CUPTI_HTOA:
        return TR_copy_kind_HtoD;
    case CUPTI_DTOH:
    case CUPTI_ATOH:
        return TR_copy_kind_DtoH;
    case CUPTI_HTOH:
        return TR_copy_kind_HtoH;
    case CUPTI_PTOP:
        return TR_copy_kind_PtoP;
    default:
        return TR_copy_kind_DtoD;
    }
}

static uint8_t memory_kind(uint8_t kind)
{
    static const uint8_t kinds[] = {[CUPTI_PAGEABLE] = TR_memory_kind_pageable,
                                    [CUPTI_PINNED] = TR_memory_kind_pinned,
                                    [CUPTI_ON_DEVICE] = TR_memory_kind_device,
                                    [CUPTI_ARRAY] = TR_memory_kind_array,
                                    [CUPTI_MANAGED] = TR_memory_kind_managed};
    return kind < sizeof(kinds) ? kinds[kind] : TR_memory_kind_unknown;
}

static void copy(const struct cupti_memcpy *r, uint32_t correlation)
{
    if (!has_times(r->start, r->end, r->device))
        return;
    const struct launch *l = answer(correlation, true);
    EMIT(gpu_copy, l ? l->tid : 0, .device = r->device, .stream = r->stream, .correlation = correlation,
         .kind = copy_kind(r->copy_kind), .src = memory_kind(r->src), .dst = memory_kind(r->dst),
         .size_bytes = r->bytes, .queued_ns = l ? atomic_load(&l->start_ns) : 0, .start_ns = monotonic(r->start),
         .dur_ns = r->end - r->start);
}

static void set(const struct cupti_memset *r)
{
    if (!has_times(r->start, r->end, r->device))
        return;
    const struct launch *l = answer(r->correlation, true);
    EMIT(gpu_set, l ? l->tid : 0, .device = r->device, .stream = r->stream, .correlation = r->correlation,
         .size_bytes = r->bytes, .queued_ns = l ? atomic_load(&l->start_ns) : 0, .start_ns = monotonic(r->start),
         .dur_ns = r->end - r->start);
}

void gpu_record(const void *record)
{
    switch (*(const uint32_t *)record) {
    case CUPTI_CONCURRENT_KERNEL:
        kernel(record);
        break;
    case CUPTI_MEMCPY:
        copy(record, ((const struct cupti_memcpy *)record)->correlation);
        break;
    case CUPTI_MEMCPY2: /* the same up to stream */
        copy(record, ((const struct cupti_memcpy_peer *)record)->correlation);
        break;
    case CUPTI_MEMSET:
        set(record);
        break;
    case CUPTI_DRIVER:
    case CUPTI_RUNTIME:
        note_launch(record);
        break;
    }
}

/* Sends the waiting kernels whose call has come by now, or will not come. Returns the earliest start of those that go
 * on waiting, at most until_ns. */
static uint64_t settle_waiting(uint64_t until_ns, bool is_last)
{
    unsigned kept = 0;
    take_waiting();
    for (unsigned i = 0; i < nr_waiting; i++) {
        struct waiting *w = &waiting[i];
        if (join_call(&w->kernel) || w->waited || is_last || !w->kernel.correlation) {
            emit_kernel(&w->kernel);
            continue;
        }
        w->waited = true;
        until_ns = w->kernel.start_ns < until_ns ? w->kernel.start_ns : until_ns;
        waiting[kept++] = *w;
    }
    nr_waiting = kept;
    release_waiting();
    return until_ns;
}

uint64_t gpu_records_settle(uint64_t now_ns, bool is_last)
{
    uint64_t until_ns = settle_waiting(now_ns, is_last);

    for (unsigned i = 0; i < NR_CALLS; i++) {
        struct launch *l = &launches[i];
        if (!atomic_load_explicit(&l->correlation, memory_order_acquire) || atomic_load(&l->answered))
            continue;
        uint64_t start_ns = atomic_load(&l->start_ns);
        if (start_ns < now_ns && now_ns - start_ns > FORGET_NS)
            atomic_store(&l->correlation, 0);
        else if (start_ns < until_ns)
            until_ns = start_ns;
    }
    return until_ns;
}

uint64_t gpu_records_devices(void)
{
    return atomic_load(&devices);
}

uint64_t gpu_records_untimed(void)
{
    return atomic_load(&untimed);
}
