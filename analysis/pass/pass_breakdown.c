/* pass_breakdown.c - where each step's time went.
 *
 * A window of a rank is split by what its training thread was doing (model/layers.h): every event of that thread that
 * tells of a stretch of time becomes a piece; when the window is over and late events have come, pieces become spans of
 * layers, and the spans are swept. On a GPU job the window lies on the GPU's timeline; kernels, communication and
 * copies are spans of the first three layers (gpu_window.h), and what is left after all of them is `host` instead of
 * `compute`.
 *
 * Short waits are known by their sum only: they are spread evenly over the time in which they were counted, and taken
 * from what would be compute there. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/model/facts.h"
#include "analysis/model/job.h"
#include "analysis/pass/pass.h"
#include "analysis/pass/step_window.h"
#include "analysis/pass/thresholds.h"
#include "analysis/report/report.h"

static const enum breakdown_class class_of_layer[LAYER_MAX + 1] = {
    [LAYER_KERNEL] = BC_compute,  [LAYER_COMM] = BC_comm_exposed,     [LAYER_COPY] = BC_copy_exposed,
    [LAYER_DATA] = BC_dataloader, [LAYER_CHECKPOINT] = BC_checkpoint, [LAYER_SYNC] = BC_sync,
    [LAYER_LAUNCH] = BC_host,     [LAYER_HELPER] = BC_sync,           [LAYER_BLOCKED] = BC_other,
};

static void pass_free(void *arg)
{
    struct pass_breakdown *self = arg;
    if (!self)
        return;
    comm_windows_done(&self->comm);
    for (size_t i = 0; self->windows && i < self->job->nr_ranks; i++) {
        pieces_done(&self->windows[i].pieces);
        gpu_window_done(&self->windows[i].gpu);
    }
    free(self->windows);
    free(self->is_dataset);
    free(self->spans);
    free(self);
}

static bool alloc_facts(struct job *job)
{
    struct facts *facts = job->facts;
    facts->ranks = calloc(job->nr_ranks + 1, sizeof(*facts->ranks));
    if (!facts->ranks)
        return false;
    for (; facts->nr_ranks < job->nr_ranks; facts->nr_ranks++) {
        struct rank_facts *rank = &facts->ranks[facts->nr_ranks];
        rank->rank = job->ranks[facts->nr_ranks];
        rank->waits = calloc(FACTS_WAITS_MAX, sizeof(*rank->waits));
        if (!rank->waits)
            return false;
    }
    return true;
}

static void *new (const struct options *options, struct job *job, struct report *report)
{
    struct pass_breakdown *self = calloc(1, sizeof(*self));
    if (!self)
        return NULL;
    *self = (struct pass_breakdown){.job = job, .report = report};
    self->windows = calloc(job->nr_ranks + 1, sizeof(*self->windows));
    self->is_dataset = calloc(job->groups.nr + 1, sizeof(*self->is_dataset));
    if (!self->windows || !self->is_dataset || !alloc_facts(job) || comm_windows_init(&self->comm, job, report)) {
        pass_free(self);
        return NULL;
    }
    for (size_t i = 0; i < job->nr_ranks; i++) {
        struct rank *rank = job->ranks[i];
        self->windows[i] = (struct window_state){.rank = rank,
                                                 .start_ns = rank->begin_ns,
                                                 .cursor_ns = rank->begin_ns,
                                                 .ranges = !rank->waits_only,
                                                 .facts = &job->facts->ranks[i]};
        gpu_window_init(&self->windows[i].gpu, rank, job->method != ANCHORS_run);
        /* Marks and batches begin their step, so what the last one launches comes after all that is known of the loop.
         */
        if (job->method == ANCHORS_mark || job->method == ANCHORS_dataloader)
            self->windows[i].gpu.gpu.loop_end_ns = UINT64_MAX;
    }
    return self;
}

/* ---- summing up --------------------------------------------------------------------------- */

