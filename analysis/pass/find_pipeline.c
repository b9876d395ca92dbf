/* find_pipeline.c - pipeline-bubble, pipeline-imbalance: stages that wait for each other.
 *
 * A schedule of m micro-batches over p stages leaves (p-1)/(m+p-1) of the time empty on every stage: that is no fault
 * of the run as long as m is large enough. Judged by communicator; several pipelines beside each other are judged by
 * the one that waits most. */
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
    return ret->confidence > 0;
}

static void describe(struct finding *finding, const struct pipeline *pipe, double lost_ns)
{
    finding_lost(finding, (int64_t)(lost_ns / pipe->comm->nranks), lost_ns / 1e9);
    finding_set_share(finding, "share", pipe->share);
    finding_set_time(finding, "wait", pipe->bubble_ns / pipe->windows);
    finding_set_time(finding, "step", pipe->window_ns / pipe->windows);
    finding_set_count(finding, "stages", (uint64_t)pipe->comm->nranks);
    if (isfinite(pipe->own)) {
        finding_set_share(finding, "own", pipe->own);
        finding_set(finding, "micro", "%.3g", pipe->micro_batches);
    }
}

static bool find_imbalance(struct report *report, const struct pipeline *pipe)
{
    if (pipe->share < TH_STAGE_BUBBLE || pipe->others_ns <= 0 || pipe->slowest_ns < TH_STAGE_RATIO * pipe->others_ns)
        return false;
    /* With even stages every step would be shorter by what the slowest one is above the mean. */
    double mean = (pipe->slowest_ns + pipe->others_ns * (pipe->comm->nranks - 1)) / pipe->comm->nranks;
    double saved = fmin((pipe->slowest_ns - mean) * pipe->windows, pipe->bubble_ns);
    struct finding *finding = finding_raise(report, "pipeline-imbalance", NULL,
                                            severity_of_share(saved / pipe->window_ns), pipe->confidence * 0.9);
    describe(finding, pipe, saved);
    finding_add_rank(finding, pipe->slowest->rank->number);
    finding_add_host(finding, pipe->slowest->rank->process->host_name);
    for (int32_t i = 0; i < pipe->comm->nranks; i++) {
        const struct rank *rank = pipe->comm->members[i]->process->rank;
        if (rank != pipe->slowest->rank)
            finding_add_victim(finding, rank->number);
        else
            finding_set(finding, "stage", "%d", i);
    }
    finding_set_time(finding, "slow", pipe->slowest_ns);
    finding_set_time(finding, "others", pipe->others_ns);
    finding_evidence(finding, "compute");
    finding_evidence(finding, "wait");
    finding_other(finding, "");
    return true;
}

static void find_bubble(struct report *report, const struct pipeline *pipe, bool imbalance)
{
    bool few = pipe->micro_batches > 0 && pipe->micro_batches < TH_BUBBLE_MICRO * pipe->comm->nranks;
    bool more = !isfinite(pipe->own) || pipe->share > TH_BUBBLE_RATIO * pipe->own;
    if (pipe->share < TH_BUBBLE || (!few && !more))
        return;
    /* With enough micro-batches some bubble stays. */
    double stages = pipe->comm->nranks, rest = (stages - 1) / (TH_BUBBLE_MICRO * stages + stages - 1);
    double lost_ns = (pipe->share - fmin(rest, pipe->share)) * pipe->window_ns;
    struct finding *finding = finding_raise(report, "pipeline-bubble", NULL,
                                            severity_of_share(lost_ns / pipe->window_ns), pipe->confidence * 0.85);
    describe(finding, pipe, lost_ns);
    for (int32_t i = 0; i < pipe->comm->nranks; i++)
        finding_add_rank(finding, pipe->comm->members[i]->process->rank->number);
    finding_cause(finding, few && !more ? "few" : "");
    finding_fix(finding, few && !more ? "few" : "");
    finding_evidence(finding, "wait");
    if (isfinite(pipe->own))
        finding_evidence(finding, "schedule");
    finding_other(finding, "");
    if (imbalance)
        finding_caused_by(finding, "pipeline-imbalance");
}

static int finish(void *arg, struct report *report)
{
    const struct job *job = ((struct finder *)arg)->job;
    struct pipeline worst = {0}, pipe;
    if (!job->facts->collectives)
        return 0;
    for (const struct communicator *comm = job->communicators.first; comm; comm = comm->next)
        if (comm->nranks > 1 && is_pipeline(job, comm) && measure(job, report, comm, &pipe) && pipe.share > worst.share)
            worst = pipe;
    if (worst.comm)
        find_bubble(report, &worst, find_imbalance(report, &worst));
    return 0;
}

const struct pass find_pipeline = {
    "find-pipeline", "pipeline-bubble, pipeline-imbalance", finder_new, NULL, finish, free};
