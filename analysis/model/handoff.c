/* handoff.c - see handoff.h. */
#include "analysis/model/handoff.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/model/job.h"
#include "analysis/pass/thresholds.h"

struct handoff_piece {
    uint64_t start_ns, end_ns;
    struct thread *thread;
    uint64_t inode; /* 0: a wait for another thread */
    uint32_t waker; /* that ended it */
    uint32_t calls; /* of a read or write, or that asked for copies */
    bool read, write, workers_made;
    bool readiness;  /* a wait that ends when there is something to read */
    bool work, copy; /* a GPU was given work; it was a copy */
};

void handoff_free(struct handoff *handoff)
{
    if (!handoff)
        return;
    free(handoff->pieces);
    free(handoff);
}

static struct handoff *handoff_get(struct process *process)
{
    if (process->handoff)
        return process->handoff;
    struct handoff *handoff = calloc(1, sizeof(*handoff));
    if (!handoff)
        return NULL;
    stepper_init(&handoff->stepper, ANCHORS_dataloader, step_stats_point, &handoff->stats);
    return process->handoff = handoff;
}

static bool is_pipe_wait(unsigned kind)
{
    return kind == TR_wait_kind_poll || kind == TR_wait_kind_select || kind == TR_wait_kind_epoll ||
           kind == TR_wait_kind_pipe || kind == TR_wait_kind_sock;
}

static bool is_thread_wait(unsigned kind)
{
    return kind == TR_wait_kind_sem || kind == TR_wait_kind_cond;
}

/* Whether `tid` is a thread of the process, other than the main one, that reads batches: a pin-memory thread. */
static bool is_pin_thread(const struct job *job, const struct process *process, uint32_t tid)
{
    const struct thread *thread = tid && tid != process->pid ? process_thread(job, process, tid) : NULL;
    return thread && thread->reads_batches;
}

bool handoff_is_read(const struct job *job, const struct thread *thread, uint64_t inode)
{
    const struct feed *feed = feeds_find(&job->feeds, thread->process->host, inode);
    return feed && feed_is_data(feed, thread->process);
}

bool handoff_is_wait(const struct job *job, const struct thread *thread, const struct tr_wait *wait)
{
    if (is_pipe_wait(wait->kind))
        return handoff_is_read(job, thread, wait->obj);
    return is_thread_wait(wait->kind) && is_pin_thread(job, thread->process, wait->waker);
}

/* A pipe on which a worker is told what to load. Others are read by children too: a resource tracker's, for one. */
static bool is_index_write(const struct job *job, const struct process *process, uint64_t inode)
{
    const struct feed *feed = feeds_find(&job->feeds, process->host, inode);
    if (!feed || feed_reader(feed, process))
        return false;
    for (size_t i = 0; i < feed->nr_readers; i++)
        if (feed->readers[i].process->feeds && feed_is_index(feed, process, feed->readers[i].process) &&
            !process_descends(process, feed->readers[i].process))
            return true;
    return false;
}

static struct stepper *stepper_of(struct process *process)
{
    return process->rank ? &process->rank->stepper : &process->handoff->stepper;
}

/* How many copies are usual is what most steps have: one that saves a checkpoint has more. */
static void learn_copies(struct handoff *handoff)
{
    struct handoff_copies *copies = &handoff->copies;
    if (handoff->open && copies->nr == copies->usual && copies->votes < TH_GROUP_MIN_STEPS) {
        copies->votes++;
    } else if (handoff->open && copies->nr != copies->usual && copies->votes) {
        copies->votes--;
    } else if (handoff->open && copies->nr != copies->usual) {
        copies->usual = copies->nr;
        copies->votes = 1;
    }
    copies->nr = 0;
}

static void close_hand_over(struct process *process)
{
    struct handoff *handoff = process->handoff;
    learn_copies(handoff);
    if (handoff->open) {
        handoff->taken++;
        if (!process->rank) /* without memory for it, each hand-over is a step */
            (void)microbatches_hand_over(&process->micro, handoff->end_ns);
        stepper_anchor(stepper_of(process), handoff->start_ns, handoff->end_ns);
    }
    handoff->open = handoff->ordered = handoff->awaited = handoff->worked = false;
}

static void open_hand_over(struct process *process, const struct handoff_piece *piece)
{
    struct handoff *handoff = process->handoff;
    close_hand_over(process);
    handoff->open = true;
    handoff->start_ns = piece->start_ns;
    handoff->end_ns = piece->end_ns;
}

static void add_to_hand_over(struct process *process, const struct handoff_piece *piece, uint64_t gap_ns)
{
    struct handoff *handoff = process->handoff;
    bool goes_on = handoff->awaited || (!handoff->ordered && piece->start_ns <= handoff->end_ns + gap_ns);
    if (!handoff->open || handoff->worked || !goes_on)
        open_hand_over(process, piece);
    else if (piece->end_ns > handoff->end_ns)
        handoff->end_ns = piece->end_ns;
}

