/* stands.c - see stands.h. */
#include "analysis/model/stands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct stand *find(const struct stands *stands, const struct thread *thread)
{
    struct stand *at = stands->first;

    while (at && at->thread != thread)
        at = at->next;
    return at;
}

/* The end of a call that the event tells of; 0: it tells of none. */
static uint64_t end_of_call(const struct event *event)
{
#define ENDS(name)                                                                                                     \
    case EV_##name:                                                                                                    \
        return event->u.name.start_ns + event->u.name.dur_ns;
    switch (event->kind) {
        ENDS(wait)
        ENDS(file_io)
        ENDS(file_meta)
        ENDS(file_op)
        ENDS(pipe_io)
        ENDS(sock_io)
        ENDS(cuda_call)
        ENDS(anchor)
        ENDS(range)
        ENDS(child)
    default:
        return 0;
    }
#undef ENDS
}

static int on_open(struct stands *stands, const struct job *job, const struct tr_open_op *row)
{
    struct stand *at = find(stands, job->thread);

    if (!at) {
        at = calloc(1, sizeof(*at));
        if (!at)
            return -ENOMEM;
        at->thread = job->thread;
        at->next = stands->first;
        stands->first = at;
    }
    if (at->start_ns != row->start_ns) {
        free(at->frames);
        at->frames = NULL;
    }
    at->over = false;
    at->kind = row->kind;
    at->name = job->name;
    at->start_ns = row->start_ns;
    at->age_ns = row->age_ns;
    return 0;
}

int stands_event(struct stands *stands, const struct job *job, const struct event *event)
{
    struct stand *at;

    if (!job->thread)
        return 0;
    if (event->kind == EV_open_op)
        return on_open(stands, job, &event->u.open_op);
    at = stands->first ? find(stands, job->thread) : NULL;
    if (!at || at->over)
        return 0;
    if (event->kind == EV_stack && event->u.stack.start_ns == at->start_ns) {
        char *frames = strdup(event->u.stack.frames);
        if (!frames)
            return -ENOMEM;
        free(at->frames);
        at->frames = frames;
    }
    at->over = end_of_call(event) > at->start_ns;
    return 0;
}

void stands_done(struct stands *stands)
{
    while (stands->first) {
        struct stand *next = stands->first->next;
        free(stands->first->frames);
        free(stands->first);
        stands->first = next;
    }
}

const struct stand *stands_of(const struct stands *stands, const struct thread *thread)
{
    const struct stand *at = thread ? find(stands, thread) : NULL;

    return at && !at->over && !thread->process->exit_ns ? at : NULL;
}

/* In something that goes on or not whatever other ranks do. */
static bool is_own(const struct stand *stand)
{
    return stand->kind == TR_wait_kind_sleep || stand->kind == TR_wait_kind_file || stand->kind == TR_wait_kind_aio ||
           stand->kind == TR_wait_kind_child;
}

static bool may_wait_for_worker(const struct stand *stand)
{
    return stand->kind == TR_wait_kind_poll || stand->kind == TR_wait_kind_select ||
           stand->kind == TR_wait_kind_epoll || stand->kind == TR_wait_kind_pipe || stand->kind == TR_wait_kind_sem ||
           stand->kind == TR_wait_kind_cond;
}

const struct stand *stands_cause(const struct stands *stands, const struct job *job, const struct rank *rank)
{
    const struct stand *own = stands_of(stands, rank->trainer);

    if (!own || is_own(own))
        return own;
    for (const struct stand *at = may_wait_for_worker(own) ? stands->first : NULL; at; at = at->next)
        if (at->thread->process->role == ROLE_worker && at->thread->process->rank == rank && is_own(at) &&
            stands_of(stands, at->thread))
            return at;
    return NULL;
}