/* How the thread spent its data time, for the case that it loads by itself: the same sweep with waits first. */
static int measure_loading(struct window_state *state, struct span *spans, size_t nr, uint64_t to_ns,
                           const uint64_t split[LAYER_MAX + 1])
{
    uint64_t with_waits[LAYER_MAX + 1];
    for (size_t i = 0; i < nr; i++)
        if (spans[i].layer == LAYER_BLOCKED)
            spans[i].layer = LAYER_KERNEL;
    int rc = layers_split(spans, nr, state->cursor_ns, to_ns, with_waits);
    if (rc)
        return rc;
    uint64_t left = with_waits[LAYER_DATA] < split[LAYER_DATA] ? split[LAYER_DATA] - with_waits[LAYER_DATA] : 0;
    state->facts->data_ns += split[LAYER_DATA];
    state->facts->data_blocked_ns += left;
    for (size_t i = 0; i < pieces_before(&state->pieces, to_ns); i++) {
        const struct piece *piece = &state->pieces.list[state->pieces.head + i];
        if (piece->kind == PIECE_READ && piece->end_ns <= to_ns && group_is_data(piece->group))
            state->facts->data_read_ns += piece->busy_ns;
    }
    return 0;
}

/* Short waits lie anywhere in the time that is not a recorded wait; those within data or checkpoint time are that, and
 * those while the GPU is busy are its. `host` is the sweep without the GPU. */
static uint64_t short_waits_while_running(const struct window_state *state, uint64_t to_ns,
                                          const uint64_t host[LAYER_MAX + 1], const uint64_t split[LAYER_MAX + 1])
{
    double total = (double)pieces_spread_within(&state->pieces, state->cursor_ns, to_ns);
    double running = (double)split[LAYER_MAX];
    double possible = (double)host[LAYER_MAX] + (double)host[LAYER_DATA] + (double)host[LAYER_CHECKPOINT];
    uint64_t ns = possible > 0 ? (uint64_t)(total * (running / possible)) : 0;
    return ns < split[LAYER_MAX] ? ns : split[LAYER_MAX];
}

/* The same sweep with the device's part in front; the host's spans stay as they are. */
static int add_gpu(struct pass_breakdown *self, struct window_state *state, size_t nr_host, uint64_t to_ns,
                   const uint64_t host[LAYER_MAX + 1], uint64_t split[LAYER_MAX + 1])
{
    size_t more = gpu_window_spans(&state->gpu, state->cursor_ns, to_ns, NULL), nr = nr_host + more;
    size_t pieces = pieces_before(&state->pieces, to_ns);
    int rc = window_reserve_spans(self, nr + nr_host + pieces);
    if (rc)
        return rc;
    gpu_window_spans(&state->gpu, state->cursor_ns, to_ns, self->spans + nr_host);
    rc = layers_split(self->spans, nr, state->cursor_ns, to_ns, split);
    return rc ? rc
              : gpu_window_sum(&state->gpu, &state->pieces, self->spans, nr_host, nr, state->cursor_ns, to_ns, split,
                               host);
}

