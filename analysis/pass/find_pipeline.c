/* find_pipeline.c - pipeline-bubble, pipeline-imbalance: stages that wait for each other.
 *
 * A schedule of m micro-batches over p stages leaves (p-1)/(m+p-1) of the time empty on every stage: that is no fault
 * of the run as long as m is large enough. Judged by communicator. Of several pipelines beside each other the one that
 * waits most is told of; ranks and time are those of all that show the same. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/model/coll_stats.h"
#include "analysis/model/communicators.h"
#include "analysis/model/job.h"
#include "analysis/pass/judge.h"
#include "analysis/pass/pass.h"
#include "analysis/pass/thresholds.h"

struct pipeline {
    const struct communicator *comm;
    double bubble_ns, window_ns, windows;
    double share;         /* of the windows' time */
    double micro_batches; /* of a step */
    double own;           /* bubble that the schedule has by itself, as a share */
    double confidence;
    const struct rank_facts *slowest; /* stage with most compute a step */
    double slowest_ns, others_ns;     /* its compute a step; mean of the others */
};

static const struct rank_facts *stage(const struct job *job, const struct communicator *comm, int32_t i)
{
    const struct comm_handle *member = comm->members[i];
    const struct rank *rank = member ? member->process->rank : NULL;
    const struct rank_facts *facts = rank ? facts_rank(job->facts, rank) : NULL;
    return facts && facts->comm_windows * 2 > facts->windows && facts->windows ? facts : NULL;
}

static uint64_t count_sends(const struct job *job, const struct communicator *comm)
{
    const struct coll_stats *stats = job->facts->collectives;
    uint64_t sends = 0;
    for (size_t i = 0; i < stats->nr; i++)
        sends +=
            stats->classes[i].comm == comm && stats->classes[i].op == TR_coll_op_Send ? stats->classes[i].instances : 0;
    return sends;
}

static bool is_pipeline(const struct job *job, const struct communicator *comm)
{
    const struct coll_stats *stats = job->facts->collectives;
    for (size_t i = 0; i < stats->nr; i++)
        if (stats->classes[i].comm == comm && stats->classes[i].role && !strcmp(stats->classes[i].role, "PP"))
            return true;
    return false;
}

/* False if not all stages can be judged. */
static bool measure(const struct job *job, const struct report *report, const struct communicator *comm,
                    struct pipeline *ret)
{
    double compute_ns = 0;
    *ret = (struct pipeline){.comm = comm, .confidence = 1};
    for (int32_t i = 0; i < comm->nranks; i++) {
        const struct rank_facts *facts = stage(job, comm, i);
        if (!facts)
            return false;
        double each = (double)facts->class_ns[BC_compute] / (double)facts->windows;
        ret->confidence = fmin(ret->confidence, judge_rank(job, facts));
        ret->bubble_ns += (double)facts->pp_bubble_ns;
        ret->window_ns += (double)facts->comm_window_ns;
        ret->windows += (double)facts->comm_windows;
        compute_ns += each;
        if (each > ret->slowest_ns) {
            ret->slowest = facts;
            ret->slowest_ns = each;
        }
    }
    double stages = comm->nranks;
    ret->share = ret->window_ns > 0 ? ret->bubble_ns / ret->window_ns : 0;
    ret->others_ns = (compute_ns - ret->slowest_ns) / (stages - 1);
    /* Each micro-batch crosses every boundary twice, forwards and backwards. */
    if (report->steps.count)
        ret->micro_batches = (double)count_sends(job, comm) / (2 * (stages - 1)) / (double)report->steps.count;
    ret->own = ret->micro_batches > 0 ? (stages - 1) / (ret->micro_batches + stages - 1) : NAN;
    return ret->confidence > 0 && judge_clocks(report, ret->bubble_ns / ret->windows);
}

static void describe(struct finding *finding, const struct pipeline *pipe, double lost_ns)
{
    finding_lost(finding, (int64_t)(lost_ns / pipe->comm->nranks), 0); /* of one rank: the same in all pipelines */
    finding_set_share(finding, "share", pipe->share);
    finding_set_time(finding, "wait", pipe->bubble_ns / pipe->windows);
    finding_set_time(finding, "step", pipe->window_ns / pipe->windows);
    finding_set_count(finding, "stages", (uint64_t)pipe->comm->nranks);
    if (isfinite(pipe->own)) {
        finding_set_share(finding, "own", pipe->own);
        finding_set(finding, "micro", "%.3g", pipe->micro_batches);
    }
}

/* ---- pipeline-imbalance ------------------------------------------------------------------- */

static bool is_uneven(const struct pipeline *pipe)
{
    return pipe->share >= TH_STAGE_BUBBLE && pipe->others_ns > 0 &&
           pipe->slowest_ns >= TH_STAGE_RATIO * pipe->others_ns;
}

/* With even stages every step would be shorter by what the slowest one is above the mean. All ranks' time. */
static double lost_in_uneven(const struct pipeline *pipe)
{
    double mean = (pipe->slowest_ns + pipe->others_ns * (pipe->comm->nranks - 1)) / pipe->comm->nranks;
    return fmin((pipe->slowest_ns - mean) * pipe->windows, pipe->bubble_ns);
}

