/* kineto_index.c - see kineto_index.h. */
#include "analysis/input/kineto_index.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/input/kineto_words.h"
#include "traces/events.h"

#define IN_MEMORY (1 << 16)          /* records: 5 MiB */
#define TIME_MAX 4000000000000000000 /* 127 years on either side of 0; two of them add up without overflow */
#define DUR_MAX 1000000000000000000  /* 32 years */
enum { DEPTH_MAX = 1024 };

struct builder {
    struct kineto_index *index;
    struct sorter *joining, *by_time;
    size_t last_thread; /* tried first */
};

/* ---- order ---------------------------------------------------------------------------------- */

#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

static bool is_range(const struct kineto_event *event)
{
    return event->kind == KE_range || event->kind == KE_anchor;
}

/* Calls and what they launched, by correlation id, the calls first; then ranges by thread, the outer ones first. */
static int compare_joining(const void *x, const void *y)
{
    const struct kineto_event *a = x, *b = y;
    int order = COMPARE(is_range(a), is_range(b));

    if (order == 0 && is_range(a)) {
        order = COMPARE(a->pid, b->pid);
        order = order ? order : COMPARE(a->tid, b->tid);
        order = order ? order : COMPARE(a->start_ns, b->start_ns);
        order = order ? order : COMPARE(b->dur_ns, a->dur_ns);
    } else if (order == 0) {
        order = COMPARE(a->correlation, b->correlation);
        order = order ? order : COMPARE(b->kind == KE_call, a->kind == KE_call);
        order = order ? order : COMPARE(a->start_ns, b->start_ns);
    }
    return order ? order : COMPARE(a->order, b->order);
}

static int compare_time(const void *x, const void *y)
{
    const struct kineto_event *a = x, *b = y;
    int order = COMPARE(kineto_end_ns(a), kineto_end_ns(b));

    return order ? order : COMPARE(a->order, b->order);
}

/* ---- processes and threads ------------------------------------------------------------------ */

static void *grow(void *list, size_t nr, size_t size)
{
    return nr & (nr - 1) ? list : realloc(list, (nr ? 2 * nr : 1) * size); /* full when nr is a power of two */
}

/* NULL if there are too many, or no memory. */
static struct kineto_process *process_of(struct kineto_index *index, uint32_t pid)
{
    for (size_t i = 0; i < index->nr_processes; i++)
        if (index->processes[i].pid == pid)
            return &index->processes[i];
    if (index->nr_processes == KINETO_PROCESSES_MAX && pid != index->unknown_pid)
        return NULL;
    struct kineto_process *list = grow(index->processes, index->nr_processes, sizeof(*list));
    if (!list)
        return NULL;
    index->processes = list;
    list[index->nr_processes] = (struct kineto_process){.pid = pid};
    return &list[index->nr_processes++];
}

static struct kineto_thread *thread_of(struct builder *builder, uint32_t pid, uint32_t tid)
{
    struct kineto_index *index = builder->index;

    for (size_t i = 0, at = builder->last_thread; i < index->nr_threads; i++, at++) {
        at = at < index->nr_threads ? at : 0;
        if (index->threads[at].tid == tid && index->threads[at].pid == pid) {
            builder->last_thread = at;
            return &index->threads[at];
        }
    }
    if (index->nr_threads == KINETO_THREADS_MAX)
        return NULL;
    struct kineto_thread *list = grow(index->threads, index->nr_threads, sizeof(*list));
    if (!list)
        return NULL;
    index->threads = list;
    list[index->nr_threads] = (struct kineto_thread){.pid = pid, .tid = tid};
    return &list[index->nr_threads++];
}

/* Before Kineto the process had no number. */
static bool process_id(const struct builder *builder, const char *text, uint32_t *ret)
{
    *ret = builder->index->unknown_pid;
    return strcmp(text, KINETO_CPU) == 0 || kineto_id(text, ret);
}