/* Sums up [cursor, to) and forgets it. */
static int sum_up(struct pass_breakdown *self, struct window_state *state, uint64_t to_ns)
{
    uint64_t host[LAYER_MAX + 1], split[LAYER_MAX + 1];
    size_t nr = 0;
    if (to_ns <= state->cursor_ns)
        return 0;
    int rc = window_spans(self, state, to_ns, &nr);
    rc = rc ? rc : layers_split(self->spans, nr, state->cursor_ns, to_ns, host);
    memcpy(split, host, sizeof(split));
    if (!rc && gpu_window_used(&state->gpu))
        rc = add_gpu(self, state, nr, to_ns, host, split);
    rc = rc ? rc : comm_windows_sum(&self->comm, state->rank->index, &state->gpu, state->cursor_ns, to_ns);
    rc = rc ? rc : measure_loading(state, self->spans, nr, to_ns, host);
    if (rc)
        return rc;
    uint64_t short_waits = short_waits_while_running(state, to_ns, host, split);
    split[LAYER_MAX] -= short_waits;
    split[LAYER_BLOCKED] += short_waits;
    for (unsigned layer = 0; layer < LAYER_MAX; layer++)
        state->sum_ns[class_of_layer[layer]] += split[layer];
    /* Running: on a job without a GPU that is computing. */
    state->sum_ns[gpu_window_used(&state->gpu) ? BC_host : BC_compute] += split[LAYER_MAX];
    for (size_t i = state->pieces.head; i < state->pieces.nr; i++) {
        const struct piece *piece = &state->pieces.list[i];
        if (piece->end_ns > to_ns)
            continue; /* its turn comes in the next window */
        struct checkpoint *checkpoint = piece->kind == PIECE_WAIT ? window_awaited(state, piece) : NULL;
        if (checkpoint)
            checkpoint->stall_ns += piece->end_ns - piece->start_ns;
        checkpoint =
            piece->kind == PIECE_WRITE || piece->kind == PIECE_FILE_OP ? window_own_checkpoint(state, piece) : NULL;
        if (checkpoint)
            checkpoint->write_ns += piece->kind == PIECE_WRITE ? piece->busy_ns : piece->end_ns - piece->start_ns;
    }
    pieces_forget(&state->pieces, to_ns);
    state->cursor_ns = to_ns;
    return 0;
}

static void note_checkpoints(struct window_state *state, uint64_t end_ns)
{
    for (size_t i = 0; i < state->rank->nr_checkpoints; i++) {
        struct checkpoint *checkpoint = &state->rank->checkpoints[i];
        if (checkpoint->start_ns >= end_ns)
            break;
        if (checkpoint->step == TR_UNKNOWN && checkpoint->start_ns >= state->start_ns)
            checkpoint->step = (int64_t)(state->rank->step_base + state->index);
    }
    while (state->next_checkpoint < state->rank->nr_checkpoints &&
           state->rank->checkpoints[state->next_checkpoint].end_ns + TH_CKPT_TAIL_NS < end_ns)
        state->next_checkpoint++;
}

static void count_window(struct window_state *state, const struct report_step *row)
{
    struct rank_facts *facts = state->facts;
    if (row->warmup || row->incomplete)
        return;
    facts->windows++;
    facts->window_ns += row->end_ns - row->start_ns;
    for (unsigned i = 0; i < BC_MAX; i++)
        facts->class_ns[i] += (uint64_t)row->class_ns[i];
    if (facts->nr_waits < FACTS_WAITS_MAX)
        facts->waits[facts->nr_waits++] = (float)row->class_ns[BC_dataloader];
    histogram_add(&facts->step_lengths, row->end_ns - row->start_ns, 1);
}

/* next_point_ns: where the next window begins for the host. */
static int close_window(struct pass_breakdown *self, struct window_state *state, uint64_t end_ns,
                        uint64_t next_point_ns, bool incomplete)
{
    if (end_ns < state->cursor_ns)
        end_ns = state->cursor_ns;
    int rc = sum_up(self, state, end_ns);
    if (rc)
        return rc;
    enum gpu_gap gap = gpu_window_gap(&state->gpu, state->start_ns, end_ns);
    state->facts->gpu.gap_windows += gap == GPU_GAP_MISSED;
    struct report_step row = {.step = (uint32_t)(state->rank->step_base + state->index),
                              .rank = state->rank->number,
                              .warmup = state->index < state->rank->warmup,
                              .incomplete = incomplete || gap != GPU_GAP_MAX,
                              .start_ns = state->start_ns,
                              .end_ns = end_ns,
                              .comm_wait_ns = TR_UNKNOWN,
                              .comm_transfer_ns = TR_UNKNOWN,
                              .pp_bubble_ns = TR_UNKNOWN,
                              .comm_overlapped_ns = TR_UNKNOWN,
                              .kernels = TR_UNKNOWN,
                              .launch_latency_ns = NAN,
                              .queue_depth = NAN};
    for (unsigned i = 0; i < BC_MAX; i++)
        row.class_ns[i] = (int64_t)state->sum_ns[i];
    row.dataloader_host_wait_ns = row.class_ns[BC_dataloader];
    gpu_window_close(&state->gpu, &row, next_point_ns, &state->facts->gpu);
    count_window(state, &row);
    note_checkpoints(state, end_ns);
    memset(state->sum_ns, 0, sizeof(state->sum_ns));
    state->start_ns = state->cursor_ns = end_ns;
    state->index++;
    if (process_is_unseen(state->rank->process))
        return 0; /* no hook was there to tell what it did: a row would call all of it compute */
    rc = comm_windows_row(&self->comm, state->rank->index, &row);
    return rc ? rc : comm_windows_advance(&self->comm, state->rank->index);
}

