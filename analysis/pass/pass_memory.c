/* pass_memory.c - device memory: how much each rank held, how fragmented it was at its peak, who held it, and why
 * allocations failed.
 *
 * Segments come from hooks on the device's allocation calls, blocks from the framework's own account (heap.h). Without
 * blocks there is R only, and the report says so. A failed allocation is judged when the framework gives up, by what
 * it says then; a failure that it could free memory for is a retry.
 *
 * "At peak" is when most was reserved, and while it was, when most of it was in use: what is free then is waste. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/model/facts.h"
#include "analysis/model/job.h"
#include "analysis/model/memory.h"
#include "analysis/pass/memory_sites.h"
#include "analysis/pass/pass.h"
#include "analysis/pass/thresholds.h"
#include "analysis/report/report.h"

#define SMALL_POOL_SEGMENT (2ull << 20)
#define SMALL_POOL_BLOCK (1ull << 20)

struct pass_memory {
    struct job *job;
    struct memory *latest; /* found last; NULL */
};

static void *new (const struct options *options, struct job *job, struct report *report)
{
    struct pass_memory *self = calloc(1, sizeof(*self));
    if (self)
        self->job = job;
    return self;
}

static struct memory *memory_get(struct pass_memory *self, uint32_t device)
{
    const struct process *process = self->job->process;
    struct memory *memory = self->latest, **end = &self->job->facts->memory;
    if (memory && memory->process == process && memory->device == device)
        return memory;
    for (; *end; end = &(*end)->next)
        if ((*end)->process == process && (*end)->device == device)
            return self->latest = *end;
    memory = calloc(1, sizeof(*memory));
    if (!memory)
        return NULL;
    *memory = (struct memory){.process = process, .device = device};
    return self->latest = *end = memory;
}

/* ---- the peak ----------------------------------------------------------------------------- */

/* The largest hole is searched for only when a peak has passed: up to it every block would be a new one. */
static void settle_peak(struct memory *memory)
{
    if (!memory->hole_pending)
        return;
    memory->largest_hole = heap_largest_hole(&memory->heap);
    memory->hole_pending = false;
}

static void see_peak(struct memory *memory)
{
    const struct heap *heap = &memory->heap;
    uint64_t taken = heap->reserved + heap->others;
    if (taken > memory->taken_peak) {
        memory->taken_peak = taken;
        memory_sites_peak(memory);
    }
    if (heap->reserved < memory->reserved_peak ||
        (heap->reserved == memory->reserved_peak && heap->allocated <= memory->allocated_peak))
        return;
    memory->reserved_peak = heap->reserved;
    memory->allocated_peak = heap->allocated;
    memory->split_free = heap->split_free;
    memory->hole_pending = true;
}

/* ---- segments ----------------------------------------------------------------------------- */

/* Libraries whose allocations are their caches'. */
static bool is_framework(const struct name *owner)
{
    static const char *const parts[] = {"libc10", "libtorch", "libtensorflow", "jaxlib", "xla_extension", "libpaddle"};
    for (size_t i = 0; owner && i < sizeof(parts) / sizeof(*parts); i++)
        if (strstr(owner->text, parts[i]))
            return true;
    return !owner;
}

static struct memory_owner *owner_get(struct memory *memory, const struct name *name)
{
    for (size_t i = 0; i < memory->nr_owners; i++)
        if (memory->owners[i].name == name)
            return &memory->owners[i];
    struct memory_owner *owners = realloc(memory->owners, (memory->nr_owners + 1) * sizeof(*owners));
    if (!owners)
        return NULL;
    memory->owners = owners;
    owners[memory->nr_owners] = (struct memory_owner){.name = name};
    return &owners[memory->nr_owners++];
}

static int see_alloc(struct memory *memory, const struct tr_segment *segment, const struct name *name)
{
    const struct callsite *site = callsite_find(memory->process, segment->site);
    struct memory_owner *owner = owner_get(memory, name);
    if (!owner)
        return -ENOMEM;
    owner->live += segment->size_bytes;
    owner->peak = owner->live > owner->peak ? owner->live : owner->peak;
    settle_peak(memory);
    int rc = heap_take(&memory->heap, segment->address, segment->size_bytes, name, is_framework(name));
    heap_mark(&memory->heap, segment->address, site);
    rc = rc ? rc : memory_sites_take(memory, site, segment->size_bytes);
    see_peak(memory);
    return rc;
}