/* What the training thread exchanges with a worker is part of the hand-over before; alone it is none. */
static void continue_hand_over(struct process *process, const struct handoff_piece *piece)
{
    struct handoff *handoff = process->handoff;
    if (handoff->open && !handoff->ordered && !handoff->worked && piece->start_ns <= handoff->end_ns + TH_EXCHANGE_NS)
        add_to_hand_over(process, piece, TH_EXCHANGE_NS);
}

/* The message that a batch was taken. The training thread does not wait for it to be sent, unless it sends it itself:
 * then what it did before was for the batch before. */
static void order_next(struct process *process, const struct handoff_piece *piece)
{
    struct handoff *handoff = process->handoff;
    bool by_main = piece->thread->tid == process->pid;
    if (!handoff->flowing || handoff->ahead)
        return;
    if (!handoff->open || handoff->ordered || (by_main && handoff->worked) ||
        piece->start_ns > handoff->end_ns + TH_EXCHANGE_NS)
        open_hand_over(process, piece);
    handoff->ordered = true;
}

/* A queue's feeder thread, which sleeps until the thread that fills the queue wakes it. */
static bool is_queue_thread(const struct thread *thread)
{
    return thread->tid != thread->process->pid && thread->writes_pipes && !thread->reads_batches;
}

/* Batches that were read and are not taken yet: they came before the one that was waited for. A message is as many
 * reads as the pipe's reader makes for each write: of its length and of itself, for PyTorch. */
static bool has_stock(const struct job *job, const struct process *process)
{
    const struct handoff *handoff = process->handoff;
    const struct feed *feed = feeds_find(&job->feeds, process->host, handoff->read_inode);
    const struct feed_end *reader = feed ? feed_reader(feed, process) : NULL;
    uint64_t writes = 0;
    for (size_t i = 0; reader && i < feed->nr_writers; i++)
        writes += feed->writers[i].calls;
    uint64_t per_batch = writes ? (reader->calls + writes / 2) / writes : 0;
    return per_batch && handoff->reads / per_batch > handoff->taken + handoff->open;
}

/* Whether a worker is told to load another batch before the one after this is copied: then that is the hand-over. */
static bool is_ordered_later(const struct job *job, const struct process *process, uint64_t nr_copies)
{
    const struct handoff *handoff = process->handoff;
    for (size_t i = handoff->head; i < handoff->nr && nr_copies <= handoff->copies.usual; i++) {
        const struct handoff_piece *piece = &handoff->pieces[i];
        if (piece->workers_made)
            return false;
        if (piece->write && is_index_write(job, process, piece->inode))
            return true;
        nr_copies += piece->copy ? piece->calls : 0;
    }
    return false;
}

/* Each batch is copied to the device once it is taken. At the end of an epoch no worker is told to load more, so that
 * its copy is all that tells of a batch taken in passing. */
static void judge_work(const struct job *job, struct process *process, const struct handoff_piece *piece)
{
    struct handoff *handoff = process->handoff;
    struct handoff_copies *copies = &handoff->copies;
    if (piece->copy) {
        bool usual = copies->usual && copies->votes >= TH_GROUP_MIN_STEPS / 2;
        if (usual && copies->nr + piece->calls > copies->usual && !handoff->ahead && !handoff->pinned &&
            has_stock(job, process) && !is_ordered_later(job, process, piece->calls))
            open_hand_over(process, piece);
        copies->nr += piece->calls;
    }
    handoff->worked = true;
}

static void judge_wait_or_read(struct process *process, const struct handoff_piece *piece)
{
    struct handoff *handoff = process->handoff;
    add_to_hand_over(process, piece, TH_JOIN_NS);
    handoff->awaited = piece->readiness;
    if (!piece->read)
        return;
    handoff->reads += piece->calls;
    handoff->read_inode = piece->inode;
}

static void judge_thread_wait(const struct job *job, struct process *process, const struct handoff_piece *piece)
{
    if (!is_pin_thread(job, process, piece->waker))
        return;
    if (is_queue_thread(piece->thread)) {
        process->handoff->ahead = true;
        return;
    }
    process->handoff->pinned = piece->thread;
    add_to_hand_over(process, piece, TH_JOIN_NS);
}

static void judge(const struct job *job, struct process *process, const struct handoff_piece *piece)
{
    bool by_main = piece->thread->tid == process->pid;
    if (piece->workers_made) {
        process->handoff->flowing = false;
        process->handoff->reads = 0;
        process->handoff->taken = 0;
    } else if (piece->work) {
        judge_work(job, process, piece);
    } else if (!piece->inode) {
        judge_thread_wait(job, process, piece);
    } else if (piece->write && is_index_write(job, process, piece->inode)) {
        order_next(process, piece);
    } else if (!piece->write && handoff_is_read(job, piece->thread, piece->inode)) {
        process->handoff->flowing |= piece->read;
        if (by_main) /* another reader is a pin-memory thread, running ahead of training */
            judge_wait_or_read(process, piece);
    } else if (by_main) {
        continue_hand_over(process, piece);
    }
}

