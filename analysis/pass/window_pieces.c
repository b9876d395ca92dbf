/* window_pieces.c - what a training thread did, event by event: each that tells of a stretch of time becomes a piece.
 *
 * Input: events of the training thread, from pass_breakdown. What a piece means is decided when its window is over
 * (window_spans.c), for much is learned later. One thread. */
#include "analysis/pass/step_window.h"

#include <string.h>

#include "analysis/event.h"
#include "analysis/model/facts.h"
#include "analysis/model/job.h"

/* Events about files give the start of a burst and how long it lasted; a short one is as long as its calls took. */
static int add_read(struct window_state *state, const struct name *place, uint64_t start_ns, uint64_t dur_ns,
                    uint32_t busy_ns, uint16_t count)
{
    return pieces_add(&state->pieces, &(struct piece){.kind = PIECE_READ,
                                                      .start_ns = start_ns,
                                                      .end_ns = start_ns + dur_ns,
                                                      .busy_ns = count > 1 ? busy_ns : dur_ns,
                                                      .group = place ? place->group : NULL});
}

static int add_wait(struct window_state *state, unsigned kind, uint64_t obj, uint32_t waker, uint64_t start_ns,
                    uint64_t dur_ns)
{
    return pieces_add(&state->pieces, &(struct piece){.kind = PIECE_WAIT,
                                                      .start_ns = start_ns,
                                                      .end_ns = start_ns + dur_ns,
                                                      .obj = obj,
                                                      .waker = waker,
                                                      .wait_kind = (uint8_t)kind});
}

/* Launching is work; what waits for the device or the driver blocks. */
static int add_cuda_call(struct window_state *state, const struct tr_cuda_call *call)
{
    if (call->act == TR_cuda_act_launch || call->act == TR_cuda_act_graph_launch || call->act == TR_cuda_act_query)
        return 0;
    bool copies = call->act == TR_cuda_act_copy || call->act == TR_cuda_act_set;
    return pieces_add(&state->pieces, &(struct piece){.kind = copies ? PIECE_COPY : PIECE_CUDA,
                                                      .start_ns = call->start_ns,
                                                      .end_ns = call->start_ns + call->dur_ns,
                                                      .busy_ns = call->count > 1 ? call->busy_ns : call->dur_ns,
                                                      .obj = call->act == TR_cuda_act_sync ? call->count : 0});
}

int window_add_piece(const struct job *job, struct window_state *state, const struct event *event)
{
    const struct tr_file_io *io = &event->u.file_io;
    const struct tr_file_meta *meta = &event->u.file_meta;
    const struct tr_sock_io *sock = &event->u.sock_io;
    const struct tr_pipe_io *pipe_io = &event->u.pipe_io;
    const struct tr_wait *wait = &event->u.wait;
    const struct tr_open_op *op = &event->u.open_op;
    const struct tr_file_op *file = &event->u.file_op;
    const struct tr_anchor *anchor = &event->u.anchor;
    switch (event->kind) {
    case EV_anchor:
        if (anchor->kind == TR_anchor_kind_dataloader && job->name)
            state->facts->has_workers |= strstr(job->name->text, "MultiProcessing") != NULL;
        return anchor->kind != TR_anchor_kind_dataloader
                   ? 0
                   : pieces_add(&state->pieces, &(struct piece){.kind = PIECE_DATA_RANGE,
                                                                .start_ns = anchor->start_ns,
                                                                .end_ns = anchor->start_ns + anchor->dur_ns});
    case EV_file_io:
        if (io->op == TR_io_op_write)
            return pieces_add(&state->pieces, &(struct piece){.kind = PIECE_WRITE,
                                                              .start_ns = io->start_ns,
                                                              .end_ns = io->start_ns + io->dur_ns,
                                                              .busy_ns = io->count > 1 ? io->busy_ns : io->dur_ns});
        return add_read(state, job->name, io->start_ns, io->dur_ns, io->busy_ns, io->count);
    case EV_file_meta:
        return add_read(state, job->name, meta->start_ns, meta->dur_ns, meta->busy_ns, meta->count);
    case EV_sock_io:
        if (sock->op == TR_io_op_write || sock->nccl)
            return 0;
        return add_read(state, job->name, sock->start_ns, sock->dur_ns, sock->busy_ns, sock->count);
    case EV_pipe_io:
        if (pipe_io->op == TR_io_op_write)
            return 0;
        return pieces_add(&state->pieces, &(struct piece){.kind = PIECE_FEED,
                                                          .start_ns = pipe_io->start_ns,
                                                          .end_ns = pipe_io->start_ns + pipe_io->dur_ns,
                                                          .obj = pipe_io->inode});
    case EV_wait:
        return add_wait(state, wait->kind, wait->obj, wait->waker, wait->start_ns, wait->dur_ns);
    case EV_open_op:
        return add_wait(state, op->kind, op->obj, 0, op->start_ns, op->age_ns);
    case EV_wait_sum:
        return pieces_spread(&state->pieces, event->u.wait_sum.since_ns, event->ts_ns, event->u.wait_sum.total_ns);
    case EV_cuda_call:
        return add_cuda_call(state, &event->u.cuda_call);
    case EV_segment:
        return pieces_add(&state->pieces,
                          &(struct piece){.kind = PIECE_CUDA,
                                          .start_ns = event->u.segment.start_ns,
                                          .end_ns = event->u.segment.start_ns + event->u.segment.dur_ns});
    case EV_file_op:
        return pieces_add(&state->pieces, &(struct piece){.kind = PIECE_FILE_OP,
                                                          .start_ns = file->start_ns,
                                                          .end_ns = file->start_ns + file->dur_ns});
    default:
        return 0;
    }
}

