/* job.c - processes, threads and names; see job.h. What follows from them is decided in ranks.c. */
#include "analysis/model/job.h"
#include "analysis/model/callsites.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/model/anchors.h"
#include "analysis/model/handoff.h"
#include "analysis/options.h"

int job_new(const struct options *options, struct job **ret)
{
    struct job *job = calloc(1, sizeof(*job));
    if (!job)
        return -ENOMEM;
    *job = (struct job){.options = options,
                        .world_size = -1,
                        .method = ANCHORS_run,
                        .found = ANCHORS_run,
                        .per_step = 1,
                        .surveying = true};
    if (options->steps == STEP_METHOD_nvtx && options->steps_regex) {
        if (regcomp(&job->regex, options->steps_regex, REG_EXTENDED | REG_NOSUB)) {
            free(job);
            return -EINVAL;
        }
        job->has_regex = true;
    }
    *ret = job;
    return 0;
}

static void process_free(struct process *process)
{
    for (struct thread *thread = process->threads, *next; thread; thread = next) {
        next = thread->next;
        anchors_free(thread->anchors);
        free(thread);
    }
    for (struct attr *attr = process->attrs, *next; attr; attr = next) {
        next = attr->next;
        free(attr->key);
        free(attr->value);
        free(attr);
    }
    for (struct gpu_info *gpu = process->gpus, *next; gpu; gpu = next) {
        next = gpu->next;
        free(gpu->model);
        free(gpu);
    }
    callsites_free(process->callsites);
    handoff_free(process->handoff);
    free(process->micro);
    free(process->comm);
    free(process->cmd);
    free(process->host_name);
    free(process);
}

static void rank_free(struct rank *rank)
{
    for (size_t i = 0; i < rank->nr_checkpoints; i++)
        free((char *)rank->checkpoints[i].path);
    free(rank->checkpoints);
    free(rank->points);
    free(rank);
}

void job_free(struct job *job)
{
    if (!job)
        return;
    for (size_t i = 0; i < job->nr_ranks; i++)
        rank_free(job->ranks[i]);
    free(job->ranks);
    for (struct process *process = job->first, *next; process; process = next) {
        next = process->next;
        process_free(process);
    }
    free(job->extents);
    map_done(&job->by_pid);
    map_done(&job->by_tid);
    communicators_done(&job->communicators);
    saves_done(&job->saves);
    feeds_done(&job->feeds);
    groups_done(&job->groups);
    mounts_done(&job->mounts);
    names_done(&job->names);
    if (job->has_regex)
        regfree(&job->regex);
    free(job);
}

/* ---- who is there ------------------------------------------------------------------------- */

static struct map_key pid_key(uint32_t host, uint32_t pid)
{
    return (struct map_key){host, pid};
}

struct process *job_process(const struct job *job, uint32_t host, uint32_t pid, uint64_t at_ns)
{
    struct process *process = map_find(&job->by_pid, pid_key(host, pid));
    while (process && process->older && process->start_ns > at_ns)
        process = process->older;
    return process;
}

static struct process *process_add(struct job *job, uint32_t host, uint32_t pid, uint64_t start_ns)
{
    struct process *process = calloc(1, sizeof(*process));
    if (!process)
        return NULL;
    *process = (struct process){.older = map_find(&job->by_pid, pid_key(host, pid)),
                                .host = host,
                                .pid = pid,
                                .start_ns = start_ns,
                                .last_ns = start_ns,
                                .rank_env = -1,
                                .world = -1,
                                .local_rank = -1};
    if (map_put(&job->by_pid, pid_key(host, pid), process)) {
        free(process);
        return NULL;
    }
    if (job->last)
        job->last->next = process;
    else
        job->first = process;
    return job->last = process;
}

static struct map_key tid_key(const struct process *process, uint32_t tid)
{
    return (struct map_key){(uintptr_t)process, tid};
}

struct thread *process_thread(const struct job *job, const struct process *process, uint32_t tid)
{
    return map_find(&job->by_tid, tid_key(process, tid));
}

static struct thread *thread_get(struct job *job, struct process *process, uint32_t tid, uint64_t at_ns)
{
    if (job->thread && job->thread->process == process && job->thread->tid == tid)
        return job->thread; /* most events are by the same thread as the one before */
    struct thread *thread = process_thread(job, process, tid);
    if (thread)
        return thread;
    thread = calloc(1, sizeof(*thread));
    if (!thread || map_put(&job->by_tid, tid_key(process, tid), thread)) {
        free(thread);
        return NULL;
    }
    *thread =
        (struct thread){.next = process->threads, .process = process, .tid = tid, .start_ns = at_ns, .last_ns = at_ns};
    return process->threads = thread;
}