/* The row is about a thread on a CPU. False if it does not say which. */
static bool take_thread(struct builder *builder, const struct kineto_row *row, struct kineto_event *event)
{
    if (!process_id(builder, row->pid, &event->pid) || !kineto_id(row->tid, &event->tid))
        return false;
    struct kineto_process *process = process_of(builder->index, event->pid);
    if (!process)
        return false;
    process->seen = true;
    struct kineto_thread *thread = thread_of(builder, event->pid, event->tid);
    if (thread)
        thread->seen = true;
    return true;
}

/* "thread 25772 (python)" -> "python" */
static void thread_comm(struct kineto_thread *thread, const char *text)
{
    const char *open = strchr(text, '('), *close = open ? strrchr(open, ')') : NULL;
    int len = close ? close - open - 1 : (int)strlen(text);

    (void)snprintf(thread->comm, sizeof(thread->comm), "%.*s", len, close ? open + 1 : text);
}

static int take_meta(struct builder *builder, const struct kineto_row *row)
{
    uint32_t pid, tid;

    if (!kineto_id(row->pid, &pid))
        return 0;
    if (strcmp(row->name, "process_name") == 0) {
        struct kineto_process *process = process_of(builder->index, pid);
        if (process)
            memcpy(process->comm, row->arg_name, sizeof(process->comm));
    } else if (strcmp(row->name, "thread_name") == 0 && kineto_id(row->tid, &tid)) {
        struct kineto_thread *thread = thread_of(builder, pid, tid);
        if (thread)
            thread_comm(thread, row->arg_name);
    }
    return 0;
}

uint32_t kineto_main_pid(const struct kineto_index *index)
{
    for (size_t i = 0; i < index->nr_processes; i++)
        if (index->processes[i].seen)
            return index->processes[i].pid;
    return index->unknown_pid;
}

/* ---- rows ----------------------------------------------------------------------------------- */

static uint32_t u32_or_0(int64_t number)
{
    return number > 0 && number <= UINT32_MAX ? number : 0;
}

static uint64_t u64_or_0(int64_t number)
{
    return number > 0 ? number : 0;
}

/* 1; 0 if it is to be left out; -ENOMEM. */
static int take_range(struct builder *builder, const struct kineto_row *row, struct kineto_event *event)
{
    static const uint8_t anchors[] = {[KINETO_RANGE_step] = TR_anchor_kind_nvtx,
                                      [KINETO_RANGE_optimizer] = TR_anchor_kind_optimizer,
                                      [KINETO_RANGE_dataloader] = TR_anchor_kind_dataloader};
    enum kineto_range range = kineto_range_kind(row, &event->range.nr);

    /* Its thread is known by it, even if the row itself is not kept: autograd's threads have nothing but operators. */
    if (!take_thread(builder, row, event) || range == KINETO_RANGE_none)
        return 0;
    event->kind = range == KINETO_RANGE_plain ? KE_range : KE_anchor;
    event->act = anchors[range];
    int rc = kineto_names_add(&builder->index->names, TR_name_kind_range, row->name, &event->name);
    if (rc == 0 && event->kind == KE_range)
        rc = kineto_colls_take(&builder->index->colls, row, &event->range.call);
    return rc < 0 ? rc : 1;
}

/* The device and stream are also the row's pid and tid ("stream 7" in old traces). */
static void take_place(const struct kineto_row *row, struct kineto_event *event)
{
    uint32_t id;

    event->device = u32_or_0(row->device);
    event->stream = u32_or_0(row->stream);
    if (row->device == KINETO_UNKNOWN && kineto_id(strcmp(row->pid, KINETO_GPU) ? row->pid : row->tid, &id))
        event->device = id;
    if (row->stream == KINETO_UNKNOWN && kineto_id(row->tid + strcspn(row->tid, "0123456789"), &id) &&
        strcmp(row->pid, KINETO_GPU) != 0)
        event->stream = id;
}

static int take_gpu(struct builder *builder, const struct kineto_row *row, enum kineto_what what,
                    struct kineto_event *event)
{
    struct kineto_index *index = builder->index;