/* The first window begins at the first point, which the survey knew already; unless part of it is summed up, it is set
 * again, for a trace may grow between the scans. */
static void begin_first(struct window_state *state)
{
    if (state->index || state->cursor_ns != state->start_ns || !state->rank->nr_points)
        return;
    state->gpu.point_ns = state->start_ns = rank_point(state->rank, 0);
    if (gpu_window_used(&state->gpu))
        gpu_point(&state->gpu.gpu, state->gpu.point_ns, UINT64_MAX, &state->start_ns);
    state->cursor_ns = state->start_ns;
}

/* Where the window up to the rank's next point ends, and whether all that can lie in it is known by `now`. On the GPU
 * it ends when the first kernel launched after that point begins. */
static bool window_is_over(const struct pass_breakdown *self, const struct window_state *state, uint64_t now_ns,
                           uint64_t *ret_end_ns)
{
    uint64_t point_ns = rank_point(state->rank, 1);
    *ret_end_ns = point_ns;
    if (point_ns + TH_LATE_NS >= now_ns)
        return false;
    if (!gpu_window_used(&state->gpu)) /* what uses a GPU may not have told of it yet */
        return !state->rank->process->gpus || point_ns + TH_GPU_LATE_NS < now_ns;
    return gpu_point(&state->gpu.gpu, point_ns, now_ns, ret_end_ns) && *ret_end_ns + TH_LATE_NS < now_ns &&
           gpu_complete(&state->gpu.gpu, now_ns) >= *ret_end_ns;
}

/* Up to when a window that is too large can be summed up before it is over. */
static uint64_t known_until(const struct window_state *state, uint64_t now_ns)
{
    uint64_t until = state->content_ns > (uint64_t)TH_LATE_NS ? state->content_ns - TH_LATE_NS : 0;
    uint64_t gpu = gpu_window_used(&state->gpu) ? gpu_complete(&state->gpu.gpu, now_ns) : until;
    return gpu < until ? gpu : until;
}

/* Closes the windows that nothing can be added to any more. */
static int advance(struct pass_breakdown *self, struct window_state *state, uint64_t now_ns)
{
    struct rank *rank = state->rank;
    uint64_t end_ns;
    int rc = 0;
    while (!rc && rank->nr_points >= 2 && window_is_over(self, state, now_ns, &end_ns)) {
        begin_first(state);
        rc = close_window(self, state, end_ns, rank_point(rank, 1), false);
        rank_points_drop(rank, 1);
    }
    /* A window with very many pieces is summed up as far as nothing can come late. */
    if (!rc &&
        (state->pieces.nr - state->pieces.head > TH_PENDING_MAX || gpu_window_pending(&state->gpu) > TH_PENDING_MAX))
        rc = sum_up(self, state, known_until(state, now_ns));
    return rc ? rc : comm_windows_advance(&self->comm, rank->index);
}

/* ---- events ------------------------------------------------------------------------------- */

/* What a process reads that brings batches is the data set. */
static void see_loader(struct pass_breakdown *self, const struct event *event)
{
    const struct name *name = self->job->name;
    bool reads = (event->kind == EV_file_io && event->u.file_io.op == TR_io_op_read) ||
                 (event->kind == EV_sock_io && event->u.sock_io.op == TR_io_op_read);
    if (reads && self->job->process->feeds && name && group_is_data(name->group))
        self->is_dataset[name->group->index] = true;
}

