/* source_kineto.c - scans of a Kineto trace: first what it says of the process, its GPUs, threads and names, then its
 * events in order, and every 100 ms of them how far the GPU's are complete. */
#include "analysis/input/source_kineto.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "traces/schema.h"

#define UNTIL_EVERY 100000000 /* ns: how often windows may be closed */

/* ---- what the file says of the whole -------------------------------------------------------- */

static uint64_t clock_ns(const struct source_kineto *kineto, int64_t file_ns)
{
    return (uint64_t)(file_ns + kineto->shift_ns);
}

static const struct kineto_process *current(const struct source_kineto *kineto)
{
    return &kineto->index->processes[kineto->process];
}

static struct event *new_event(struct source_kineto *kineto, uint32_t kind, uint64_t ts_ns)
{
    kineto->event = (struct event){.ts_ns = ts_ns, .host = kineto->base.input.host, .kind = kind};
    kineto->event.u.who.pid = kineto->event.u.who.tid = current(kineto)->pid;
    return &kineto->event;
}

static struct event *head_event(struct source_kineto *kineto, uint32_t kind)
{
    return new_event(kineto, kind, clock_ns(kineto, kineto->index->first_ns));
}

/* Each of these makes item `i` of the current process; false if there are no more, or (true with *ret NULL) if this
 * one is not to be told. */

static bool make_proc(struct source_kineto *kineto, size_t i, const struct event **ret)
{
    const struct trace_host *host = &kineto->hosts->list[kineto->base.input.host].shown;
    int64_t world = kineto->index->about.world;

    if (i > 0)
        return false;
    struct event *event = head_event(kineto, EV_proc);
    struct tr_proc *proc = &event->u.proc;
    proc->how = TR_proc_how_late;
    proc->schema = TR_SCHEMA;
    proc->rank = kineto->rank;
    proc->world = world > 0 && world <= INT32_MAX ? world : -1;
    proc->local_rank = -1;
    proc->start_ns = event->ts_ns;
    proc->host = host->name;
    proc->boot = host->boot;
    proc->comm = proc->cmd = current(kineto)->comm;
    *ret = event;
    return true;
}

static bool make_attr(struct source_kineto *kineto, size_t i, const struct event **ret)
{
    const struct kineto_about *about = &kineto->index->about;
    const char *const attrs[][2] = {{"version.nccl", about->nccl_version},
                                    {"version.cuda_driver", about->cuda_driver},
                                    {"version.cuda_runtime", about->cuda_runtime}};

    if (i == sizeof(attrs) / sizeof(*attrs))
        return false;
    if (!*attrs[i][1])
        return true;
    struct event *event = head_event(kineto, EV_attr);
    event->u.attr.key = attrs[i][0];
    event->u.attr.value = attrs[i][1];
    *ret = event;
    return true;
}

static bool make_gpu(struct source_kineto *kineto, size_t i, const struct event **ret)
{
    const struct kineto_about *about = &kineto->index->about;

    if (i == KINETO_DEVICES_MAX)
        return false;
    if (!(kineto->index->devices & 1ull << i))
        return true;
    struct event *event = head_event(kineto, EV_gpu);
    struct tr_gpu *gpu = &event->u.gpu;
    gpu->device = i;
    gpu->model = gpu->uuid = gpu->bus = "";
    for (size_t j = 0; j < about->nr_devices; j++) {
        const struct kineto_device *device = &about->devices[j];
        if (device->id != (int64_t)i)
            continue;
        gpu->model = device->name;
        gpu->memory_bytes = device->memory_bytes > 0 ? device->memory_bytes : 0;
        gpu->multiprocessors = device->multiprocessors > 0 ? device->multiprocessors : 0;
    }
    *ret = event;
    return true;
}

static bool make_thread(struct source_kineto *kineto, size_t i, const struct event **ret)
{
    if (i == kineto->index->nr_threads)
        return false;
    const struct kineto_thread *thread = &kineto->index->threads[i];
    if (!thread->seen || thread->pid != current(kineto)->pid)
        return true;
    struct event *event = head_event(kineto, EV_thread);
    event->u.thread.tid = thread->tid;
    event->u.thread.how = TR_thread_how_resend;
    event->u.thread.start_ns = event->ts_ns;
    event->u.thread.comm = thread->comm;
    *ret = event;
    return true;
}

static bool make_name(struct source_kineto *kineto, size_t i, const struct event **ret)
{
    const struct kineto_names *names = &kineto->index->names;

    if (i == names->nr)
        return false;
    struct event *event = head_event(kineto, EV_name);
    event->u.name.kind = names->list[i].kind;
    event->u.name.id = kineto->name_base + i + 1;
    event->u.name.text = kineto_names_text(names, i + 1);
    *ret = event;
    return true;
}

