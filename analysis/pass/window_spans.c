/* window_spans.c - what the pieces of a step window mean: each becomes a span of a layer (model/layers.h), or nothing.
 *
 * Input: the pieces that window_pieces.c kept, the checkpoints and hand-overs of the model. One thread; no state of its
 * own. Must never look at the GPU's timeline, except whether a copy made its caller wait. */
#include "analysis/pass/step_window.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/model/handoff.h"
#include "analysis/model/job.h"
#include "analysis/pass/thresholds.h"

/* Whether a wait of the training thread is one for a checkpoint that another thread or process writes: the writer ended
 * it, or it ended when the checkpoint did; or the writer is a thread of the same Python and holds its GIL. */
struct checkpoint *window_awaited(const struct window_state *state, const struct piece *piece)
{
    for (size_t i = state->next_checkpoint; i < state->rank->nr_checkpoints; i++) {
        struct checkpoint *checkpoint = &state->rank->checkpoints[i];
        if (checkpoint->start_ns >= piece->end_ns)
            break;
        if (checkpoint->own || checkpoint->end_ns <= piece->start_ns)
            continue;
        bool ended_with_it = piece->end_ns + TH_CKPT_JOIN_NS > checkpoint->end_ns &&
                             piece->end_ns < checkpoint->end_ns + TH_CKPT_JOIN_NS;
        bool for_gil = piece->wait_kind == TR_wait_kind_cond && checkpoint->thread->process == state->rank->process;
        if (ended_with_it || for_gil || (piece->waker && piece->waker == checkpoint->thread->tid))
            return checkpoint;
    }
    return NULL;
}

/* The checkpoint that the training thread was writing then. */
struct checkpoint *window_own_checkpoint(const struct window_state *state, const struct piece *piece)
{
    for (size_t i = state->next_checkpoint; i < state->rank->nr_checkpoints; i++) {
        struct checkpoint *checkpoint = &state->rank->checkpoints[i];
        if (checkpoint->start_ns > piece->start_ns)
            break;
        if (checkpoint->own && piece->start_ns < checkpoint->end_ns)
            return checkpoint;
    }
    return NULL;
}

static bool near_own_checkpoint(const struct window_state *state, const struct piece *piece)
{
    for (size_t i = state->next_checkpoint; i < state->rank->nr_checkpoints; i++) {
        const struct checkpoint *checkpoint = &state->rank->checkpoints[i];
        if (checkpoint->start_ns > piece->end_ns)
            break;
        if (checkpoint->own && piece->start_ns < checkpoint->end_ns + TH_CKPT_TAIL_NS)
            return true;
    }
    return false;
}

static bool is_dataset(const struct pass_breakdown *self, const struct window_state *state, const struct group *group)
{
    if (!group_is_data(group))
        return false;
    /* Without ranges and workers nothing tells data apart; what is read again and again while steps run is it. */
    return self->is_dataset[group->index] || (!state->ranges && !state->rank->process->fed);
}

/* At the end of an epoch the training thread waits, as part of asking for a batch, until its workers are gone. */
static bool is_for_workers_end(const struct window_state *state, const struct piece *piece)
{
    if (piece->wait_kind != TR_wait_kind_poll && piece->wait_kind != TR_wait_kind_child &&
        piece->wait_kind != TR_wait_kind_join)
        return false;
    for (size_t i = 0; i < EXITS_MAX && i < state->nr_exits; i++)
        if (piece->start_ns <= state->exits_ns[i] + TH_EXIT_NS && piece->end_ns >= state->exits_ns[i] &&
            piece->end_ns < state->exits_ns[i] + TH_EXIT_NS)
            return true;
    return false;
}

