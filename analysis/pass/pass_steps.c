/* pass_steps.c - how the run was cut into steps, and how sure that is. The survey decided it (model/ranks.c); the
 * windows themselves are told by pass_breakdown. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/model/job.h"
#include "analysis/pass/pass.h"
#include "analysis/pass/thresholds.h"
#include "analysis/report/report.h"

struct pass_steps {
    struct job *job;
};

static void *new (const struct options *options, struct job *job, struct report *report)
{
    struct pass_steps *self = calloc(1, sizeof(*self));
    if (self)
        self->job = job;
    return self;
}

/* Without PyTorch's ranges, waits decide; the reader of the report should know. */
static bool judged_by_waits(const struct job *job)
{
    for (size_t i = 0; i < job->nr_ranks; i++)
        if (job->method != ANCHORS_run && job->ranks[i]->waits_only)
            return true;
    return false;
}

static int finish(void *arg, struct report *report)
{
    const struct job *job = ((struct pass_steps *)arg)->job;
    report->steps.method = anchor_method_names[job->method];
    report->steps.confidence = job->confidence;
    if (!job->nr_events)
        return 0;
    if (!job->nr_ranks && job->first && job->first->logged)
        return report_note(report, "logs", NULL);
    if (job->nr_ranks && process_is_unseen(job->ranks[0]->process))
        return report_note(report, "plugin-only", NULL);
    if (job->found == ANCHORS_run)
        return report_note(report, "no-steps", NULL);
    if (job->method == ANCHORS_run) {
        char confidence[16];
        snprintf(confidence, sizeof(confidence), "%.2f", job->confidence);
        return report_note(report, "low-confidence", "method", anchor_method_names[job->found], "confidence",
                           confidence, NULL);
    }
    return judged_by_waits(job) ? report_note(report, "no-ranges", NULL) : 0;
}

const struct pass pass_steps = {"steps", "what tells steps apart, and how surely", new, NULL, finish, free};