bool process_descends(const struct process *process, const struct process *ancestor)
{
    unsigned depth = 0;
    for (process = process->parent; process && depth < 64; process = process->parent, depth++)
        if (process == ancestor)
            return true;
    return false;
}

const char *process_attr(const struct process *process, const char *key)
{
    unsigned depth = 0;
    for (; process && depth < 64; process = process->parent, depth++)
        for (const struct attr *attr = process->attrs; attr; attr = attr->next)
            if (!strcmp(attr->key, key))
                return attr->value;
    return NULL;
}

bool process_is_unseen(const struct process *process)
{
    const char *hooks = process_attr(process, "recorder.hooks");
    return hooks && strcmp(hooks, "none") == 0;
}

struct name *job_name(const struct job *job, const struct process *process, uint32_t id)
{
    unsigned depth = 0;
    if (!id || !process)
        return NULL;
    for (const struct process *p = process; p && depth < 64; p = p->parent, depth++) {
        struct name *name = names_own(&job->names, p->host, p->pid, id);
        if (name)
            return name;
    }
    return NULL;
}

static uint32_t name_field(const struct event *event)
{
    switch (event->kind) {
    case EV_file_io:
        return event->u.file_io.name;
    case EV_file_meta:
        return event->u.file_meta.name;
    case EV_file_op:
        return event->u.file_op.name;
    case EV_sock_io:
        return event->u.sock_io.name;
    case EV_anchor:
        return event->u.anchor.name;
    case EV_range:
        return event->u.range.name;
    case EV_open_op:
        return event->u.open_op.name;
    case EV_kernel:
        return event->u.kernel.name;
    case EV_segment:
        return event->u.segment.owner;
    default:
        return 0;
    }
}

static void find_name(struct job *job, const struct event *event)
{
    uint32_t id = name_field(event);
    job->name = id ? job_name(job, job->process, id) : NULL;
    job->names.unresolved += id && !job->name;
}

/* ---- learning ----------------------------------------------------------------------------- */

static int set_text(char **text, const char *value)
{
    if (!*value || (*text && !strcmp(*text, value)))
        return 0;
    char *copy = strdup(value);
    if (!copy)
        return -ENOMEM;
    free(*text);
    *text = copy;
    return 0;
}

/* Whether a proc event with this start tells of another process than the one known under the pid. */
static bool is_new(const struct process *known, const struct tr_proc *proc)
{
    if (proc->how == TR_proc_how_resend || proc->start_ns <= known->start_ns)
        return false;
    return known->exit_ns || (known->ppid && known->ppid != proc->ppid && proc->start_ns > known->last_ns);
}

static int learn_proc(struct job *job, uint32_t host, const struct tr_proc *proc)
{
    struct process *process = map_find(&job->by_pid, pid_key(host, proc->pid));
    if (!process || is_new(process, proc))
        process = process_add(job, host, proc->pid, proc->start_ns);
    if (!process)
        return -ENOMEM;
    process->announced = true;
    process->logged |= proc->how == TR_proc_how_log;
    process->ppid = proc->ppid;
    process->parent = job_process(job, host, proc->ppid, proc->start_ns);
    if (proc->start_ns && (proc->start_ns < process->start_ns || !process->start_ns))
        process->start_ns = proc->start_ns;
    /* A job that sets its variables itself is known by them only from a later announcement on. */
    process->rank_env = proc->rank >= 0 ? proc->rank : process->rank_env;
    process->world = proc->world >= 0 ? proc->world : process->world;
    process->local_rank = proc->local_rank >= 0 ? proc->local_rank : process->local_rank;
    process->attempt = proc->attempt > 0 ? proc->attempt : process->attempt;
    int rc = set_text(&process->comm, proc->comm);
    rc = rc ? rc : set_text(&process->cmd, proc->cmd);
    return rc ? rc : set_text(&process->host_name, proc->host);
}

static int learn_attr(struct process *process, const struct tr_attr *event)
{
    for (struct attr *attr = process->attrs; attr; attr = attr->next)
        if (!strcmp(attr->key, event->key))
            return set_text(&attr->value, event->value);
    /* What a child inherited is not kept again: a node has hundreds of workers. */
    const char *inherited = process->parent ? process_attr(process->parent, event->key) : NULL;
    if (inherited && !strcmp(inherited, event->value))
        return 0;
    struct attr *attr = calloc(1, sizeof(*attr));
    if (!attr)
        return -ENOMEM;
    *attr = (struct attr){process->attrs, strdup(event->key), strdup(event->value)};
    if (!attr->key || !attr->value) {
        free(attr->key);
        free(attr->value);
        free(attr);
        return -ENOMEM;
    }
    process->attrs = attr;
    return 0;
}