static enum layer layer_of(const struct pass_breakdown *self, const struct window_state *state,
                           const struct piece *piece)
{
    const struct thread *thread = state->rank->trainer;
    const struct tr_wait wait = {.kind = piece->wait_kind, .obj = piece->obj, .waker = piece->waker};
    switch ((enum piece_kind)piece->kind) {
    case PIECE_DATA_RANGE:
        return LAYER_DATA;
    case PIECE_READ:
        return is_dataset(self, state, piece->group) ? LAYER_DATA : LAYER_BLOCKED;
    case PIECE_WRITE:
        return LAYER_BLOCKED;
    case PIECE_FEED:
        return handoff_is_read(self->job, thread, piece->obj) ? LAYER_DATA : LAYER_MAX;
    case PIECE_WAIT:
        if (handoff_is_wait(self->job, thread, &wait) || (!state->ranges && is_for_workers_end(state, piece)))
            return LAYER_DATA;
        return window_awaited(state, piece) ? LAYER_CHECKPOINT : LAYER_BLOCKED;
    case PIECE_FILE_OP:
        return near_own_checkpoint(state, piece) ? LAYER_CHECKPOINT : LAYER_BLOCKED;
    case PIECE_CUDA:
        return LAYER_SYNC;
    case PIECE_COPY: /* asking for it is work */
        return gpu_window_waited(&state->gpu, piece->start_ns, piece->end_ns) ? LAYER_SYNC : LAYER_MAX;
    case PIECE_HELPER:
        return gpu_window_used(&state->gpu) ? LAYER_HELPER : LAYER_MAX;
    case PIECE_LAUNCH:
    case PIECE_REST:
    case PIECE_BACK:
        return gpu_window_used(&state->gpu) ? LAYER_LAUNCH : LAYER_MAX;
    }
    return LAYER_MAX;
}

/* ---- spans -------------------------------------------------------------------------------------- */

int window_reserve_spans(struct pass_breakdown *self, size_t nr)
{
    if (nr <= self->capacity_spans)
        return 0;
    struct span *spans = realloc(self->spans, nr * 2 * sizeof(*spans));
    if (!spans)
        return -ENOMEM;
    self->spans = spans;
    self->capacity_spans = nr * 2;
    return 0;
}

/* Reads inside a DataLoader range show where the data set lies. */
static void learn_dataset(struct pass_breakdown *self, const struct window_state *state, size_t nr)
{
    uint64_t range_end = 0;
    for (size_t i = 0; i < nr; i++) {
        const struct piece *piece = &state->pieces.list[state->pieces.head + i];
        if (piece->kind == PIECE_DATA_RANGE && piece->end_ns > range_end)
            range_end = piece->end_ns;
        else if (piece->kind == PIECE_READ && piece->end_ns <= range_end && group_is_data(piece->group))
            self->is_dataset[piece->group->index] = true;
    }
}

/* What a thread exchanges with workers over local sockets right after it was told of a batch is how it gets at it. */
static bool is_exchange(const struct piece *piece)
{
    return piece->kind == PIECE_FEED || (piece->kind == PIECE_WAIT && (piece->wait_kind == TR_wait_kind_pipe ||
                                                                       piece->wait_kind == TR_wait_kind_sock));
}

/* Copying the state for a thread that will write it: what the training thread does from the end of its optimizer to the
 * begin of the checkpoint, if it neither fetches data in between (an evaluation) nor takes longer than copying does. An
 * empty span if so, and for what it writes itself, where that much before the file is made is mostly something else. */
static struct span copying(const struct pass_breakdown *self, const struct window_state *state,
                           const struct checkpoint *checkpoint)
{
    uint64_t from = state->gpu.point_ns, to = checkpoint->start_ns;
    if (checkpoint->own || self->job->method != ANCHORS_optimizer || state->cursor_ns != state->start_ns || to <= from)
        return (struct span){.layer = LAYER_CHECKPOINT};
    if (checkpoint > state->rank->checkpoints && checkpoint[-1].own && checkpoint[-1].end_ns > from)
        from = checkpoint[-1].end_ns;
    for (size_t i = 0; i < pieces_before(&state->pieces, checkpoint->start_ns); i++) {
        const struct piece *piece = &state->pieces.list[state->pieces.head + i];
        enum layer layer = piece->end_ns > from ? layer_of(self, state, piece) : LAYER_MAX;
        if (layer == LAYER_CHECKPOINT && piece->end_ns <= checkpoint->start_ns)
            from = piece->end_ns; /* it waited for the one before */
        else if (layer == LAYER_DATA && piece->start_ns < to)
            to = piece->start_ns;
    }
    /* A writer begins a little after it was handed the state: the next fetch may have come before. */
    bool fetched = to + TH_CKPT_JOIN_NS < checkpoint->start_ns;
    if (fetched || to <= from || (double)(to - from) > (double)checkpoint->bytes / TH_CKPT_COPY_RATE * 1e9)
        return (struct span){.layer = LAYER_CHECKPOINT};
    return (struct span){from, to, LAYER_CHECKPOINT};
}

/* ---- the thread that launches besides the training thread -------------------------------------- */

static const struct piece *next_of_launcher(const struct pieces *pieces, size_t from)
{
    for (size_t i = pieces->head + from; i < pieces->nr; i++) {
        unsigned kind = pieces->list[i].kind;
        if (kind == PIECE_LAUNCH || kind == PIECE_REST || kind == PIECE_BACK)
            return &pieces->list[i];
    }
    return NULL;
}