    event->kind = what == KINETO_kernel ? KE_kernel : what == KINETO_copy ? KE_copy : KE_set;
    event->correlation = u32_or_0(row->correlation);
    event->gpu.queued_ns = KINETO_UNKNOWN;
    event->gpu.size_bytes = u64_or_0(row->bytes);
    event->gpu.blocks = row->blocks < UINT32_MAX ? row->blocks : UINT32_MAX;
    event->gpu.graph = u32_or_0(row->graph);
    take_place(row, event);
    if (event->device < KINETO_DEVICES_MAX)
        index->devices |= 1ull << event->device;
    if (what == KINETO_copy)
        kineto_copy_kind(row->name, &event->act, &event->src, &event->dst);
    int rc = what == KINETO_kernel ? kineto_names_add(&index->names, TR_name_kind_kernel, row->name, &event->name) : 0;
    return rc < 0 ? rc : 1;
}

static int take_call(struct builder *builder, const struct kineto_row *row, struct kineto_event *event)
{
    event->kind = KE_call;
    event->act = kineto_cuda_act(row->name);
    event->correlation = u32_or_0(row->correlation);
    return take_thread(builder, row, event);
}

/* Traces before 2022 tell neither the address nor the totals: nothing can be concluded from a size alone. */
static int take_block(struct builder *builder, const struct kineto_row *row, struct kineto_event *event)
{
    if (row->memory_reserved == KINETO_UNKNOWN || row->memory_bytes == KINETO_UNKNOWN)
        return 0;
    event->kind = KE_block;
    event->act = row->memory_bytes < 0 ? TR_segment_act_free : TR_segment_act_alloc;
    event->device = u32_or_0(row->memory_device);
    event->block.address = u64_or_0(row->memory_address);
    event->block.size_bytes = row->memory_bytes < 0 ? -(uint64_t)row->memory_bytes : (uint64_t)row->memory_bytes;
    event->block.allocated_bytes = u64_or_0(row->memory_allocated);
    event->block.reserved_bytes = u64_or_0(row->memory_reserved);
    return take_thread(builder, row, event);
}

static int take(struct builder *builder, const struct kineto_row *row, enum kineto_what what,
                struct kineto_event *event)
{
    switch (what) {
    case KINETO_range:
        return take_range(builder, row, event);
    case KINETO_call:
        return take_call(builder, row, event);
    case KINETO_block:
        return take_block(builder, row, event);
    default:
        return take_gpu(builder, row, what, event);
    }
}

static bool take_times(const struct kineto_row *row, struct kineto_event *event)
{
    if (row->ts_ns < -TIME_MAX || row->ts_ns > TIME_MAX || row->dur_ns > DUR_MAX)
        return false;
    event->start_ns = row->ts_ns;
    event->dur_ns = row->dur_ns > 0 ? row->dur_ns : 0; /* an instant has none */
    return row->dur_ns >= 0 || row->ph[0] != 'X';
}

static int take_row(void *arg, const struct kineto_row *row)
{
    struct builder *builder = arg;
    struct kineto_index *index = builder->index;
    enum kineto_what what = kineto_what(row);
    struct kineto_event event = {.order = index->nr_rows++};

    if (what == KINETO_nothing)
        return 0;
    if (what == KINETO_meta)
        return take_meta(builder, row);
    if (!take_times(row, &event)) {
        index->nr_bad++;
        return 0;
    }
    int rc = take(builder, row, what, &event);
    if (rc <= 0)
        return rc;
    bool joined = is_range(&event) || (event.kind != KE_block && event.correlation);
    return sorter_add(joined ? builder->joining : builder->by_time, &event);
}

/* ---- joining -------------------------------------------------------------------------------- */

