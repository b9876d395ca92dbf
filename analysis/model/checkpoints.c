/* checkpoints.c - known by behaviour: much is written in one go, or by a training process, or renamed into place; a
 * name only supports it. What stays open over many steps is a log; what is written before the first step is data. */
#include "analysis/model/checkpoints.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/model/job.h"
#include "analysis/pass/thresholds.h"
#include "analysis/report/report.h"

/* The rank a process works for: the nearest trainer at or above it, else the rank it was told, else the first. */
static struct rank *rank_for(const struct job *job, const struct process *process)
{
    for (const struct process *p = process; p; p = p->parent)
        if (p->role == ROLE_trainer)
            return p->rank;
    for (size_t i = 0; i < job->nr_ranks; i++)
        if (job->ranks[i]->number == process->rank_env)
            return job->ranks[i];
    return job->nr_ranks ? job->ranks[0] : NULL;
}

static bool is_log(const struct save *save)
{
    return save->close_anchors > save->create_anchors + 1;
}

static bool is_checkpoint(const struct save *save, const struct rank *rank)
{
    bool by_trainer = save->process->role == ROLE_trainer, named = save_named_so(save->final->text);
    if (is_log(save) || (save->name->group && !group_is_data(save->name->group)))
        return false;
    if (save->end_ns < rank->stats.first_ns && !named && !save->renamed)
        return false;
    return save->bytes >= TH_CKPT_BYTES || (save->bytes >= TH_CKPT_TRAINER_BYTES && (by_trainer || save->renamed)) ||
           (save->bytes >= TH_CKPT_NAMED_BYTES && named && (by_trainer || save->renamed));
}

static char *dir_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash != path ? strndup(path, (size_t)(slash - path)) : strdup(path);
}

/* One checkpoint of several files: written by one thread, one after the other, with no step between. A thread that only
 * writes passes no steps: what it writes after a pause was handed to it anew. */
static bool belongs(const struct checkpoint *checkpoint, const struct save *save)
{
    uint64_t pause_ns = checkpoint->own ? TH_CKPT_SET_NS : TH_CKPT_JOIN_NS;
    return checkpoint->thread == save->thread && checkpoint->last->close_anchors == save->create_anchors &&
           save->create_ns < checkpoint->end_ns + pause_ns && save->name != checkpoint->last->name;
}

static int add_file(struct checkpoint *checkpoint, const struct save *save)
{
    const char *dir = save->moved_to;
    char *path = dir ? strdup(dir) : dir_of(save->final->text);
    if (!path)
        return -ENOMEM;
    free((char *)checkpoint->path);
    checkpoint->path = path;
    checkpoint->end_ns = save->end_ns > checkpoint->end_ns ? save->end_ns : checkpoint->end_ns;
    checkpoint->bytes += save->bytes;
    checkpoint->nr_files++;
    checkpoint->last = save;
    checkpoint->fsynced &= save->fsynced;
    checkpoint->renamed &= save->renamed;
    checkpoint->in_place |= save->in_place && !save->renamed;
    if (save->removed_ns && (!checkpoint->removed_ns || save->removed_ns < checkpoint->removed_ns))
        checkpoint->removed_ns = save->removed_ns;
    return 0;
}

static int add_checkpoint(struct rank *rank, const struct save *save)
{
    struct checkpoint *more = realloc(rank->checkpoints, (rank->nr_checkpoints + 1) * sizeof(*more));
    if (!more)
        return -ENOMEM;
    rank->checkpoints = more;
    char *path = strdup(save->moved_to ? save->moved_to : save->final->text);
    if (!path)
        return -ENOMEM;
    more[rank->nr_checkpoints++] = (struct checkpoint){.rank = rank,
                                                       .path = path,
                                                       .thread = save->thread,
                                                       .last = save,
                                                       .start_ns = save->create_ns,
                                                       .end_ns = save->end_ns,
                                                       .bytes = save->bytes,
                                                       .nr_files = 1,
                                                       .step = TR_UNKNOWN,
                                                       .own = save->thread == rank->trainer,
                                                       .fsynced = save->fsynced,
                                                       .renamed = save->renamed,
                                                       .in_place = save->in_place && !save->renamed,
                                                       .removed_ns = save->removed_ns};
    return 0;
}

/* A file open for writing when its process was killed, by its name a checkpoint and no log: opened in the last step. */
static void look_at_open(void *arg, const struct save *save)
{
    const struct job *job = arg;
    struct rank *rank = rank_for(job, save->process);
    if (!rank || save->process->exit_ns || !save_named_so(save->name->text) ||
        save->thread->nr_anchors > save->create_anchors + 1 || (save->name->group && !group_is_data(save->name->group)))
        return;
    if (!rank->cut_off || save->create_ns > rank->cut_off->create_ns)
        rank->cut_off = save;
}

static int by_start(const void *a, const void *b)
{
    const struct checkpoint *x = a, *y = b;
    return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

int checkpoints_find(struct job *job)
{
    int rc = 0;
    for (const struct save *save = job->saves.first; save && !rc; save = save->next) {
        struct rank *rank = rank_for(job, save->process);
        if (!rank || !is_checkpoint(save, rank))
            continue;
        struct checkpoint *last = rank->nr_checkpoints ? &rank->checkpoints[rank->nr_checkpoints - 1] : NULL;
        rc = last && belongs(last, save) ? add_file(last, save) : add_checkpoint(rank, save);
    }
    saves_each_open(&job->saves, look_at_open, job);
    for (size_t i = 0; i < job->nr_ranks; i++)
        if (job->ranks[i]->nr_checkpoints)
            qsort(job->ranks[i]->checkpoints, job->ranks[i]->nr_checkpoints, sizeof(struct checkpoint), by_start);
    return rc;
}
