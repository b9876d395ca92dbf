/* comm_window.c - see comm_window.h. */
#include "analysis/pass/comm_window.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/model/facts.h"
#include "analysis/model/job.h"
#include "analysis/pass/gpu_window.h"
#include "analysis/pass/thresholds.h"

/* A stretch of a rank's time that is summed up, or the row of its window. */
struct comm_chunk {
    struct comm_chunk *next;
    bool is_row;
    struct report_step row;
    struct interval *exposed; /* owned */
    size_t nr_exposed;
    struct lane_kernel *kernels; /* owned, with a reference each */
    size_t nr_kernels, nr_known; /* nr_known: the first of them wait for nothing that is not known yet */
    uint32_t device;
};

static void chunk_free(struct comm_windows *all, struct comm_chunk *chunk)
{
    for (size_t i = 0; i < chunk->nr_kernels; i++)
        comm_bundle_release(chunk->kernels[i].bundle, &all->instances);
    free(chunk->kernels);
    free(chunk->exposed);
    free(chunk);
}

int comm_windows_init(struct comm_windows *all, struct job *job, struct report *report)
{
    uint32_t nr_hosts = 1;
    for (const struct process *process = job->first; process; process = process->next)
        nr_hosts = process->host >= nr_hosts ? process->host + 1 : nr_hosts;
    *all = (struct comm_windows){.job = job, .report = report};
    all->instances.clock.nr_hosts = nr_hosts;
    all->ranks = calloc(job->nr_ranks + 1, sizeof(*all->ranks));
    if (!all->ranks)
        return -ENOMEM;
    for (size_t i = 0; i < job->nr_ranks; i++)
        all->ranks[i].facts = &job->facts->ranks[i];
    job->facts->instances = &all->instances;
    job->facts->collectives = &all->stats;
    return 0;
}

void comm_windows_done(struct comm_windows *all)
{
    for (size_t i = 0; all->ranks && i < all->job->nr_ranks; i++)
        for (struct comm_chunk *chunk = all->ranks[i].first, *next; chunk; chunk = next) {
            next = chunk->next;
            chunk_free(all, chunk);
        }
    for (size_t i = 0; i < all->nr_lanes; i++) {
        comm_lane_done(all->lanes[i], &all->instances);
        free(all->lanes[i]);
    }
    free(all->lanes);
    free(all->ranks);
    map_done(&all->by_process);
    coll_stats_done(&all->stats);
    instances_done(&all->instances);
}

/* ---- events ------------------------------------------------------------------------------- */

static struct comm_lane *lane_find(const struct comm_windows *all, const struct process *process)
{
    return map_find(&all->by_process, (struct map_key){(uintptr_t)process, 0});
}

static struct comm_lane *lane_get(struct comm_windows *all, struct process *process)
{
    struct comm_lane *lane = lane_find(all, process);
    if (lane)
        return lane;
    struct comm_lane **lanes = realloc(all->lanes, (all->nr_lanes + 1) * sizeof(struct comm_lane *));
    if (!lanes)
        return NULL;
    all->lanes = lanes;
    lane = calloc(1, sizeof(*lane));
    if (!lane || map_put(&all->by_process, (struct map_key){(uintptr_t)process, 0}, lane)) {
        free(lane);
        return NULL;
    }
    lane->process = process;
    return lanes[all->nr_lanes++] = lane;
}

int comm_windows_event(struct comm_windows *all, const struct event *event)
{
    struct process *process = all->job->process;
    if (event->kind == EV_coll) {
        struct comm_handle *handle = communicators_find(&all->job->communicators, process, event->u.coll.nr);
        struct comm_lane *lane = handle && handle->comm ? lane_get(all, process) : NULL;
        if (!handle || !handle->comm)
            return 0;
        return lane ? comm_lane_call(lane, &all->instances, &all->stats, handle, &event->u.coll) : -ENOMEM;
    }
    if (event->kind != EV_kernel || !all->job->name || all->job->name->kernel_kind != KERNEL_comm)
        return 0;
    struct comm_lane *lane = lane_get(all, process);
    return lane ? comm_lane_kernel(lane, &all->instances, &event->u.kernel) : -ENOMEM;
}

/* ---- what is summed up -------------------------------------------------------------------- */

static int take_kernels(struct comm_chunk *chunk, struct comm_lane *lane, uint64_t to_ns)
{
    chunk->kernels = malloc((lane->nr_kernels + 1) * sizeof(*chunk->kernels));
    if (!chunk->kernels)
        return -ENOMEM;
    for (size_t i = 0; i < lane->nr_kernels; i++) {
        struct lane_kernel *kernel = &lane->kernels[i];
        if (kernel->start_ns >= to_ns)
            continue;
        chunk->kernels[chunk->nr_kernels++] = *kernel;
        kernel->counted = true; /* by this chunk, if not by one before */
        if (kernel->bundle)
            comm_bundle_keep(kernel->bundle);
    }
    return 0;
}