const struct gpu_info *process_gpu(const struct process *process, uint32_t device)
{
    const struct gpu_info *gpu = process->gpus;
    while (gpu && gpu->device != device)
        gpu = gpu->next;
    return gpu;
}

static int learn_gpu(struct process *process, const struct tr_gpu *event)
{
    if (process_gpu(process, event->device))
        return 0; /* sent again */
    struct gpu_info *gpu = calloc(1, sizeof(*gpu));
    if (!gpu)
        return -ENOMEM;
    *gpu =
        (struct gpu_info){.device = event->device, .memory_bytes = event->memory_bytes, .model = strdup(event->model)};
    if (!gpu->model) {
        free(gpu);
        return -ENOMEM;
    }
    struct gpu_info **end = &process->gpus;
    while (*end)
        end = &(*end)->next;
    *end = gpu;
    return 0;
}

static void learn_gap(struct job *job, const struct event *event)
{
    unsigned why = event->u.gap.why;
    struct process *process = job->process;
    bool asked_for = why == TR_gap_why_steps || why == TR_gap_why_ranks;
    job->nr_gaps += event->u.gap.on;
    if (asked_for || why == TR_gap_why_gpu)
        return; /* GPU times are gpu.c's */
    if (event->u.gap.on) {
        process->gap_since_ns = process->gap_since_ns ? process->gap_since_ns : event->ts_ns;
    } else if (process->gap_since_ns) {
        process->gap_ns += event->ts_ns - process->gap_since_ns;
        process->gap_since_ns = 0;
        job->gap_ns = process->gap_ns > job->gap_ns ? process->gap_ns : job->gap_ns;
    }
}

/* Sets job->process and job->thread to those of the event; makes them if they never said who they are. */
static int find_who(struct job *job, const struct event *event)
{
    uint32_t pid = event->u.who.pid, tid = event->u.who.tid;
    struct process *process = job_process(job, event->host, pid, event->ts_ns);
    if (!process)
        process = process_add(job, event->host, pid, event->ts_ns);
    if (!process)
        return -ENOMEM;
    struct thread *thread = thread_get(job, process, tid, event->ts_ns);
    if (!thread)
        return -ENOMEM;
    job->process = process;
    job->thread = thread;
    return 0;
}

static int see_time(struct job *job, uint32_t host, uint64_t ts_ns)
{
    if (host >= job->nr_extents) {
        struct extent *extents = realloc(job->extents, (host + 1) * sizeof(*extents));
        if (!extents)
            return -ENOMEM;
        job->extents = extents;
        while (job->nr_extents <= host)
            extents[job->nr_extents++] = (struct extent){UINT64_MAX, 0};
    }
    struct extent *extent = &job->extents[host];
    extent->first_ns = ts_ns < extent->first_ns ? ts_ns : extent->first_ns;
    extent->last_ns = ts_ns > extent->last_ns ? ts_ns : extent->last_ns;
    return 0;
}

struct extent job_extent(const struct job *job)
{
    struct extent longest = {0, 0};
    for (size_t i = 0; i < job->nr_extents; i++) {
        const struct extent *extent = &job->extents[i];
        if (extent->first_ns <= extent->last_ns &&
            (!longest.last_ns || extent->last_ns - extent->first_ns > longest.last_ns - longest.first_ns))
            longest = *extent;
    }
    return longest;
}

/* What must be known before an event can be understood: in the survey, and again in the full scan, where ids may by
 * then mean something else (a pid used twice). */
static int learn_names(struct job *job, const struct event *event)
{
    return event->kind == EV_name ? names_learn(&job->names, event->host, &event->u.name) : 0;
}

static int learn_state(struct job *job, const struct event *event)
{
    struct process *process = job->process;
    struct thread *thread = job->thread;
    switch (event->kind) {
    case EV_attr:
        return learn_attr(process, &event->u.attr);
    case EV_thread:
        snprintf(thread->comm, sizeof(thread->comm), "%s", event->u.thread.comm);
        if (event->u.thread.start_ns)
            thread->start_ns = event->u.thread.start_ns;
        return 0;
    case EV_callsite:
        return callsites_learn(job, &event->u.callsite);
    case EV_gpu:
        return learn_gpu(process, &event->u.gpu);
    case EV_mount:
        return mounts_learn(&job->mounts, event->host, &event->u.mount);
    case EV_nccl_comm:
        return communicators_learn(&job->communicators, process, &event->u.nccl_comm);
    case EV_child:
        anchors_child(thread);
        return 0;
    case EV_exit:
        process->cut = event->u.exit.how == TR_exit_how_cut;
        if (!process->cut)
            process->exit_ns = event->u.exit.start_ns ? event->u.exit.start_ns : event->ts_ns;
        return 0;
    case EV_anchor:
        return anchors_learn(job, thread, &event->u.anchor);
    case EV_file_op:
        return saves_learn(&job->saves, process, thread, job_name(job, process, event->u.file_op.name),
                           job_name(job, process, event->u.file_op.name2), &event->u.file_op);
    case EV_self:
        process->cost = event->u.self;
        return 0;
    case EV_gpu_lost:
        process->gpu_lost = event->u.gpu_lost;
        return 0;
    case EV_gap:
        learn_gap(job, event);
        return 0;
    default:
        return 0;
    }
}

