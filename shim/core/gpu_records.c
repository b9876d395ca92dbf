/* gpu_records.c - see gpu_records.h. CUPTI stamps with CLOCK_REALTIME; events carry CLOCK_MONOTONIC: the distance is
 * measured at each buffer's records, so that a clock that is being set moves no more than one buffer. */
#include "shim/core/gpu_records.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

#include "shim/core/core.h"
#include "shim/core/cupti_abi.h"
#include "shim/core/cupti_calls.h"
#include "shim/core/gpu_batch.h"
#include "shim/core/gpu_launches.h"
#include "shim/core/name.h"
#include "shim/core/nccl_open.h"

#define NR_WAITING (1u << 14) /* of what ran, whose call is not known yet */

/* What ran, told before its call was. */
static struct waiting {
    uint32_t correlation;
    enum { RAN_KERNEL, RAN_COPY, RAN_SET } what;
    bool is_nccls;
    bool waited; /* through one gpu_records_settle(): its call came in no buffer of that round */
    union {
        struct tr_kernel kernel;
        struct tr_gpu_copy copy;
        struct tr_gpu_set set;
    };
} * waiting;
static unsigned nr_waiting;
static atomic_flag waiting_taken = ATOMIC_FLAG_INIT; /* guards the two above; never taken by a thread of the job */
static _Atomic uint64_t devices, untimed, told;

int gpu_records_init(void)
{
    waiting = map_lazily(NR_WAITING * sizeof(*waiting));
    return waiting ? gpu_launches_init() : -ENOMEM;
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
    enum gpu_call_kind kind = cupti_call_kind(api->kind == CUPTI_RUNTIME, api->cbid);
    if (kind == CALL_NONE)
        return; /* all calls are told where single ones cannot be asked for */
    gpu_launch_began(api->correlation, api->thread, monotonic(api->start), kind);
    if (api->result)
        gpu_launch_failed(api->correlation);
}

static void emit(struct waiting *w, const struct gpu_launch *by)
{
    struct tr_kernel *k = &w->kernel;
    struct tr_gpu_copy *c = &w->copy;
    struct tr_gpu_set *s = &w->set;
    switch (w->what) {
    case RAN_KERNEL:
        name_send(k->name, process.pid);
        k->tid = by->tid;
        k->correlation = w->correlation;
        k->queued_ns = by->start_ns;
        if (w->is_nccls && by->start_ns)
            nccl_open_ran(by->tid, by->start_ns);
        gpu_batch_kernel(k);
        break;
    case RAN_COPY:
        EMIT(gpu_copy, by->tid, .device = c->device, .stream = c->stream, .correlation = w->correlation,
             .kind = c->kind, .src = c->src, .dst = c->dst, .size_bytes = c->size_bytes, .queued_ns = by->start_ns,
             .start_ns = c->start_ns, .dur_ns = c->dur_ns);
        break;
    case RAN_SET:
        EMIT(gpu_set, by->tid, .device = s->device, .stream = s->stream, .correlation = w->correlation,
             .size_bytes = s->size_bytes, .queued_ns = by->start_ns, .start_ns = s->start_ns, .dur_ns = s->dur_ns);
        break;
    }
}

static uint64_t begin_of(const struct waiting *w)
{
    return w->what == RAN_KERNEL ? w->kernel.start_ns : w->what == RAN_COPY ? w->copy.start_ns : w->set.start_ns;
}

static const struct gpu_launch nobody;

/* Sends it if its call is known. A copy's call may be one that makes several, a graph's makes many. */
static bool emit_joined(struct waiting *w)
{
    struct gpu_launch by;
    if (!gpu_launch_answer(w->correlation, w->what != RAN_KERNEL || w->kernel.graph != 0, &by))
        return false;
    emit(w, &by);
    return true;
}

/* A call's record follows that of its kernel, soon: what waits is mostly answered long before it is settled. */
static void make_room(void)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < nr_waiting; i++)
        if (!emit_joined(&waiting[i]))
            waiting[kept++] = waiting[i];
    nr_waiting = kept;
}

static void emit_or_wait(struct waiting *w)
{
    if (emit_joined(w))
        return;
    bool kept = false;
    take_waiting();
    if (nr_waiting == NR_WAITING)
        make_room();
    if (nr_waiting < NR_WAITING && w->correlation) {
        waiting[nr_waiting++] = *w;
        kept = true;
    }
    release_waiting();
    if (!kept)
        emit(w, &nobody);
}