/* ---- process groups ------------------------------------------------------------------------- */

/* Whether calls on it mean something to other ranks: NCCL's communicator is then known by it. */
static bool is_told(const struct source_kineto *kineto, const struct kineto_group *group)
{
    return kineto->rank >= 0 && group->tally.nr > 0 && group->size > 0 && group->size <= INT32_MAX &&
           kineto_group_is_matched(group) && kineto_group_place(group, kineto->rank) >= 0;
}

static const char *shown_name(const struct kineto_group *group)
{
    return group->desc[0] && strcmp(group->desc, "undefined") != 0 ? group->desc : group->name;
}

static bool make_comm(struct source_kineto *kineto, size_t i, const struct event **ret)
{
    if (i == kineto->index->colls.nr)
        return false;
    const struct kineto_group *group = &kineto->index->colls.groups[i];
    if (!is_told(kineto, group))
        return true;
    struct event *event = head_event(kineto, EV_nccl_comm);
    struct tr_nccl_comm *comm = &event->u.nccl_comm;
    comm->state = TR_nccl_state_made;
    comm->rank = kineto_group_place(group, kineto->rank);
    comm->nranks = (int32_t)group->size;
    comm->device = -1;
    comm->comm = comm->nr = (uint32_t)i + 1;
    comm->id = group->id;
    comm->source = TR_nccl_source_hook;
    comm->name = shown_name(group);
    *ret = event;
    return true;
}

static bool make_group(struct source_kineto *kineto, size_t i, const struct event **ret)
{
    if (i == kineto->index->colls.nr)
        return false;
    const struct kineto_group *group = &kineto->index->colls.groups[i];
    if (!is_told(kineto, group) || !group->ranks[0])
        return true;
    struct event *event = head_event(kineto, EV_nccl_group);
    event->u.nccl_group.nr = (uint32_t)i + 1;
    event->u.nccl_group.id = group->id;
    event->u.nccl_group.name = shown_name(group);
    event->u.nccl_group.ranks = group->ranks;
    *ret = event;
    return true;
}

/* ---- what happened -------------------------------------------------------------------------- */

static uint32_t name_id(const struct source_kineto *kineto, uint32_t number)
{
    return number ? kineto->name_base + number : 0;
}

static uint64_t queued_ns(const struct source_kineto *kineto, const struct kineto_event *from)
{
    return from->gpu.queued_ns == KINETO_UNKNOWN ? 0 : clock_ns(kineto, from->gpu.queued_ns);
}

static void fill_kernel(const struct source_kineto *kineto, const struct kineto_event *from, struct event *event)
{
    struct tr_kernel *kernel = &event->u.kernel;

    event->kind = EV_kernel;
    kernel->device = from->device;
    kernel->stream = from->stream;
    kernel->name = name_id(kineto, from->name);
    kernel->correlation = from->correlation;
    kernel->blocks = from->gpu.blocks;
    kernel->graph = from->gpu.graph;
    kernel->queued_ns = queued_ns(kineto, from);
    kernel->start_ns = clock_ns(kineto, from->start_ns);
    kernel->dur_ns = from->dur_ns;
}

static void fill_copy(const struct source_kineto *kineto, const struct kineto_event *from, struct event *event)
{
    struct tr_gpu_copy *copy = &event->u.gpu_copy;

    event->kind = EV_gpu_copy;
    copy->device = from->device;
    copy->stream = from->stream;
    copy->correlation = from->correlation;
    copy->kind = from->act;
    copy->src = from->src;
    copy->dst = from->dst;
    copy->size_bytes = from->gpu.size_bytes;
    copy->queued_ns = queued_ns(kineto, from);
    copy->start_ns = clock_ns(kineto, from->start_ns);
    copy->dur_ns = from->dur_ns;
}

static void fill_set(const struct source_kineto *kineto, const struct kineto_event *from, struct event *event)
{
    struct tr_gpu_set *set = &event->u.gpu_set;

    event->kind = EV_gpu_set;
    set->device = from->device;
    set->stream = from->stream;
    set->correlation = from->correlation;
    set->size_bytes = from->gpu.size_bytes;
    set->queued_ns = queued_ns(kineto, from);
    set->start_ns = clock_ns(kineto, from->start_ns);
    set->dur_ns = from->dur_ns;
}

static void fill_call(const struct source_kineto *kineto, const struct kineto_event *from, struct event *event)
{
    struct tr_cuda_call *call = &event->u.cuda_call;

    event->kind = EV_cuda_call;
    call->act = from->act;
    call->count = 1;
    call->correlation = from->correlation;
    call->busy_ns = from->dur_ns < UINT32_MAX ? from->dur_ns : UINT32_MAX;
    call->start_ns = clock_ns(kineto, from->start_ns);
    call->dur_ns = from->dur_ns;
}

