/* ranks.c - what the survey amounts to: how steps are told apart, who trains, and which rank that is.
 *
 * Method: the best kind of anchor that some thread passes (stepper.h), unless the user named one. A process with such
 * a thread is a trainer, and the thread its training thread. Rank: what the launcher told the process; where it told
 * nothing, trainers are numbered in the order in which their parent made them; a single one is rank 0. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/model/anchors.h"
#include "analysis/model/checkpoints.h"
#include "analysis/model/handoff.h"
#include "analysis/model/job.h"
#include "analysis/options.h"
#include "analysis/pass/thresholds.h"

static bool allowed(const struct job *job, enum anchor_method method)
{
    static const enum anchor_method wanted[STEP_METHOD_MAX] = {
        [STEP_METHOD_mark] = ANCHORS_mark,
        [STEP_METHOD_nvtx] = ANCHORS_nvtx,
        [STEP_METHOD_optimizer] = ANCHORS_optimizer,
        [STEP_METHOD_dataloader] = ANCHORS_dataloader,
    };
    return job->options->steps == STEP_METHOD_auto || wanted[job->options->steps] == method;
}

/* The thread of the process that passes most anchors of a kind, NULL if none does. */
static struct thread *busiest(const struct process *process, enum anchor_method method)
{
    struct thread *best = NULL;
    for (struct thread *thread = process->threads; thread; thread = thread->next)
        if (thread->anchors && thread->anchors->stats[method].nr_points &&
            (!best || thread->anchors->stats[method].nr_points > best->anchors->stats[method].nr_points))
            best = thread;
    return best;
}

/* How far the points of a kind can be trusted, over all processes that have any; 0 if none has. */
static double confidence_in(const struct job *job, enum anchor_method method)
{
    double lowest = 0;
    uint64_t fewest = UINT64_MAX, most = 0;
    for (const struct process *process = job->first; process; process = process->next) {
        const struct thread *thread = busiest(process, method);
        if (!thread)
            continue;
        const struct step_stats *stats = &thread->anchors->stats[method];
        double confidence = step_stats_confidence(stats, method);
        if (!most || confidence < lowest)
            lowest = confidence;
        fewest = stats->nr_points < fewest ? stats->nr_points : fewest;
        most = stats->nr_points > most ? stats->nr_points : most;
    }
    /* One mark or range in a whole run is there for something else. */
    if (job->options->steps == STEP_METHOD_auto && (method == ANCHORS_mark || method == ANCHORS_nvtx) && most < 2)
        return 0;
    return most > fewest + 1 && most > fewest + fewest / 8 ? lowest * TH_CONF_UNEVEN : lowest;
}

/* Processes that pass anchors of a kind. */
static size_t passing(const struct job *job, enum anchor_method method)
{
    size_t nr = 0;
    for (const struct process *process = job->first; process; process = process->next)
        nr += busiest(process, method) != NULL;
    return nr;
}

static void choose_method(struct job *job)
{
    for (enum anchor_method method = 0; method < ANCHORS_run; method++) {
        double confidence = allowed(job, method) ? confidence_in(job, method) : 0;
        if (confidence > 0 && (job->found == ANCHORS_run || confidence > job->confidence)) {
            job->found = method;
            job->confidence = confidence;
        }
        if (job->confidence >= TH_CONFIDENCE_MIN)
            break;
    }
    job->method = job->confidence >= TH_CONFIDENCE_MIN ? job->found : ANCHORS_run;
}

int job_settle(struct job *job)
{
    for (struct process *process = job->first; process; process = process->next) {
        if (!process->parent) /* it may have been announced later than its child */
            process->parent = job_process(job, process->host, process->ppid, process->start_ns);
        if (process->parent == process)
            process->parent = NULL;
        for (struct thread *thread = process->threads; thread; thread = thread->next)
            anchors_finish(thread);
    }
    choose_method(job);
    /* With hand-overs told by ranges, only traffic between ranks can say that several are one step. */
    job->needs_hand_offs =
        allowed(job, ANCHORS_dataloader) &&
        (job->found == ANCHORS_run || (job->found == ANCHORS_dataloader && passing(job, ANCHORS_dataloader) > 1));
    return groups_build(&job->groups, &job->names, &job->mounts);
}