static void append(struct comm_rank *rank, struct comm_chunk *chunk)
{
    if (rank->last)
        rank->last->next = chunk;
    else
        rank->first = chunk;
    rank->last = chunk;
    rank->nr_pending += chunk->nr_kernels;
}

int comm_windows_sum(struct comm_windows *all, size_t index, const struct gpu_window *gpu, uint64_t from_ns,
                     uint64_t to_ns)
{
    struct comm_rank *rank = &all->ranks[index];
    struct comm_lane *lane = lane_find(all, all->job->ranks[index]->process);
    const struct gpu_device *device = gpu_main(&gpu->gpu);
    if (!lane || !device || to_ns <= from_ns)
        return 0;
    if (comm_lane_tie(lane, &all->instances))
        return -ENOMEM;
    struct comm_chunk *chunk = calloc(1, sizeof(*chunk));
    if (!chunk)
        return -ENOMEM;
    chunk->device = device->device;
    chunk->nr_exposed = gpu_window_exposed(gpu, from_ns, to_ns, NULL);
    chunk->exposed = malloc((chunk->nr_exposed + 1) * sizeof(*chunk->exposed));
    int rc = chunk->exposed ? take_kernels(chunk, lane, to_ns) : -ENOMEM;
    if (rc) {
        chunk_free(all, chunk);
        return rc;
    }
    gpu_window_exposed(gpu, from_ns, to_ns, chunk->exposed);
    append(rank, chunk);
    uint64_t queue_ns = 2 * (to_ns - from_ns > rank->previous_ns ? to_ns - from_ns : rank->previous_ns);
    queue_ns = queue_ns > (uint64_t)TH_COLL_QUEUED_NS ? queue_ns : (uint64_t)TH_COLL_QUEUED_NS;
    rank->previous_ns = to_ns - from_ns;
    comm_lane_forget(lane, &all->instances, to_ns, to_ns > queue_ns ? to_ns - queue_ns : 0);
    return 0;
}

int comm_windows_row(struct comm_windows *all, size_t index, const struct report_step *row)
{
    struct comm_chunk *chunk = calloc(1, sizeof(*chunk));
    if (!chunk)
        return -ENOMEM;
    chunk->is_row = true;
    chunk->row = *row;
    append(&all->ranks[index], chunk);
    return 0;
}

/* ---- waiting or transferring -------------------------------------------------------------- */

/* What the kernels of a stretch of time did. */
struct comm_split {
    struct intervals transfer, bubble, unknown; /* bubble: receives of a pipeline that wait */
};

static void split_done(struct comm_split *split)
{
    intervals_done(&split->transfer);
    intervals_done(&split->bubble);
    intervals_done(&split->unknown);
}

/* Adds what the kernel took to the classes of its calls; several share it by their bytes. */
static int count_kernel(struct comm_windows *all, const struct lane_kernel *kernel, bool known, uint64_t wait_ns)
{
    const struct comm_bundle *bundle = kernel->bundle;
    double dur_ns = (double)(kernel->end_ns - kernel->start_ns), total = 0;
    for (size_t i = 0; i < bundle->nr; i++)
        total += (double)bundle->parts[i].instance->bytes + 1;
    for (size_t i = 0; i < bundle->nr; i++) {
        const struct instance *instance = bundle->parts[i].instance;
        struct coll_class *class = coll_stats_class(&all->stats, instance->comm, instance->op, instance->bytes);
        double part = ((double)instance->bytes + 1) / total;
        if (!class)
            return -ENOMEM;
        class->kernels += part;
        class->time_ns += part * dur_ns;
        if (!known)
            continue;
        class->known += part;
        class->wait_ns += part * (double)wait_ns;
        class->transfer_ns += part * (dur_ns - (double)wait_ns);
        class->transfer_bytes += (double)instance->bytes;
    }
    return 0;
}

static int split_kernel(struct comm_windows *all, const struct comm_chunk *chunk, const struct lane_kernel *kernel,
                        struct comm_split *split)
{
    uint64_t until_ns = 0;
    enum instance_wait wait =
        kernel->bundle ? comm_bundle_wait(kernel->bundle, &all->instances, kernel->device, &until_ns) : WAIT_NEVER;
    bool known = wait == WAIT_KNOWN;
    until_ns = until_ns > kernel->start_ns ? until_ns : kernel->start_ns;
    until_ns = until_ns < kernel->end_ns ? until_ns : kernel->end_ns;
    until_ns = known ? until_ns : kernel->start_ns;
    if (kernel->bundle && !kernel->counted && count_kernel(all, kernel, known, until_ns - kernel->start_ns))
        return -ENOMEM;
    if (kernel->device != chunk->device)
        return 0;
    int rc = intervals_add(&split->transfer, until_ns, kernel->end_ns);
    if (!rc && !known)
        rc = intervals_add(&split->unknown, kernel->start_ns, kernel->end_ns);
    if (!rc && known && comm_bundle_is_pipeline(kernel->bundle))
        rc = intervals_add(&split->bubble, kernel->start_ns, until_ns);
    return rc;
}