/* The last of the calls that began before `at_ns`, else the first one. */
static const struct kineto_event *call_before(const struct kineto_event *calls, size_t nr, int64_t at_ns)
{
    size_t low = 0, high = nr; /* calls[low - 1] began before, calls[high] did not */

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (calls[middle].start_ns <= at_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return &calls[low ? low - 1 : 0];
}

/* A call and what it launched. Several calls of one id: a file with several processes. */
static int join_launches(struct builder *builder, const struct kineto_event *events, size_t nr)
{
    size_t nr_calls = 0;
    int rc = 0;

    while (nr_calls < nr && events[nr_calls].kind == KE_call)
        nr_calls++;
    for (size_t i = 0; rc == 0 && i < nr; i++) {
        struct kineto_event event = events[i];
        if (i >= nr_calls && nr_calls > 0) {
            const struct kineto_event *call = call_before(events, nr_calls, event.start_ns);
            event.pid = call->pid;
            event.tid = call->tid;
            event.gpu.queued_ns = call->start_ns <= event.start_ns ? call->start_ns : KINETO_UNKNOWN;
        }
        rc = sorter_add(builder->by_time, &event);
    }
    return rc;
}

/* A profile of a single step: where it ends the next one begins, which the profiler did not see. Told as an anchor of
 * no length, so that there is a window between two. With more steps the last one is better left open: on the GPU's
 * timeline the fetch for the next step belongs to it, and is missing. */
static int close_only_step(struct builder *builder, const struct kineto_event *step)
{
    struct kineto_index *index = builder->index;
    struct kineto_event next = *step;
    char name[KINETO_WORD_SIZE];

    next.start_ns = kineto_end_ns(step);
    next.dur_ns = 0;
    next.range.nr = step->range.nr + 1;
    next.order = index->nr_rows++;
    (void)snprintf(name, sizeof(name), KINETO_STEP "%" PRIu64, next.range.nr);
    int rc = kineto_names_add(&index->names, TR_name_kind_range, name, &next.name);
    return rc < 0 ? rc : sorter_add(builder->by_time, &next);
}

/* The range is a call of a collective: told as such besides, unless it is within another one (`end_ns` of the last). */
static int tell_call(struct builder *builder, const struct kineto_event *range, int64_t *end_ns)
{
    struct kineto_event call = *range;

    if (range->kind != KE_range || !range->range.call.group || range->start_ns < *end_ns)
        return 0;
    call.kind = KE_coll;
    call.order = builder->index->nr_rows++;
    *end_ns = kineto_end_ns(range);
    return sorter_add(builder->by_time, &call);
}

/* The ranges of one thread, in order of their starts. */
static int join_ranges(struct builder *builder, const struct kineto_event *events, size_t nr)
{
    const struct kineto_event *step = NULL;
    size_t nr_steps = 0;
    int64_t ends[DEPTH_MAX]; /* of the ranges around */
    int64_t call_end_ns = INT64_MIN;
    uint32_t depth = 0;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < nr; i++) {
        struct kineto_event event = events[i];
        while (depth > 0 && ends[depth - 1] <= event.start_ns)
            depth--;
        event.range.depth = depth;
        if (depth < DEPTH_MAX)
            ends[depth++] = kineto_end_ns(&event);
        if (event.kind == KE_anchor && event.act == TR_anchor_kind_nvtx) {
            step = &events[i];
            nr_steps++;
        }
        rc = sorter_add(builder->by_time, &event);
        if (rc == 0)
            rc = tell_call(builder, &event, &call_end_ns);
    }
    return rc == 0 && nr_steps == 1 ? close_only_step(builder, step) : rc;
}

static bool joins(const struct kineto_event *a, const struct kineto_event *b)
{
    if (is_range(a) != is_range(b))
        return false;
    return is_range(a) ? a->pid == b->pid && a->tid == b->tid : a->correlation == b->correlation;
}

static int join(struct builder *builder)
{
    struct sorted sorted;
    int rc = sorter_finish(builder->joining, &sorted);

    if (rc < 0)
        return rc;
    const struct kineto_event *events = sorted.records;
    for (size_t from = 0, to; rc == 0 && from < sorted.nr; from = to) {
        for (to = from + 1; to < sorted.nr && joins(&events[from], &events[to]); to++)
            ;
        rc = is_range(&events[from]) ? join_ranges(builder, events + from, to - from)
                                     : join_launches(builder, events + from, to - from);
    }
    sorted_done(&sorted);
    return rc;
}

/* ---- all of it ------------------------------------------------------------------------------ */