static void see_exit(struct pass_breakdown *self, const struct event *event)
{
    const struct process *trainer = self->job->process->feeds ? self->job->process->parent : NULL;
    while (trainer && trainer->role != ROLE_trainer)
        trainer = trainer->parent;
    if (!trainer)
        return;
    struct window_state *state = &self->windows[trainer->rank->index];
    state->exits_ns[state->nr_exits++ % EXITS_MAX] = event->u.exit.start_ns;
}

static bool is_of_gpu(const struct event *event)
{
    switch (event->kind) {
    case EV_kernel:
    case EV_gpu_copy:
    case EV_gpu_set:
    case EV_gpu_until:
    case EV_gap:
    case EV_gemm:
    case EV_cuda_call:
        return true;
    default:
        return false;
    }
}

static int event(void *arg, const struct event *event)
{
    struct pass_breakdown *self = arg;
    const struct process *process = self->job->process;
    const struct rank *rank = thread_rank(self->job->thread);
    int rc = 0;
    if (event->kind == EV_coll || event->kind == EV_kernel)
        rc = comm_windows_event(&self->comm, event);
    if (!rc && process->role == ROLE_trainer && process->rank && !rank &&
        self->windows[process->rank->index].launcher == self->job->thread->tid)
        rc = window_add_return(&self->windows[process->rank->index], event);
    if (!rc && process->role == ROLE_trainer && process->rank && is_of_gpu(event)) {
        struct window_state *state = &self->windows[process->rank->index];
        rc = window_add_gpu(self->job, state, event, rank != NULL);
        if (!rc && event->kind == EV_gpu_until)
            rc = advance(self, state, event->ts_ns);
        if (rc || !rank || event->kind != EV_cuda_call)
            return rc;
    }
    if (!rank || rc) {
        if (!rc && event->kind == EV_exit)
            see_exit(self, event);
        else if (!rc && self->job->process->role != ROLE_trainer)
            see_loader(self, event);
        return rc;
    }
    struct window_state *state = &self->windows[rank->index];
    if (event->ts_ns <= rank->begin_ns)
        return 0; /* before the first window */
    rc = window_add_piece(self->job, state, event);
    if (event->ts_ns > state->content_ns)
        state->content_ns = event->ts_ns;
    return rc ? rc : advance(self, state, event->ts_ns);
}

static int finish_rank(struct pass_breakdown *self, struct window_state *state)
{
    struct rank *rank = state->rank;
    int rc = advance(self, state, UINT64_MAX);
    if (rc)
        return rc;
    begin_first(state);
    if (!rank->nr_points && self->job->method != ANCHORS_run)
        return 0; /* it never passed an anchor: there is no window to tell of */
    bool steps = self->job->method != ANCHORS_run;
    const struct gpu_device *device = gpu_main(&state->gpu.gpu);
    state->facts->gpu.info = device ? process_gpu(rank->process, device->device) : NULL;
    rc = close_window(self, state, steps && device ? device->last_end_ns : rank->end_ns, rank->end_ns, steps);
    for (size_t i = 0; i < rank->nr_checkpoints; i++) {
        struct checkpoint *checkpoint = &rank->checkpoints[i];
        if (checkpoint->own)
            checkpoint->stall_ns = checkpoint->end_ns - checkpoint->start_ns;
        checkpoint->stall_ns += checkpoint->copy_ns;
    }
    return rc;
}

static int finish(void *arg, struct report *report)
{
    struct pass_breakdown *self = arg;
    int rc = 0;
    for (size_t i = 0; i < self->job->nr_ranks && !rc; i++)
        rc = finish_rank(self, &self->windows[i]);
    return rc ? rc : comm_windows_finish(&self->comm);
}

const struct pass pass_breakdown = {"breakdown", "each step's time by class", new, event, finish, pass_free};