/* ---- the GPU, and who launches --------------------------------------------------------------- */

/* What its process tells of a rank's GPU, whichever thread it names; launches by other threads than the training thread
 * are work while that waits. */
int window_add_gpu(const struct job *job, struct window_state *state, const struct event *event, bool trainer)
{
    const struct tr_cuda_call *call = &event->u.cuda_call;
    bool launches =
        event->kind == EV_cuda_call && (call->act == TR_cuda_act_launch || call->act == TR_cuda_act_graph_launch);
    if (!launches)
        return gpu_window_event(&state->gpu, event, job->name);
    if (trainer || event->ts_ns <= state->rank->begin_ns)
        return 0;
    state->launcher = job->thread->tid;
    return pieces_add(&state->pieces, &(struct piece){.kind = PIECE_LAUNCH,
                                                      .start_ns = call->start_ns,
                                                      .end_ns = call->start_ns + call->dur_ns,
                                                      .obj = state->launcher});
}

/* What the thread that launches besides the training thread waited for, or was inside of, is over. */
int window_add_return(struct window_state *state, const struct event *event)
{
    const struct tr_cuda_call *call = &event->u.cuda_call;
    const struct tr_wait *wait = &event->u.wait;
    uint64_t start_ns = 0, end_ns = 0;
    bool blocks = event->kind == EV_wait;
    int rc = 0;
    if (event->kind == EV_wait) {
        start_ns = wait->start_ns;
        end_ns = start_ns + wait->dur_ns;
    } else if (event->kind == EV_cuda_call && call->act != TR_cuda_act_launch &&
               call->act != TR_cuda_act_graph_launch) {
        start_ns = call->start_ns;
        end_ns = start_ns + call->dur_ns;
        blocks = call->act == TR_cuda_act_sync || call->act == TR_cuda_act_malloc || call->act == TR_cuda_act_free;
    }
    if (end_ns <= state->rank->begin_ns)
        return 0;
    if (event->kind == EV_cuda_call && blocks)
        rc = pieces_add(&state->pieces, &(struct piece){.kind = PIECE_HELPER, .start_ns = start_ns, .end_ns = end_ns});
    if (!rc && blocks)
        rc = pieces_add(
            &state->pieces,
            &(struct piece){.kind = PIECE_REST, .start_ns = start_ns - 1, .end_ns = start_ns, .obj = state->launcher});
    return rc ? rc
              : pieces_add(&state->pieces,
                           &(struct piece){
                               .kind = PIECE_BACK, .start_ns = end_ns, .end_ns = end_ns + 1, .obj = state->launcher});
}
