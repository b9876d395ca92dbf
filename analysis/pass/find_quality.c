/* find_quality.c - trace-quality: holes in the trace that could change what the report says. */
#include <stdlib.h>
#include <string.h>

#include "analysis/model/job.h"
#include "analysis/pass/judge.h"
#include "analysis/pass/pass.h"
#include "analysis/pass/thresholds.h"

static void find_lost(struct report *report, const struct job *job)
{
    uint64_t lost = job->facts->lost, all = lost + job->nr_events;
    double share = judge_share(lost, all);
    if (share < TH_LOST_SHARE)
        return;
    struct finding *finding = finding_raise(report, "trace-quality", "lost",
                                            share >= TH_LOST_GRAVE_SHARE ? SEVERITY_MEDIUM : SEVERITY_LOW, 1);
    finding_set_count(finding, "lost", lost);
    finding_set_count(finding, "events", all);
    finding_set_share(finding, "lost_share", share);
    finding_evidence(finding, "lost");
    finding_other(finding, "effect");
}

/* Without a kernel's record the GPU looks idle while it ran. */
static void find_gpu_lost(struct report *report, const struct job *job)
{
    uint64_t lost = job->facts->gpu_lost, all = lost + job->facts->gpu_told, dropped = 0, discarded = 0, untimed = 0;
    double share = judge_share(lost, all);
    if (share < TH_LOST_SHARE)
        return;
    for (const struct process *process = job->first; process; process = process->next) {
        dropped += process->gpu_lost.dropped;
        discarded += process->gpu_lost.discarded;
        untimed += process->gpu_lost.untimed;
    }
    struct finding *finding = finding_raise(report, "trace-quality", "gpu-lost",
                                            share >= TH_LOST_GRAVE_SHARE ? SEVERITY_MEDIUM : SEVERITY_LOW, 1);
    finding_set_count(finding, "gpu_lost", lost);
    finding_set_count(finding, "gpu_records", all);
    finding_set_share(finding, "gpu_share", share);
    finding_set_count(finding, "dropped", dropped);
    finding_set_count(finding, "discarded", discarded);
    finding_set_count(finding, "untimed", untimed);
    finding_what(finding, "gpu-lost");
    finding_cause(finding, "gpu-lost");
    finding_fix(finding, "gpu-lost");
    finding_evidence(finding, "gpu-lost");
    finding_other(finding, "gpu-lost");
}

static void find_unresolved(struct report *report, const struct job *job)
{
    if (judge_share(job->names.unresolved, job->nr_events) < TH_UNRESOLVED_SHARE)
        return;
    struct finding *finding = finding_raise(report, "trace-quality", "names", SEVERITY_LOW, 1);
    finding_set_count(finding, "unresolved", job->names.unresolved);
    finding_set_count(finding, "unmatched", job->unmatched);
    finding_set_count(finding, "unknown", job->facts->unknown);
    finding_what(finding, "names");
    finding_cause(finding, "names");
    finding_fix(finding, "names");
    finding_evidence(finding, "names");
}

static void find_gaps(struct report *report, const struct job *job)
{
    if (judge_share(job->gap_ns, job_extent(job).last_ns - job_extent(job).first_ns) < TH_GAP_SHARE)
        return;
    struct finding *finding = finding_raise(report, "trace-quality", "gaps", SEVERITY_LOW, 1);
    finding_set_time(finding, "gap", (double)job->gap_ns);
    finding_set_count(finding, "gaps", job->nr_gaps);
    finding_what(finding, "gaps");
    finding_cause(finding, "gaps");
    finding_fix(finding, "gaps");
    finding_evidence(finding, "gaps");
}

/* Steps left out because GPU times may be missing in them: of the rank with most. */
static void find_gpu_gaps(struct report *report, const struct job *job)
{
    const struct rank_facts *worst = NULL;
    for (size_t i = 0; i < job->facts->nr_ranks; i++) {
        const struct rank_facts *facts = &job->facts->ranks[i];
        worst = facts->gpu.gap_windows > (worst ? worst->gpu.gap_windows : 0) ? facts : worst;
    }
    uint64_t gaps = worst ? worst->gpu.gap_windows : 0, all = worst ? gaps + worst->windows : 0;
    if (!gaps || judge_share(gaps, all) < TH_GAP_SHARE)
        return;
    struct finding *finding = finding_raise(report, "trace-quality", "gpu", SEVERITY_LOW, 1);
    finding_set_count(finding, "gpu_steps", gaps);
    finding_set_count(finding, "all_steps", all);
    finding_what(finding, "gpu");
    finding_cause(finding, "gpu");
    finding_fix(finding, "gpu");
    finding_evidence(finding, "gpu");
}

static void find_missing_ranks(struct report *report, const struct job *job)
{
    int seen = 0;
    for (size_t i = 0; i < job->nr_ranks; i++)
        seen += !i || job->ranks[i]->number != job->ranks[i - 1]->number;
    if (!seen || seen >= job->world_size)
        return;
    struct finding *finding = finding_raise(report, "trace-quality", "ranks", SEVERITY_LOW, 1);
    finding_set(finding, "seen", "%d", seen);
    finding_set(finding, "world", "%d", job->world_size);
    finding_what(finding, "ranks");
    finding_cause(finding, "ranks");
    finding_fix(finding, "ranks");
    finding_evidence(finding, "ranks");
}

static void find_no_steps(struct report *report, const struct job *job)
{
    if (!job->nr_events || job->method != ANCHORS_run || job->found == ANCHORS_run)
        return; /* no anchors at all is a note: the job may not be a training */
    struct finding *finding = finding_raise(report, "trace-quality", "steps", SEVERITY_LOW, 1);
    finding_set(finding, "confidence", "%.2f", job->confidence);
    finding_set(finding, "method", "%s", anchor_method_names[job->found]);
    finding_what(finding, "steps");
    finding_cause(finding, "steps");
    finding_fix(finding, "steps");
    finding_evidence(finding, "steps");
}

/* Told for the first such rank: level is one for a recording, but where a recorder was over its budget. */
static int note_light(struct report *report, const struct job *job)
{
    for (size_t i = 0; i < job->nr_ranks; i++)
        if (judge_is_light(job->ranks[i]->process))
            return report_note(report, "light", NULL);
    return 0;
}

/* Why there are no kernels, where the recorder could not ask for them: it says how it fared in `gpu.recorder`. */
static int note_no_gpu(struct report *report, const struct job *job)
{
    for (size_t i = 0; i < job->nr_ranks; i++) {
        const char *status = process_attr(job->ranks[i]->process, "gpu.recorder");
        if (status && (strstr(status, "error") || strncmp(status, "no ", 3) == 0))
            return report_note(report, "no-gpu", "why", status, NULL);
    }
    return 0;
}

static int finish(void *arg, struct report *report)
{
    const struct job *job = ((struct finder *)arg)->job;
    find_lost(report, job);
    find_gpu_lost(report, job);
    find_unresolved(report, job);
    find_gaps(report, job);
    find_gpu_gaps(report, job);
    find_missing_ranks(report, job);
    find_no_steps(report, job);
    int rc = note_no_gpu(report, job);
    return rc ? rc : note_light(report, job);
}

const struct pass find_quality = {"find-quality", "trace-quality", finder_new, NULL, finish, free};