static void see_free(struct memory *memory, const struct tr_segment *segment)
{
    struct heap_segment gone;
    settle_peak(memory);
    if (!heap_give(&memory->heap, segment->address, &gone))
        return;
    memory_sites_give(memory, gone.site, gone.size);
    struct memory_owner *owner = owner_get(memory, gone.owner);
    if (owner)
        owner->live -= gone.size < owner->live ? gone.size : owner->live;
}

/* Memory of this process only, and on a device. */
static bool is_own_memory(const struct tr_segment *segment)
{
    return segment->kind != TR_segment_kind_pinned && segment->kind != TR_segment_kind_ipc;
}

static bool is_steady(const struct process *process, uint64_t at_ns)
{
    const struct rank *rank = process->role == ROLE_trainer ? process->rank : NULL;
    return rank && at_ns >= rank->steady_ns && at_ns < rank->end_ns;
}

/* A failure, the frees it leads to and the call that then succeeds are one retry. */
static void see_retry(struct memory *memory, const struct tr_segment *segment)
{
    if (segment->act == TR_segment_act_failed) {
        memory->failed++;
        memory->failed_ns += segment->dur_ns;
        return;
    }
    if (!memory->failed)
        return;
    memory->failed_ns += segment->dur_ns;
    if (segment->act != TR_segment_act_alloc)
        return;
    if (is_steady(memory->process, segment->start_ns)) {
        memory->retries++;
        memory->retries_ns += memory->failed_ns;
    }
    memory->failed = memory->failed_ns = 0;
}

static int see_segment(struct pass_memory *self, const struct tr_segment *segment)
{
    if (!is_own_memory(segment))
        return 0;
    struct memory *memory = memory_get(self, segment->device);
    if (!memory)
        return -ENOMEM;
    see_retry(memory, segment);
    if (segment->act == TR_segment_act_alloc)
        return see_alloc(memory, segment, self->job->name);
    if (segment->act == TR_segment_act_free)
        see_free(memory, segment);
    return 0;
}

/* ---- blocks and failures ------------------------------------------------------------------ */

static int see_block(struct pass_memory *self, const struct tr_block *block)
{
    struct memory *memory = memory_get(self, block->device);
    if (!memory)
        return -ENOMEM;
    memory->blocks = true;
    if (block->act == TR_segment_act_alloc) {
        int rc = heap_hand_out(&memory->heap, block->address, block->size_bytes);
        see_peak(memory);
        return rc;
    }
    settle_peak(memory);
    heap_take_back(&memory->heap, block->address);
    return 0;
}

static int see_oom(struct pass_memory *self, const struct event *event)
{
    const struct tr_oom *oom = &event->u.oom;
    struct memory *memory = memory_get(self, oom->device);
    if (!memory)
        return -ENOMEM;
    memory->failed = memory->failed_ns = 0;
    if (memory->nr_failures == MEMORY_FAILURES_MAX)
        return 0;
    struct memory_failure *failures = realloc(memory->failures, (memory->nr_failures + 1) * sizeof(*failures));
    if (!failures)
        return -ENOMEM;
    memory->failures = failures;
    struct memory_failure *failure = &failures[memory->nr_failures++];
    *failure = (struct memory_failure){.at_ns = event->ts_ns,
                                       .bytes = oom->size_bytes,
                                       .free = oom->free_bytes,
                                       .reserved = oom->reserved_bytes,
                                       .allocated = oom->allocated_bytes};
    uint64_t cached = oom->reserved_bytes > oom->allocated_bytes ? oom->reserved_bytes - oom->allocated_bytes : 0;
    if (memory->blocks && memory->heap.nr_segments) {
        /* Small and large blocks never share a segment. */
        uint64_t pool = heap_pool_free(&memory->heap, SMALL_POOL_SEGMENT, oom->size_bytes <= SMALL_POOL_BLOCK);
        cached = pool < cached ? pool : cached;
        failure->largest_hole = heap_largest_hole(&memory->heap);
    }
    failure->cached_free = cached;
    failure->verdict = memory_judge(oom->size_bytes, oom->free_bytes, cached, oom->reserved_bytes, &failure->short_by);
    return 0;
}