static void find_extent(struct kineto_index *index)
{
    const struct kineto_event *events = index->events.records;

    if (index->events.nr == 0)
        return;
    index->first_ns = events[0].start_ns;
    index->last_ns = kineto_end_ns(&events[index->events.nr - 1]);
    for (size_t i = 1; i < index->events.nr; i++)
        if (events[i].start_ns < index->first_ns)
            index->first_ns = events[i].start_ns;
}

static void count_calls(struct kineto_index *index)
{
    const struct kineto_event *events = index->events.records;

    for (size_t i = 0; index->colls.nr && i < index->events.nr; i++)
        if (events[i].kind == KE_coll)
            kineto_colls_count(&index->colls, &events[i].range.call);
    kineto_colls_settle(&index->colls, &index->about);
}

/* A trace of GPU rows alone: they need somebody to belong to. */
static int find_process(struct kineto_index *index)
{
    for (size_t i = 0; i < index->nr_processes; i++)
        if (index->processes[i].seen)
            return 0;
    struct kineto_process *process = index->events.nr ? process_of(index, index->unknown_pid) : NULL;
    if (process)
        process->seen = true;
    return process || index->events.nr == 0 ? 0 : -ENOMEM;
}

static int tell_problem(struct kineto_index *index)
{
    if (index->problem)
        return 0;
    int len = 0;
    if (index->nr_bad > 0)
        len = asprintf(&index->problem, "%" PRIu64 " row%s left out: a time that is missing, negative or too large",
                       index->nr_bad, index->nr_bad == 1 ? " is" : "s are");
    else if (index->names.full)
        len = asprintf(&index->problem, "Too many different names: those after the first %" PRIu32 " are unknown",
                       index->names.nr);
    else if (index->events.nr == 0 && index->nr_rows > 0)
        len = asprintf(&index->problem,
                       "Of its %" PRIu64 " rows none is a kernel, a copy, a CUDA call or an annotation of PyTorch's",
                       index->nr_rows);
    if (len < 0)
        index->problem = NULL;
    return len < 0 ? -ENOMEM : 0;
}

static int build(struct builder *builder, const char *path)
{
    struct kineto_index *index = builder->index;
    int rc = kineto_read(path, take_row, builder, &index->about, &index->problem);

    if (rc == 0 && !index->about.is_trace)
        rc = -EINVAL;
    if (rc == 0)
        rc = join(builder);
    if (rc == 0)
        rc = sorter_finish(builder->by_time, &index->events);
    if (rc < 0)
        return rc;
    if (index->about.base_ns < 0 || index->about.base_ns > TIME_MAX)
        index->about.base_ns = 0;
    find_extent(index);
    count_calls(index);
    rc = find_process(index);
    return rc < 0 ? rc : tell_problem(index);
}

int kineto_index_read(const char *path, uint32_t unknown_pid, struct kineto_index **ret, char **ret_problem)
{
    struct builder builder = {.index = calloc(1, sizeof(*builder.index))};
    int rc = builder.index ? 0 : -ENOMEM;

    if (rc == 0) {
        builder.index->unknown_pid = unknown_pid;
        rc = sorter_new(sizeof(struct kineto_event), IN_MEMORY, compare_joining, &builder.joining);
    }
    if (rc == 0)
        rc = sorter_new(sizeof(struct kineto_event), IN_MEMORY, compare_time, &builder.by_time);
    if (rc == 0)
        rc = build(&builder, path);
    sorter_free(builder.joining);
    sorter_free(builder.by_time);
    *ret_problem = NULL;
    if (rc == 0) {
        *ret = builder.index;
        return 0;
    }
    if (rc == -EINVAL) {
        *ret_problem = builder.index->problem;
        builder.index->problem = NULL;
    }
    kineto_index_free(builder.index);
    return rc;
}

void kineto_index_free(struct kineto_index *index)
{
    if (!index)
        return;
    sorted_done(&index->events);
    kineto_names_done(&index->names);
    kineto_colls_done(&index->colls);
    free(index->processes);
    free(index->threads);
    free(index->problem);
    free(index);
}