/* [start, end) less the set: how much of it is left, and how much of that lies in `within`. */
static uint64_t measure_rest(const struct intervals *set, uint64_t start_ns, uint64_t end_ns,
                             const struct intervals *within, uint64_t *ret_within_ns)
{
    size_t nr;
    const struct interval *taken = intervals_within(set, start_ns, end_ns, &nr);
    uint64_t at = start_ns, sum = 0;
    *ret_within_ns = 0;
    for (size_t i = 0; i <= nr; i++) {
        uint64_t stop = i < nr ? taken[i].start_ns : end_ns;
        if (stop > at) {
            sum += stop - at;
            *ret_within_ns += intervals_measure(within, at, stop);
        }
        if (i < nr)
            at = taken[i].end_ns;
    }
    return sum;
}

static int sum_chunk(struct comm_windows *all, struct comm_rank *rank, const struct comm_chunk *chunk)
{
    struct comm_split split = {0};
    int rc = 0;
    for (size_t i = 0; i < chunk->nr_kernels && !rc; i++)
        rc = split_kernel(all, chunk, &chunk->kernels[i], &split);
    for (size_t i = 0; i < chunk->nr_exposed && !rc; i++) {
        const struct interval *exposed = &chunk->exposed[i];
        uint64_t bubble_ns;
        rank->exposed_ns += exposed->end_ns - exposed->start_ns;
        rank->unknown_ns += intervals_measure(&split.unknown, exposed->start_ns, exposed->end_ns);
        rank->wait_ns += measure_rest(&split.transfer, exposed->start_ns, exposed->end_ns, &split.bubble, &bubble_ns);
        rank->bubble_ns += bubble_ns;
    }
    split_done(&split);
    return rc;
}

static int add_row(struct comm_windows *all, struct comm_rank *rank, struct report_step *row)
{
    const struct comm_lane *lane = lane_find(all, rank->facts->rank->process);
    struct rank_facts *facts = rank->facts;
    bool counts = !row->warmup && !row->incomplete;
    bool known = row->comm_overlapped_ns != TR_UNKNOWN && lane && lane->nr_calls &&
                 (double)rank->unknown_ns <= TH_COMM_UNKNOWN_SHARE * (double)rank->exposed_ns;
    if (known) {
        row->comm_wait_ns = (int64_t)rank->wait_ns;
        row->comm_transfer_ns = (int64_t)(rank->exposed_ns - rank->wait_ns);
        row->pp_bubble_ns = (int64_t)rank->bubble_ns;
    }
    if (known && counts) {
        facts->comm_windows++;
        facts->comm_window_ns += row->end_ns - row->start_ns;
        facts->comm_wait_ns += rank->wait_ns;
        facts->comm_transfer_ns += rank->exposed_ns - rank->wait_ns;
        facts->pp_bubble_ns += rank->bubble_ns;
    }
    if (counts && row->comm_overlapped_ns != TR_UNKNOWN)
        facts->comm_overlapped_ns += (uint64_t)row->comm_overlapped_ns;
    rank->exposed_ns = rank->wait_ns = rank->bubble_ns = rank->unknown_ns = 0;
    return report_add_step(all->report, row);
}

/* ---- when all is known -------------------------------------------------------------------- */

static bool is_known(const struct comm_windows *all, struct comm_chunk *chunk)
{
    uint64_t ns;
    for (; chunk->nr_known < chunk->nr_kernels; chunk->nr_known++) {
        const struct lane_kernel *kernel = &chunk->kernels[chunk->nr_known];
        if (kernel->bundle && comm_bundle_wait(kernel->bundle, &all->instances, kernel->device, &ns) == WAIT_OPEN)
            return false;
    }
    return true;
}

static int take_chunk(struct comm_windows *all, struct comm_rank *rank)
{
    struct comm_chunk *chunk = rank->first;
    int rc = chunk->is_row ? add_row(all, rank, &chunk->row) : sum_chunk(all, rank, chunk);
    rank->first = chunk->next;
    rank->last = chunk->next ? rank->last : NULL;
    rank->nr_pending -= chunk->nr_kernels;
    chunk_free(all, chunk);
    return rc;
}

int comm_windows_advance(struct comm_windows *all, size_t index)
{
    struct comm_rank *rank = &all->ranks[index];
    int rc = 0;
    while (!rc && rank->first && (rank->nr_pending > (size_t)TH_COMM_PENDING_MAX || is_known(all, rank->first)))
        rc = take_chunk(all, rank);
    return rc;
}

int comm_windows_finish(struct comm_windows *all)
{
    int rc = clock_map_end(&all->instances.clock);
    for (size_t i = 0; i < all->job->nr_ranks; i++)
        while (!rc && all->ranks[i].first)
            rc = take_chunk(all, &all->ranks[i]);
    return rc;
}