static struct finding *raise_uneven(struct report *report, const struct pipeline *pipe)
{
    double saved = lost_in_uneven(pipe);
    struct finding *finding = finding_raise(report, "pipeline-imbalance", NULL,
                                            severity_of_share(saved / pipe->window_ns), pipe->confidence * 0.9);
    finding_lost(finding, 0, saved / 1e9);
    finding_add_rank(finding, pipe->slowest->rank->number);
    finding_add_host(finding, pipe->slowest->rank->process->host_name);
    for (int32_t i = 0; i < pipe->comm->nranks; i++)
        if (pipe->comm->members[i]->process->rank != pipe->slowest->rank)
            finding_add_victim(finding, pipe->comm->members[i]->process->rank->number);
    return finding;
}

static void find_imbalance(struct report *report, const struct pipeline *pipes, size_t nr, const struct pipeline *worst)
{
    struct finding *finding = NULL;
    if (!is_uneven(worst))
        return;
    for (size_t i = 0; i < nr; i++)
        finding = is_uneven(&pipes[i]) ? raise_uneven(report, &pipes[i]) : finding;
    describe(finding, worst, lost_in_uneven(worst));
    for (int32_t i = 0; i < worst->comm->nranks; i++)
        if (worst->comm->members[i]->process->rank == worst->slowest->rank)
            finding_set(finding, "stage", "%d", i);
    finding_set_time(finding, "slow", worst->slowest_ns);
    finding_set_time(finding, "others", worst->others_ns);
    finding_evidence(finding, "compute");
    finding_evidence(finding, "wait");
    finding_other(finding, "");
}

/* ---- pipeline-bubble ---------------------------------------------------------------------- */

static bool has_few(const struct pipeline *pipe)
{
    return pipe->micro_batches > 0 && pipe->micro_batches < TH_BUBBLE_MICRO * pipe->comm->nranks;
}

static bool has_more(const struct pipeline *pipe)
{
    return !isfinite(pipe->own) || pipe->share > TH_BUBBLE_RATIO * pipe->own;
}

static bool is_bubble(const struct pipeline *pipe)
{
    return pipe->share >= TH_BUBBLE && (has_few(pipe) || has_more(pipe));
}

/* With enough micro-batches some bubble stays. All ranks' time. */
static double lost_in_bubble(const struct pipeline *pipe)
{
    double stages = pipe->comm->nranks, rest = (stages - 1) / (TH_BUBBLE_MICRO * stages + stages - 1);
    return (pipe->share - fmin(rest, pipe->share)) * pipe->window_ns;
}

static struct finding *raise_bubble(struct report *report, const struct pipeline *pipe)
{
    double lost_ns = lost_in_bubble(pipe);
    struct finding *finding = finding_raise(report, "pipeline-bubble", NULL,
                                            severity_of_share(lost_ns / pipe->window_ns), pipe->confidence * 0.85);
    finding_lost(finding, 0, lost_ns / 1e9);
    for (int32_t i = 0; i < pipe->comm->nranks; i++)
        finding_add_rank(finding, pipe->comm->members[i]->process->rank->number);
    return finding;
}

static void find_bubble(struct report *report, const struct pipeline *pipes, size_t nr, const struct pipeline *worst)
{
    const char *key = has_few(worst) && !has_more(worst) ? "few" : "";
    struct finding *finding = NULL;
    if (!is_bubble(worst))
        return;
    for (size_t i = 0; i < nr; i++)
        finding = is_bubble(&pipes[i]) ? raise_bubble(report, &pipes[i]) : finding;
    describe(finding, worst, lost_in_bubble(worst));
    finding_cause(finding, key);
    finding_fix(finding, key);
    finding_evidence(finding, "wait");
    if (isfinite(worst->own))
        finding_evidence(finding, "schedule");
    finding_other(finding, "");
    if (finding_is_raised(report, "pipeline-imbalance"))
        finding_caused_by(finding, "pipeline-imbalance");
}

static int finish(void *arg, struct report *report)
{
    const struct job *job = ((struct finder *)arg)->job;
    struct pipeline *pipes = calloc(job->communicators.nr + 1, sizeof(*pipes));
    const struct pipeline *worst = pipes;
    size_t nr = 0;
    if (!pipes)
        return -ENOMEM;
    for (const struct communicator *comm = job->communicators.first; comm && job->facts->collectives; comm = comm->next)
        if (comm->nranks > 1 && is_pipeline(job, comm) && measure(job, report, comm, &pipes[nr])) {
            worst = pipes[nr].share > worst->share ? &pipes[nr] : worst;
            nr++;
        }
    if (nr) {
        find_imbalance(report, pipes, nr, worst);
        find_bubble(report, pipes, nr, worst);
    }
    free(pipes);
    return 0;
}

const struct pass find_pipeline = {
    "find-pipeline", "pipeline-bubble, pipeline-imbalance", finder_new, NULL, finish, free};
