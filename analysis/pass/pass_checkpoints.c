/* pass_checkpoints.c - the checkpoints that were written, and what each cost.
 *
 * Which files are checkpoints was decided after the survey (model/checkpoints.c); pass_breakdown, which comes first,
 * has measured their stalls and steps. A checkpoint is sync when the training thread wrote it, or stood still for most
 * of it. */
#include <stdlib.h>

#include "analysis/model/job.h"
#include "analysis/pass/pass.h"
#include "analysis/report/report.h"

struct pass_checkpoints {
    struct job *job;
};

static void *new (const struct options *options, struct job *job, struct report *report)
{
    struct pass_checkpoints *self = calloc(1, sizeof(*self));
    if (self)
        self->job = job;
    return self;
}

static int add_row(struct report *report, const struct rank *rank, const struct checkpoint *checkpoint)
{
    uint64_t duration = checkpoint->end_ns - checkpoint->start_ns;
    return report_add_checkpoint(report, &(struct report_checkpoint){
                                             .rank = rank->number,
                                             .path = checkpoint->path,
                                             .bytes = checkpoint->bytes,
                                             .start_ns = checkpoint->start_ns,
                                             .duration_ns = duration,
                                             .stall_ns = checkpoint->stall_ns,
                                             .step = checkpoint->step,
                                             .sync = checkpoint_is_sync(checkpoint),
                                             .safe = checkpoint->fsynced && checkpoint->renamed,
                                             .survives = !checkpoint->removed,
                                         });
}

static int finish(void *arg, struct report *report)
{
    const struct job *job = ((struct pass_checkpoints *)arg)->job;
    int rc = 0;
    for (size_t i = 0; i < job->nr_ranks; i++)
        for (size_t j = 0; j < job->ranks[i]->nr_checkpoints && !rc; j++)
            rc = add_row(report, job->ranks[i], &job->ranks[i]->checkpoints[j]);
    return rc;
}

const struct pass pass_checkpoints = {"checkpoints", "checkpoints: size, stall, safety", new, NULL, finish, free};