static int keep(struct handoff *handoff, const struct handoff_piece *piece)
{
    if (handoff->head && handoff->nr == handoff->capacity) {
        for (size_t i = handoff->head; i < handoff->nr; i++)
            handoff->pieces[i - handoff->head] = handoff->pieces[i];
        handoff->nr -= handoff->head;
        handoff->head = 0;
    }
    if (handoff->nr == handoff->capacity) {
        size_t capacity = handoff->capacity ? handoff->capacity * 2 : 64;
        struct handoff_piece *pieces = realloc(handoff->pieces, capacity * sizeof(*pieces));
        if (!pieces)
            return -ENOMEM;
        handoff->pieces = pieces;
        handoff->capacity = capacity;
    }
    /* In order of start, so that clusters are: a wait is told after what happened during it. */
    size_t at = handoff->nr++;
    for (; at > handoff->head && handoff->pieces[at - 1].start_ns > piece->start_ns; at--)
        handoff->pieces[at] = handoff->pieces[at - 1];
    handoff->pieces[at] = *piece;
    return 0;
}

static bool is_readiness(unsigned kind)
{
    return kind == TR_wait_kind_poll || kind == TR_wait_kind_select || kind == TR_wait_kind_epoll;
}

static bool is_work(unsigned act)
{
    return act == TR_cuda_act_launch || act == TR_cuda_act_graph_launch || act == TR_cuda_act_copy;
}

static bool piece_of(const struct job *job, const struct event *event, struct handoff_piece *ret)
{
    const struct tr_wait *wait = &event->u.wait;
    const struct tr_pipe_io *io = &event->u.pipe_io;
    const struct tr_cuda_call *call = &event->u.cuda_call;
    switch (event->kind) {
    case EV_wait:
        if (!is_pipe_wait(wait->kind) && !(is_thread_wait(wait->kind) && wait->waker))
            return false;
        *ret = (struct handoff_piece){wait->start_ns,
                                      wait->start_ns + wait->dur_ns,
                                      job->thread,
                                      .waker = wait->waker,
                                      .inode = is_pipe_wait(wait->kind) ? wait->obj : 0,
                                      .readiness = is_readiness(wait->kind)};
        return ret->inode || ret->waker;
    case EV_pipe_io:
        /* The last message to a worker is None: that there is no more to do. */
        if (io->op == TR_io_op_write && io->size_bytes < (uint64_t)TH_INDEX_MIN_BYTES * io->count)
            return false;
        *ret = (struct handoff_piece){io->start_ns,
                                      io->start_ns + io->dur_ns,
                                      job->thread,
                                      .inode = io->inode,
                                      .calls = io->count,
                                      .read = io->op == TR_io_op_read,
                                      .write = io->op == TR_io_op_write};
        return io->inode;
    case EV_child:
        *ret =
            (struct handoff_piece){event->u.child.start_ns, event->u.child.start_ns, job->thread, .workers_made = true};
        return true;
    case EV_cuda_call: /* nothing is handed over before the first wait or read */
        *ret = (struct handoff_piece){call->start_ns,       call->start_ns, job->thread,
                                      .calls = call->count, .work = true,   .copy = call->act == TR_cuda_act_copy};
        return job->process->handoff && job->thread->tid == job->process->pid && is_work(call->act);
    default:
        return false;
    }
}

int handoff_learn(struct job *job, const struct event *event)
{
    struct handoff_piece piece;
    struct handoff *handoff = job->process->handoff;
    while (handoff && handoff->head < handoff->nr && handoff->pieces[handoff->head].end_ns + TH_LATE_NS < event->ts_ns)
        judge(job, job->process, &handoff->pieces[handoff->head++]);
    if (!piece_of(job, event, &piece))
        return 0;
    handoff = handoff_get(job->process);
    return handoff ? keep(handoff, &piece) : -ENOMEM;
}

void handoff_finish(const struct job *job, struct process *process)
{
    struct handoff *handoff = process->handoff;
    while (handoff->head < handoff->nr)
        judge(job, process, &handoff->pieces[handoff->head++]);
    close_hand_over(process);
    handoff->flowing = false;
    handoff->reads = handoff->taken = 0;
    handoff->copies = (struct handoff_copies){0};
    handoff->head = handoff->nr = 0;
}

void handoff_forget(const struct job *job, struct process *process)
{
    struct handoff *handoff = process->handoff;
    handoff->stats = (struct step_stats){0};
    stepper_init(&handoff->stepper, ANCHORS_dataloader, step_stats_point, &handoff->stats);
    handoff->stepper.per_step = job->per_step;
    handoff->stepper.phase = process->phase;
}