/* A thread that launches and whose waits are told is at work from one burst of launches, or from the end of a wait, to
 * its next launches, and from these to its next wait, on a CPU or not: it waits for nothing. */
static bool works_until(const struct launching *last, const struct piece *piece)
{
    if (!piece || last->thread != piece->obj)
        return false;
    return piece->kind == PIECE_LAUNCH ? last->waits : piece->kind == PIECE_REST && last->launched;
}

static struct launching then(const struct launching *last, const struct piece *piece)
{
    bool launches = piece->kind == PIECE_LAUNCH;
    bool told = (last->thread == piece->obj && last->waits) || !launches;
    return (struct launching){piece->obj, told, launches};
}

static void reach(struct span *span, uint64_t to_ns)
{
    if (span && span->end_ns < to_ns)
        span->end_ns = to_ns;
}

int window_spans(struct pass_breakdown *self, struct window_state *state, uint64_t to_ns, size_t *ret_nr)
{
    size_t nr_pieces = pieces_before(&state->pieces, to_ns), nr = 0;
    uint64_t fetched_ns = 0;      /* end of the latest fetch, as far as waits and reads tell */
    struct span *launcher = NULL; /* what it did last */
    int rc = window_reserve_spans(self, nr_pieces + 2 * state->rank->nr_checkpoints + 2);
    if (rc)
        return rc;
    learn_dataset(self, state, nr_pieces);
    if (gpu_window_used(&state->gpu) && works_until(&state->launching, next_of_launcher(&state->pieces, 0))) {
        uint64_t begin_ns = next_of_launcher(&state->pieces, 0)->start_ns;
        launcher = &self->spans[nr++];
        *launcher = (struct span){state->cursor_ns, begin_ns < to_ns ? begin_ns : to_ns, LAYER_LAUNCH};
    }
    for (size_t i = 0; i < nr_pieces; i++) {
        const struct piece *piece = &state->pieces.list[state->pieces.head + i];
        enum layer layer = layer_of(self, state, piece);
        uint64_t start_ns = piece->start_ns;
        if (!state->ranges && layer != LAYER_DATA && fetched_ns && is_exchange(piece) &&
            start_ns <= fetched_ns + TH_EXCHANGE_NS) {
            layer = LAYER_DATA;
            start_ns = fetched_ns < start_ns ? fetched_ns : start_ns;
        }
        if (layer == LAYER_DATA && piece->end_ns > fetched_ns)
            fetched_ns = piece->end_ns;
        /* A burst that is nothing of its own is blocked only while inside its calls. */
        bool is_burst = (layer == LAYER_BLOCKED || layer == LAYER_SYNC) && piece->busy_ns &&
                        piece->busy_ns < piece->end_ns - piece->start_ns;
        if (layer == LAYER_LAUNCH) {
            if (works_until(&state->launching, piece))
                reach(launcher, piece->start_ns);
            state->launching = then(&state->launching, piece);
            launcher = &self->spans[nr];
        }
        if (layer != LAYER_MAX)
            self->spans[nr++] =
                (struct span){start_ns, is_burst ? piece->start_ns + piece->busy_ns : piece->end_ns, layer};
    }
    if (works_until(&state->launching, next_of_launcher(&state->pieces, nr_pieces)))
        reach(launcher, to_ns);
    if (!state->ranges) /* what is done between two reads of a batch belongs to fetching it */
        layers_join(self->spans, nr, LAYER_DATA, TH_JOIN_NS);
    layers_join(self->spans, nr, LAYER_LAUNCH, TH_LAUNCH_JOIN_NS);
    layers_stretch(self->spans, nr, LAYER_LAUNCH, LAYER_BLOCKED, TH_LAUNCH_JOIN_NS);
    for (size_t i = state->next_checkpoint; i < state->rank->nr_checkpoints; i++) {
        struct checkpoint *checkpoint = &state->rank->checkpoints[i];
        if (checkpoint->start_ns >= to_ns)
            break;
        if (checkpoint->start_ns >= state->cursor_ns) {
            struct span before = copying(self, state, checkpoint);
            checkpoint->copy_ns = before.end_ns - before.start_ns;
            self->spans[nr++] = before;
        }
        if (checkpoint->own)
            self->spans[nr++] = (struct span){checkpoint->start_ns, checkpoint->end_ns, LAYER_CHECKPOINT};
    }
    *ret_nr = nr;
    return 0;
}