bool job_needs_hand_offs(const struct job *job)
{
    return job->needs_hand_offs;
}

static void forget_hand_overs(struct job *job, struct process *process)
{
    for (struct thread *thread = process->threads; thread && job->found == ANCHORS_dataloader; thread = thread->next)
        if (thread->anchors)
            anchors_forget_hand_overs(job, thread);
    if (process->handoff)
        handoff_forget(job, process);
}

bool job_regroups(struct job *job)
{
    uint32_t per_step = 0, phase;
    for (struct process *process = job->first; process; process = process->next) {
        if (process->handoff)
            handoff_finish(job, process);
        if (!process->micro)
            continue;
        uint32_t own = microbatches_per_step(process->micro, &phase);
        per_step = !per_step || own == per_step ? own : 1; /* all ranks have the same, or none */
        process->phase = phase;
    }
    if (per_step < 2)
        return false;
    job->per_step = per_step;
    for (struct process *process = job->first; process; process = process->next)
        forget_hand_overs(job, process);
    return true;
}

/* Statistics of hand-overs become anchors of the training thread, like any others. */
static int settle_hand_offs(struct job *job)
{
    for (struct process *process = job->first; process; process = process->next) {
        for (struct thread *t = process->threads; t && job->found == ANCHORS_dataloader; t = t->next)
            anchors_finish(t); /* what was counted again */
        if (!process->handoff)
            continue;
        handoff_finish(job, process);
        stepper_finish(&process->handoff->stepper);
        struct thread *main_thread = process->threads;
        while (main_thread && main_thread->tid != process->pid)
            main_thread = main_thread->next;
        struct thread *thread = process->handoff->pinned ? process->handoff->pinned : main_thread;
        if (!thread || !process->handoff->stats.nr_points)
            continue;
        if (anchors_get(thread))
            return -ENOMEM;
        thread->anchors->stats[ANCHORS_dataloader] = process->handoff->stats;
        thread->anchors->last_end_ns = process->handoff->stats.last_ns;
    }
    choose_method(job);
    return 0;
}

/* ---- who trains --------------------------------------------------------------------------- */

static int rank_add(struct job *job, struct process *process, struct thread *thread)
{
    struct rank **ranks = realloc(job->ranks, (job->nr_ranks + 1) * sizeof(*ranks));
    if (!ranks)
        return -ENOMEM;
    job->ranks = ranks;
    struct rank *rank = calloc(1, sizeof(*rank));
    if (!rank)
        return -ENOMEM;
    *rank =
        (struct rank){.number = process->rank_env, .attempt = process->attempt, .process = process, .trainer = thread};
    process->rank = rank;
    process->role = ROLE_trainer;
    ranks[job->nr_ranks++] = rank;
    return 0;
}

static struct thread *main_thread_of(const struct process *process)
{
    struct thread *thread = process->threads;
    while (thread && thread->tid != process->pid)
        thread = thread->next;
    return thread ? thread : process->threads;
}

/* A process that a launcher made a rank, but that passed no anchor: it has not got that far, or does not say. */
static bool is_silent_trainer(const struct job *job, const struct process *process)
{
    if (process->role == ROLE_trainer || process->logged || process->rank_env < 0 || !process->threads)
        return false;
    for (const struct process *p = process->parent; p; p = p->parent)
        if (p->rank_env == process->rank_env && p->attempt == process->attempt)
            return false; /* a child inherits the variables: it works for the rank, it is not it */
    for (size_t i = 0; i < job->nr_ranks; i++)
        if (job->ranks[i]->number == process->rank_env && job->ranks[i]->attempt == process->attempt)
            return false;
    return true;
}

/* Nothing tells: the process that was there longest among those highest up. */
static struct process *only_candidate(const struct job *job)
{
    struct process *best = NULL;
    for (struct process *process = job->first; process; process = process->next) {
        if (!process->threads || process->logged || (process->parent && process->parent->threads))
            continue;
        if (!best || process->last_ns - process->start_ns > best->last_ns - best->start_ns)
            best = process;
    }
    return best;
}

