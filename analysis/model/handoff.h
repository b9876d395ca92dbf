/* handoff.h - where batches change hands, told without PyTorch's ranges: by what a process waits for and reads.
 *
 * A hand-over is a cluster of: waits of the training thread for a pipe that workers write; its reads from it; its waits
 * for the pin-memory thread that reads it; what it then exchanges with the worker to get at the batch's memory; and,
 * once batches flow, what its queue threads write to the workers' index pipes: one message for each batch taken, a
 * little later, or a lot when threads contend for the GIL. Such a message without the rest is a hand-over too: that
 * batch was taken in passing, for batches that come out of order are. Once the training thread gave a GPU work, the
 * hand-over is over; and where no more messages are sent, at the end of an epoch, a batch read earlier is known to be
 * taken when more copies are asked for than is usual between two hand-overs. What a pipe is for is known for
 * certain only after a while (bursts are told late), so pieces are judged with a delay of TH_LATE_NS. */
#ifndef TRSHIM_ANALYSIS_HANDOFF_H
#define TRSHIM_ANALYSIS_HANDOFF_H

#include "analysis/event.h"
#include "analysis/model/stepper.h"

struct job;
struct process;
struct thread;

/* How often the training thread asks for a copy from one hand-over to the next. */
struct handoff_copies {
    uint64_t nr; /* since the latest one */
    uint64_t usual, votes;
};

struct handoff {
    struct handoff_piece *pieces; /* owned; not judged yet, oldest first */
    size_t head, nr, capacity;
    bool flowing; /* a batch was read since the workers were made */
    bool ahead;   /* it is the pin-memory thread that tells workers what to load, ahead of training */
    bool open;
    bool ordered;              /* its message to a worker was seen: nothing more belongs to it */
    bool awaited;              /* it was waited for until it could be read, and is not read yet */
    bool worked;               /* the training thread gave a GPU work since */
    uint64_t start_ns, end_ns; /* of the hand-over being formed */
    uint64_t reads, taken;     /* since the workers were made: reads of batches; hand-overs that are over */
    uint64_t read_inode;       /* of the latest of these reads */
    struct handoff_copies copies;
    struct thread *pinned;  /* the thread that waits for the pin-memory thread, NULL if there is none */
    struct stepper stepper; /* survey: makes the statistics */
    struct step_stats stats;
};

void handoff_free(struct handoff *handoff); /* accepts NULL */

/* Looks at an event of job->process. Hand-overs go to the stepper of its rank, or, before there are ranks, of its own.
 */
int handoff_learn(struct job *job, const struct event *event);

/* No more events: judges what is held back. */
void handoff_finish(const struct job *job, struct process *process);

/* Forgets what was counted, to count again with job->per_step hand-overs in a step. */
void handoff_forget(const struct job *job, struct process *process);

/* Whether a wait of `thread` is one for a batch. */
bool handoff_is_wait(const struct job *job, const struct thread *thread, const struct tr_wait *wait);

/* Whether the pipe brings batches to the training thread itself. */
bool handoff_is_read(const struct job *job, const struct thread *thread, uint64_t inode);

#endif