int job_survey(struct job *job, const struct event *event)
{
    int rc = event->kind == EV_proc ? learn_proc(job, event->host, &event->u.proc) : learn_names(job, event);
    rc = rc ? rc : find_who(job, event);
    rc = rc ? rc : see_time(job, event->host, event->ts_ns);
    if (rc)
        return rc;
    if (event->ts_ns > job->process->last_ns)
        job->process->last_ns = event->ts_ns;
    if (event->ts_ns > job->thread->last_ns)
        job->thread->last_ns = event->ts_ns;
    return learn_state(job, event);
}

int job_follow(struct job *job, const struct event *event)
{
    int rc = learn_names(job, event);
    rc = rc ? rc : find_who(job, event);
    rc = rc ? rc : see_time(job, event->host, event->ts_ns);
    if (rc)
        return rc;
    job->nr_events++;
    job->unmatched += !job->process->announced;
    find_name(job, event);
    job->receive = receives_learn(&job->thread->receives, event, &job->received) ? &job->received : NULL;
    if (event->kind == EV_pipe_io)
        rc = feeds_learn(&job->feeds, event->host, job->process, job->thread, &event->u.pipe_io);
    struct rank *rank = job->process->role == ROLE_trainer ? job->process->rank : NULL;
    if (rc || !rank)
        return rc;
    if (rank->waits_only && job->method == ANCHORS_dataloader)
        rc = handoff_learn(job, event);
    else if (rank->trainer == job->thread && event->kind == EV_anchor)
        anchors_follow(job, rank, &event->u.anchor);
    else if (rank->trainer == job->thread && event->kind == EV_child)
        stepper_epoch(&rank->stepper);
    return rank->failed ? -ENOMEM : rc;
}

int job_survey_hand_offs(struct job *job, const struct event *event)
{
    int rc = learn_names(job, event);
    rc = rc ? rc : find_who(job, event);
    if (rc)
        return rc;
    if (event->kind == EV_sock_io && job->process->micro)
        microbatches_traffic(job->process->micro, event->u.sock_io.start_ns, event->u.sock_io.size_bytes);
    if (job->found == ANCHORS_dataloader)
        return anchors_regroup(job, job->thread, event);
    if (event->kind == EV_pipe_io)
        rc = feeds_learn(&job->feeds, event->host, job->process, job->thread, &event->u.pipe_io);
    return rc ? rc : handoff_learn(job, event);
}

int job_end(struct job *job)
{
    for (size_t i = 0; i < job->nr_ranks; i++) {
        struct rank *rank = job->ranks[i];
        if (rank->process->handoff)
            handoff_finish(job, rank->process);
        /* As the survey did (anchors_finish): the last hand-off of a loop brings no batch. */
        if (!rank->waits_only && rank->process->exit_ns)
            stepper_epoch(&rank->stepper);
        stepper_finish(&rank->stepper);
        rank->finished = true;
        if (rank->failed)
            return -ENOMEM;
    }
    return 0;
}

/* ---- points of a rank --------------------------------------------------------------------- */

void rank_point_add(void *arg, uint64_t point_ns)
{
    struct rank *rank = arg;
    if (rank->nr_points == rank->points_capacity) {
        size_t capacity = rank->points_capacity ? rank->points_capacity * 2 : 16;
        uint64_t *points = malloc(capacity * sizeof(*points));
        if (!points) {
            rank->failed = true;
            return;
        }
        for (size_t i = 0; i < rank->nr_points; i++)
            points[i] = rank_point(rank, i);
        free(rank->points);
        rank->points = points;
        rank->points_capacity = capacity;
        rank->points_head = 0;
    }
    /* Clamped monotone: a window has no negative length. */
    if (rank->nr_points && point_ns < rank_point(rank, rank->nr_points - 1))
        point_ns = rank_point(rank, rank->nr_points - 1);
    rank->points[(rank->points_head + rank->nr_points) & (rank->points_capacity - 1)] = point_ns;
    rank->nr_points++;
}

uint64_t rank_point(const struct rank *rank, size_t i)
{
    return rank->points[(rank->points_head + i) & (rank->points_capacity - 1)];
}

void rank_points_drop(struct rank *rank, size_t nr)
{
    rank->points_head = (rank->points_head + nr) & (rank->points_capacity - 1);
    rank->nr_points -= nr;
}