static int find_trainers(struct job *job)
{
    int rc = 0;
    for (struct process *process = job->first; process && !rc; process = process->next) {
        struct thread *thread = job->found < ANCHORS_run ? busiest(process, job->found) : NULL;
        rc = thread ? rank_add(job, process, thread) : 0;
    }
    for (struct process *process = job->first; process && !rc; process = process->next)
        if (is_silent_trainer(job, process))
            rc = rank_add(job, process, main_thread_of(process));
    if (rc || job->nr_ranks)
        return rc;
    struct process *process = only_candidate(job);
    return process ? rank_add(job, process, main_thread_of(process)) : 0;
}

/* ---- which rank it is --------------------------------------------------------------------- */

static int by_parent_and_start(const void *a, const void *b)
{
    const struct process *x = (*(struct rank *const *)a)->process, *y = (*(struct rank *const *)b)->process;
    if (x->host != y->host)
        return x->host < y->host ? -1 : 1;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return x->pid < y->pid ? -1 : x->pid > y->pid;
}

static int by_number(const void *a, const void *b)
{
    const struct rank *x = *(struct rank *const *)a, *y = *(struct rank *const *)b;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    if (x->attempt != y->attempt)
        return x->attempt < y->attempt ? -1 : 1;
    return x->process->start_ns < y->process->start_ns ? -1 : x->process->start_ns > y->process->start_ns;
}

static bool all_told(const struct job *job)
{
    for (size_t i = 0; i < job->nr_ranks; i++)
        if (job->ranks[i]->number < 0)
            return false;
    return true;
}

static uint64_t end_of(const struct process *process)
{
    return process->exit_ns ? process->exit_ns : process->last_ns;
}

/* Numbers trainers in the order of their start. Those that start when all before them are gone are a new attempt. */
static void number_by_order(struct job *job)
{
    if (job->nr_ranks)
        qsort(job->ranks, job->nr_ranks, sizeof(*job->ranks), by_parent_and_start);
    int next = 0, attempt = 0;
    uint64_t latest_end = 0;
    for (size_t i = 0; i < job->nr_ranks; i++) {
        struct rank *rank = job->ranks[i];
        bool same_host = i && job->ranks[i - 1]->process->host == rank->process->host;
        if (!same_host) {
            attempt = 0;
            latest_end = 0;
        } else if (rank->process->start_ns >= latest_end) {
            attempt++;
            next = 0;
        }
        rank->number = next++;
        rank->attempt = attempt;
        rank->source = job->nr_ranks > 1 ? "order" : "single";
        latest_end = end_of(rank->process) > latest_end ? end_of(rank->process) : latest_end;
    }
}

/* The launcher's numbers hold. Two of one number and attempt one after the other are attempts it did not count. */
static void number_by_launcher(struct job *job)
{
    qsort(job->ranks, job->nr_ranks, sizeof(*job->ranks), by_number);
    for (size_t i = 0; i < job->nr_ranks; i++) {
        struct rank *rank = job->ranks[i], *before = i ? job->ranks[i - 1] : NULL;
        rank->source = "env";
        if (before && before->number == rank->number && before->attempt >= rank->attempt)
            rank->attempt = before->attempt + 1;
    }
}

static void set_world_size(struct job *job)
{
    for (size_t i = 0; i < job->nr_ranks; i++) {
        const struct rank *rank = job->ranks[i];
        int at_least = rank->process->world > rank->number ? rank->process->world : rank->number + 1;
        job->world_size = at_least > job->world_size ? at_least : job->world_size;
    }
}

/* ---- windows ------------------------------------------------------------------------------ */

/* The end of the loop: the last thing of it that is known after the last anchor. A process that was cut off was in the
 * loop to the end. */
static uint64_t loop_end(const struct job *job, const struct rank *rank)
{
    const struct anchors *anchors = rank->trainer->anchors;
    uint64_t end = rank->stats.last_ns;
    if (job->method == ANCHORS_run)
        return end_of(rank->process);
    if (anchors->last_end_ns > end)
        end = anchors->last_end_ns;
    for (size_t i = 0; i < rank->nr_checkpoints; i++)
        if (rank->checkpoints[i].own && rank->checkpoints[i].end_ns > end)
            end = rank->checkpoints[i].end_ns;
    if (!rank->process->exit_ns && rank->trainer->last_ns > end)
        end = rank->trainer->last_ns;
    return end;
}