static int event(void *arg, const struct event *event)
{
    switch (event->kind) {
    case EV_segment:
        return see_segment(arg, &event->u.segment);
    case EV_block:
        return see_block(arg, &event->u.block);
    case EV_oom:
        return see_oom(arg, event);
    default:
        return 0;
    }
}

/* ---- telling ------------------------------------------------------------------------------ */

static const char *owner_name(const struct memory_owner *owner)
{
    const char *text = owner->name ? owner->name->text : "unknown", *slash = strrchr(text, '/');
    return slash && slash[1] ? slash + 1 : text;
}

static int by_peak(const void *a, const void *b)
{
    const struct report_owner *x = a, *y = b;
    if (x->peak != y->peak)
        return x->peak < y->peak ? 1 : -1;
    return strcmp(x->name, y->name);
}

static int64_t known(uint64_t value, bool is_known)
{
    return is_known ? (int64_t)value : TR_UNKNOWN;
}

static int tell(struct report *report, const struct memory *memory)
{
    const struct process *process = memory->process;
    const struct gpu_info *gpu = process_gpu(process, memory->device);
    struct report_owner *owners = calloc(memory->nr_owners + 1, sizeof(*owners));
    struct report_failure *failures = calloc(memory->nr_failures + 1, sizeof(*failures));
    struct report_site *sites = NULL;
    size_t nr_sites = 0;
    bool blocks = memory->blocks && memory->reserved_peak;
    int rc = owners && failures ? memory_sites_tell(memory, &sites, &nr_sites) : -ENOMEM;
    for (size_t i = 0; i < memory->nr_owners && !rc; i++)
        owners[i] = (struct report_owner){owner_name(&memory->owners[i]), memory->owners[i].peak};
    if (!rc && memory->nr_owners)
        qsort(owners, memory->nr_owners, sizeof(*owners), by_peak);
    for (size_t i = 0; i < memory->nr_failures && !rc; i++) {
        const struct memory_failure *failure = &memory->failures[i];
        failures[i] = (struct report_failure){.bytes = failure->bytes,
                                              .free = (int64_t)failure->free,
                                              .cached_free = (int64_t)failure->cached_free,
                                              .largest_hole = known(failure->largest_hole, failure->largest_hole > 0),
                                              .short_by = known(failure->short_by, failure->short_by > 0),
                                              .verdict = oom_verdict_names[failure->verdict]};
    }
    if (!rc)
        rc = report_add_memory(
            report,
            &(struct report_memory){.rank = process->rank ? process->rank->number : -1,
                                    .device = memory->device,
                                    .total = gpu && gpu->memory_bytes ? (int64_t)gpu->memory_bytes : TR_UNKNOWN,
                                    .reserved_peak = memory->reserved_peak,
                                    .allocated_peak = known(memory->allocated_peak, blocks),
                                    .fragmentation_at_peak =
                                        blocks ? (double)memory->split_free / (double)memory->reserved_peak : NAN,
                                    .split_free_at_peak = known(memory->split_free, blocks),
                                    .largest_hole = known(memory->largest_hole, blocks),
                                    .retries = memory->retries,
                                    .owners = owners,
                                    .nr_owners = memory->nr_owners,
                                    .sites = sites,
                                    .nr_sites = nr_sites,
                                    .failures = failures,
                                    .nr_failures = memory->nr_failures});
    memory_sites_free(sites, nr_sites);
    free(owners);
    free(failures);
    return rc;
}

static int finish(void *arg, struct report *report)
{
    const struct pass_memory *self = arg;
    bool without_blocks = false;
    int rc = 0;
    for (struct memory *memory = self->job->facts->memory; memory && !rc; memory = memory->next) {
        settle_peak(memory);
        without_blocks |= memory->reserved_peak && !memory->blocks;
        rc = tell(report, memory);
    }
    return rc || !without_blocks ? rc : report_note(report, "no-blocks", NULL);
}

const struct pass pass_memory = {"memory", "device memory: peaks, owners, failures", new, event, finish, free};