static void fill_range(const struct source_kineto *kineto, const struct kineto_event *from, struct event *event)
{
    struct tr_range *range = &event->u.range;

    event->kind = EV_range;
    range->name = name_id(kineto, from->name);
    range->depth = from->range.depth;
    range->start_ns = clock_ns(kineto, from->start_ns);
    range->dur_ns = from->dur_ns;
}

static void fill_anchor(const struct source_kineto *kineto, const struct kineto_event *from, struct event *event)
{
    struct tr_anchor *anchor = &event->u.anchor;

    event->kind = EV_anchor;
    anchor->kind = from->act;
    anchor->name = name_id(kineto, from->name);
    anchor->nr = from->range.nr;
    anchor->start_ns = clock_ns(kineto, from->start_ns);
    anchor->dur_ns = from->dur_ns;
}

static void fill_block(const struct source_kineto *kineto, const struct kineto_event *from, struct event *event)
{
    struct tr_block *block = &event->u.block;

    (void)kineto;
    event->kind = EV_block;
    block->act = from->act;
    block->device = from->device;
    block->address = from->block.address;
    block->size_bytes = from->block.size_bytes;
    block->allocated_bytes = from->block.allocated_bytes;
    block->reserved_bytes = from->block.reserved_bytes;
}

static void fill_coll(const struct source_kineto *kineto, const struct kineto_event *from, struct event *event)
{
    const struct kineto_call *call = &from->range.call;
    struct kineto_group *group = &kineto->index->colls.groups[call->group - 1];
    struct tr_coll *coll = &event->u.coll;

    event->kind = EV_coll;
    coll->op = call->op;
    coll->type = call->type;
    coll->how = 1; /* as a hook tells it: the call, not how it ran */
    coll->nr = call->group;
    if (!kineto_call_is_paired(call))
        coll->ordinal = group->leader->all_numbered ? call->seq : group->nr_told++;
    coll->peer = -1;
    coll->dur_ns = from->dur_ns < UINT32_MAX ? (uint32_t)from->dur_ns : UINT32_MAX;
    coll->count = kineto_call_elements(group, call);
    coll->start_ns = clock_ns(kineto, from->start_ns);
}

static const struct {
    enum event_kind kind;
    void (*fill)(const struct source_kineto *kineto, const struct kineto_event *from, struct event *event);
} makers[] = {
    [KE_kernel] = {EV_kernel, fill_kernel}, [KE_copy] = {EV_gpu_copy, fill_copy},
    [KE_set] = {EV_gpu_set, fill_set},      [KE_call] = {EV_cuda_call, fill_call},
    [KE_range] = {EV_range, fill_range},    [KE_anchor] = {EV_anchor, fill_anchor},
    [KE_block] = {EV_block, fill_block},    [KE_coll] = {EV_coll, fill_coll},
};

static bool is_gpu(const struct kineto_event *from)
{
    return from->kind == KE_kernel || from->kind == KE_copy || from->kind == KE_set;
}

/* ---- the scan ------------------------------------------------------------------------------- */

/* A call on a group of which the other ranks' calls are not the same. */
static bool is_unmatched(const struct source_kineto *kineto, const struct kineto_event *from)
{
    return from->kind == KE_coll && !is_told(kineto, &kineto->index->colls.groups[from->range.call.group - 1]);
}

static bool wants(const struct source_kineto *kineto, enum event_kind kind)
{
    return kineto->channels & 1u << schema_event(kind)->channel;
}

/* The next thing to tell of the whole. NULL when all has been told, of all processes. */
static const struct event *next_of_head(struct source_kineto *kineto)
{
    static bool (*const make[])(struct source_kineto *, size_t, const struct event **) = {
        [STEP_proc] = make_proc, [STEP_attr] = make_attr, [STEP_gpu] = make_gpu,     [STEP_thread] = make_thread,
        [STEP_name] = make_name, [STEP_comm] = make_comm, [STEP_group] = make_group,
    };
    const struct event *event = NULL;

    while (!event && kineto->process < kineto->index->nr_processes) {
        if (current(kineto)->seen && make[kineto->step](kineto, kineto->item++, &event))
            continue;
        kineto->process++;
        kineto->item = 0;
    }
    return event;
}

/* The next process that is seen, from kineto->process on. False if there is none. */
static bool find_seen(struct source_kineto *kineto)
{
    while (kineto->process < kineto->index->nr_processes && !current(kineto)->seen)
        kineto->process++;
    return kineto->process < kineto->index->nr_processes;
}