/* Old checkpoints are deleted by retention; when the newest is deleted as well, somebody tidies up after training. */
static void set_removed(struct rank *rank)
{
    bool tidied = rank->nr_checkpoints && rank->checkpoints[rank->nr_checkpoints - 1].removed_ns;
    for (size_t i = 0; i < rank->nr_checkpoints; i++) {
        struct checkpoint *checkpoint = &rank->checkpoints[i];
        checkpoint->removed = checkpoint->removed_ns && (!tidied || checkpoint->removed_ns <= rank->end_ns);
    }
}

static void set_extent(struct job *job, struct rank *rank)
{
    const struct step_stats *stats = &rank->stats;
    if (job->method == ANCHORS_run || !stats->nr_points) {
        rank->begin_ns = rank->steady_ns = rank->process->start_ns;
        rank->end_ns = end_of(rank->process);
        return;
    }
    rank->warmup = step_stats_warmup(stats);
    rank->begin_ns = rank->steady_ns = stats->first_ns;
    for (uint32_t i = 0; i < rank->warmup; i++)
        rank->steady_ns += stats->first[i];
    rank->end_ns = loop_end(job, rank);
}

static int by_attempt(const void *a, const void *b)
{
    const struct rank *x = *(struct rank *const *)a, *y = *(struct rank *const *)b;
    return x->attempt < y->attempt ? -1 : x->attempt > y->attempt;
}

/* Windows of a later attempt are numbered on from those of the attempts before it, the same on all ranks. */
static int set_step_bases(struct job *job)
{
    struct rank **ranks = malloc((job->nr_ranks + 1) * sizeof(*ranks));
    uint64_t base = 0, most = 0;
    if (!ranks)
        return -ENOMEM;
    for (size_t i = 0; i < job->nr_ranks; i++)
        ranks[i] = job->ranks[i];
    if (job->nr_ranks)
        qsort(ranks, job->nr_ranks, sizeof(*ranks), by_attempt);
    for (size_t i = 0; i < job->nr_ranks; i++) {
        if (i && ranks[i]->attempt != ranks[i - 1]->attempt) {
            base += most;
            most = 0;
        }
        ranks[i]->step_base = base;
        most = ranks[i]->stats.nr_points > most ? ranks[i]->stats.nr_points : most;
    }
    free(ranks);
    return 0;
}

static void follow_steps(struct job *job, struct rank *rank)
{
    const struct anchors *anchors = rank->trainer->anchors;
    if (job->method < ANCHORS_run && anchors) {
        rank->stats = anchors->stats[job->method];
        const struct range_pattern *best = anchors_best_pattern(anchors);
        if (best)
            rank->pattern = best->key;
    }
    rank->waits_only = !anchors || !anchors->data_end_ns;
    stepper_init(&rank->stepper, job->method, rank_point_add, rank);
    rank->stepper.per_step = job->per_step;
    rank->stepper.phase = rank->process->phase;
}

static void find_launchers(struct job *job)
{
    for (size_t i = 0; i < job->nr_ranks; i++)
        for (struct process *p = job->ranks[i]->process->parent; p; p = p->parent)
            if (p->role == ROLE_other)
                p->role = ROLE_launcher;
}

int job_settle_ranks(struct job *job)
{
    int rc = job_needs_hand_offs(job) ? settle_hand_offs(job) : 0;
    rc = rc ? rc : find_trainers(job);
    if (rc)
        return rc;
    find_launchers(job);
    if (all_told(job) && job->nr_ranks)
        number_by_launcher(job);
    else
        number_by_order(job);
    if (job->nr_ranks)
        qsort(job->ranks, job->nr_ranks, sizeof(*job->ranks), by_number);
    set_world_size(job);
    for (size_t i = 0; i < job->nr_ranks; i++) {
        job->ranks[i]->index = i;
        follow_steps(job, job->ranks[i]);
    }
    rc = checkpoints_find(job);
    rc = rc ? rc : communicators_settle(&job->communicators);
    for (size_t i = 0; i < job->nr_ranks; i++) {
        set_extent(job, job->ranks[i]);
        set_removed(job->ranks[i]);
    }
    rc = rc ? rc : set_step_bases(job);
    feeds_end_survey(&job->feeds);
    job->surveying = false;
    job->process = NULL;
    job->thread = NULL;
    return rc;
}