static bool has_times(uint64_t start, uint64_t end, uint32_t device)
{
    if (device < 64)
        atomic_fetch_or_explicit(&devices, 1ull << device, memory_order_relaxed);
    if (start && end >= start) {
        atomic_fetch_add_explicit(&told, 1, memory_order_relaxed);
        return true;
    }
    atomic_fetch_add(&untimed, 1);
    return false;
}

/* ncclDevKernel_..., ncclKernel_..., ncclSymkDevKernel_...; mangled or not. */
static bool is_nccls(const char *name)
{
    if (name[0] == '_' && name[1] == 'Z')
        for (name += 2; *name >= '0' && *name <= '9'; name++)
            ;
    return strncmp(name, "nccl", 4) == 0;
}

static void kernel(const struct cupti_kernel *r)
{
    struct gpu_launch by;
    if (!has_times(r->start, r->end, r->device)) {
        (void)gpu_launch_answer(r->correlation, true, &by);
        return;
    }
    const char *name = r->name ? r->name : "";
    struct waiting w = {.correlation = r->correlation,
                        .what = RAN_KERNEL,
                        .is_nccls = r->graph == 0 && is_nccls(name),
                        .kernel = {.device = r->device,
                                   .stream = r->stream,
                                   .name = name_of(TR_name_kind_kernel, name, strlen(name)),
                                   .blocks = (uint32_t)r->grid[0] * (uint32_t)r->grid[1] * (uint32_t)r->grid[2],
                                   .graph = r->graph,
                                   .start_ns = monotonic(r->start),
                                   .dur_ns = r->end - r->start}};
    emit_or_wait(&w);
}

static void graph_run(const struct cupti_graph_run *r)
{
    static const char name[] = "CUDA graph";
    if (!has_times(r->start, r->end, r->device))
        return;
    struct waiting w = {.correlation = r->correlation,
                        .what = RAN_KERNEL,
                        .kernel = {.device = r->device,
                                   .stream = r->stream,
                                   .name = name_of(TR_name_kind_graph, name, sizeof(name) - 1),
                                   .graph = r->graph,
                                   .start_ns = monotonic(r->start),
                                   .dur_ns = r->end - r->start}};
    emit_or_wait(&w);
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
    struct waiting w = {.correlation = correlation,
                        .what = RAN_COPY,
                        .copy = {.device = r->device,
                                 .stream = r->stream,
                                 .kind = copy_kind(r->copy_kind),
                                 .src = memory_kind(r->src),
                                 .dst = memory_kind(r->dst),
                                 .size_bytes = r->bytes,
                                 .start_ns = monotonic(r->start),
                                 .dur_ns = r->end - r->start}};
    emit_or_wait(&w);
}

static void set(const struct cupti_memset *r)
{
    if (!has_times(r->start, r->end, r->device))
        return;
    struct waiting w = {.correlation = r->correlation,
                        .what = RAN_SET,
                        .set = {.device = r->device,
                                .stream = r->stream,
                                .size_bytes = r->bytes,
                                .start_ns = monotonic(r->start),
                                .dur_ns = r->end - r->start}};
    emit_or_wait(&w);
}

void gpu_record(const void *record)
{
    switch (*(const uint32_t *)record) {
    case CUPTI_CONCURRENT_KERNEL:
        kernel(record);
        break;
    case CUPTI_GRAPH_TRACE:
        graph_run(record);
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

/* Sends what waits and whose call has come by now, or will not come. Returns the earliest start of what goes on
 * waiting, at most until_ns. */
static uint64_t settle_waiting(uint64_t until_ns, bool is_last)
{
    unsigned kept = 0;
    take_waiting();
    for (unsigned i = 0; i < nr_waiting; i++) {
        struct waiting *w = &waiting[i];
        if (emit_joined(w))
            continue;
        if (w->waited || is_last) {
            emit(w, &nobody);
            continue;
        }
        w->waited = true;
        until_ns = begin_of(w) < until_ns ? begin_of(w) : until_ns;
        waiting[kept++] = *w;
    }
    nr_waiting = kept;
    release_waiting();
    return until_ns;
}

uint64_t gpu_records_settle(uint64_t now_ns, bool is_last)
{
    uint64_t until_ns = settle_waiting(now_ns, is_last);
    gpu_batch_flush();
    return gpu_launches_open_ns(now_ns, until_ns);
}

uint64_t gpu_records_devices(void)
{
    return atomic_load(&devices);
}

uint64_t gpu_records_untimed(void)
{
    return atomic_load(&untimed);
}

uint64_t gpu_records_told(void)
{
    return atomic_load(&told);
}