/* A gpu_until for the next process; NULL when all have been told, or there is no GPU to tell of. */
static const struct event *next_until(struct source_kineto *kineto)
{
    if (!kineto->index->devices || !find_seen(kineto))
        return NULL;
    struct event *event = new_event(kineto, EV_gpu_until, kineto->until_ns);
    event->u.gpu_until.device = UINT32_MAX;
    event->u.gpu_until.until_ns = kineto->until_ns;
    kineto->process++;
    return event;
}

/* That the profile of the next process ends here, by intention; NULL when all have been told. */
static const struct event *next_cut(struct source_kineto *kineto)
{
    if (!find_seen(kineto))
        return NULL;
    struct event *event = new_event(kineto, EV_exit, clock_ns(kineto, kineto->index->last_ns));
    event->u.exit.how = TR_exit_how_cut;
    event->u.exit.start_ns = event->ts_ns;
    kineto->process++;
    return event;
}

/* The next event; NULL at the end, or when it is time to say how far the GPU's are complete: up to that event. */
static const struct event *next_event(struct source_kineto *kineto)
{
    const struct sorted *events = &kineto->index->events;
    const struct kineto_event *from = events->records;

    while (kineto->position < events->nr &&
           (!wants(kineto, makers[from[kineto->position].kind].kind) || is_unmatched(kineto, &from[kineto->position])))
        kineto->position++;
    bool last = kineto->position == events->nr;
    uint64_t ts_ns = clock_ns(kineto, last ? kineto->index->last_ns : kineto_end_ns(&from[kineto->position]));
    if (last || ts_ns - kineto->until_ns >= UNTIL_EVERY) {
        kineto->until_ns = ts_ns;
        return NULL;
    }
    from += kineto->position++;
    kineto->event = (struct event){.ts_ns = ts_ns, .host = kineto->base.input.host};
    kineto->event.u.who.pid = from->pid || !is_gpu(from) ? from->pid : kineto_main_pid(kineto->index);
    kineto->event.u.who.tid = from->tid;
    makers[from->kind].fill(kineto, from, &kineto->event);
    return &kineto->event;
}

/* A step has nothing more to tell. */
static void next_step(struct source_kineto *kineto)
{
    bool more = kineto->position < kineto->index->events.nr;

    kineto->step = kineto->step == STEP_until && more ? STEP_events : kineto->step + 1;
    kineto->process = kineto->item = 0;
}

static int kineto_next(struct event_stream *stream, const struct event **ret)
{
    struct source_kineto *kineto = (struct source_kineto *)((char *)stream - offsetof(struct source_kineto, stream));

    while (kineto->step != STEP_end) {
        const struct event *event = kineto->step == STEP_events  ? next_event(kineto)
                                    : kineto->step == STEP_until ? next_until(kineto)
                                    : kineto->step == STEP_cut   ? next_cut(kineto)
                                                                 : next_of_head(kineto);
        if (!event) {
            next_step(kineto);
            continue;
        }
        if (!wants(kineto, event->kind))
            continue;
        source_count(&kineto->base, event);
        *ret = event;
        return 1;
    }
    return 0;
}

static int kineto_start(struct source *source, unsigned channels, struct merge *merge)
{
    struct source_kineto *kineto = (struct source_kineto *)source;

    kineto->channels = channels;
    kineto->position = 0;
    kineto->until_ns = clock_ns(kineto, kineto->index->first_ns);
    kineto->process = kineto->item = 0;
    for (size_t i = 0; i < kineto->index->colls.nr; i++)
        kineto->index->colls.groups[i].nr_told = 0;
    kineto->step = kineto->index->events.nr ? STEP_proc : STEP_end;
    kineto->stream.next = kineto_next;
    return merge_add(merge, &kineto->stream);
}

static void kineto_stop(struct source *source)
{
    const struct kineto_index *index = ((struct source_kineto *)source)->index;

    if (index->problem)
        source_problem(source, "%s", index->problem);
    for (size_t i = 0; i < index->colls.nr; i++)
        if (index->colls.groups[i].tally.nr > 0 && !kineto_group_is_matched(&index->colls.groups[i]))
            source_problem(source,
                           "Collectives of %s cannot be matched with other ranks': the profiles have not the same "
                           "calls, and no sequence numbers",
                           shown_name(&index->colls.groups[i])[0] ? shown_name(&index->colls.groups[i]) : "the job");
}

static void kineto_free(struct source *source)
{
    kineto_index_free(((struct source_kineto *)source)->index);
    free((char *)source->input.path);
    free(source->input.problem);
    free(source);
}

const struct source_ops source_kineto_ops = {kineto_start, kineto_stop, kineto_free};
