/* judge.c - see judge.h. */
#include "analysis/pass/judge.h"

#include <stdio.h>
#include <stdlib.h>

#include "analysis/model/job.h"
#include "analysis/pass/thresholds.h"

void *finder_new(const struct options *options, struct job *job, struct report *report)
{
    struct finder *finder = calloc(1, sizeof(*finder));
    if (finder)
        finder->job = job;
    return finder;
}

double judge_confidence(const struct job *job, uint64_t windows)
{
    double confidence = windows >= TH_STEPS_MIN                                  ? TH_CONF_LONG_RUN
                        : windows >= TH_STEPS_MIN_SHORT                          ? TH_CONF_SHORT_RUN
                        : job->facts->profile && windows >= TH_STEPS_MIN_PROFILE ? TH_CONF_PROFILE
                                                                                 : 0;
    uint64_t lost = job->facts->lost, all = lost + job->nr_events;
    /* A trace with holes says less. */
    if (lost)
        confidence *= 1 - (double)lost / (double)all;
    confidence *= 1 - judge_share(job->facts->gpu_lost, job->facts->gpu_lost + job->facts->gpu_told);
    return job->method == ANCHORS_run ? 0 : confidence * job->confidence;
}

double judge_rank(const struct job *job, const struct rank_facts *facts)
{
    double windows = (double)facts->windows, gaps = (double)facts->gpu.gap_windows;
    return windows > 0 ? judge_confidence(job, facts->windows) * windows / (windows + gaps) : 0;
}

bool judge_clocks(const struct report *report, double ns)
{
    int64_t error_ns = report->quality.clock_error_ns;
    return error_ns != TR_UNKNOWN && ns >= TH_CLOCK_CLAIM * (double)error_ns;
}

double judge_share(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

double judge_class(const struct rank_facts *facts, enum breakdown_class cls)
{
    return judge_share(facts->class_ns[cls], facts->window_ns);
}

double judge_data_share(const struct job *job)
{
    double most = 0;
    for (size_t i = 0; i < job->facts->nr_ranks; i++) {
        const struct rank_facts *facts = &job->facts->ranks[i];
        double share = judge_confidence(job, facts->windows) > 0 ? judge_class(facts, BC_dataloader) : 0;
        most = share > most ? share : most;
    }
    return most;
}

/* "150000 100000": quota and period in us; "max 100000": no limit. */
static double cgroup_cpus(const char *text)
{
    double quota, period;
    return text && sscanf(text, "%lf %lf", &quota, &period) == 2 && period > 0 ? quota / period : 0;
}

double judge_cpus_allowed(const struct process *process)
{
    const char *text = process_attr(process, "cpu.allowed");
    double mask = text ? strtod(text, NULL) : 0, quota = cgroup_cpus(process_attr(process, "cgroup.cpu_max"));
    return quota > 0 && (mask <= 0 || quota < mask) ? quota : mask;
}

double judge_cpus_online(const struct process *process)
{
    const char *text = process_attr(process, "cpu.online");
    return text ? strtod(text, NULL) : 0;
}

bool judge_is_light(const struct process *process)
{
    return process->cost.events && process->cost.level == LEVEL_LIGHT;
}

double judge_trainer_ready(const struct rank_facts *facts)
{
    return judge_share(facts->runnable_ns, facts->cpu_span_ns);
}

double judge_runnable(const struct job *job, const struct rank *rank)
{
    struct loader_sum sum = facts_loaders(job->facts, rank);
    double most = judge_share(sum.runnable_ns, sum.busy_ns);
    for (size_t i = 0; i < job->facts->nr_ranks; i++) {
        const struct rank_facts *facts = &job->facts->ranks[i];
        double share = judge_trainer_ready(facts);
        if ((!rank || facts->rank == rank) && share > most)
            most = share;
    }
    return most < 1 ? most : 1;
}

double judge_blocked_in_reads(const struct loader_sum *sum)
{
    double reads = (double)(sum->read_ns + sum->meta_ns);
    double outside = (double)sum->busy_ns - reads - (double)(sum->recv_ns + sum->blocked_ns);
    double cpu_in_reads = (double)(sum->cpu_ns + sum->runnable_ns) - (outside > 0 ? outside : 0);
    if (cpu_in_reads < 0)
        cpu_in_reads = 0;
    double blocked = reads > cpu_in_reads ? reads - cpu_in_reads : 0;
    return sum->busy_ns ? blocked / (double)sum->busy_ns : 0;
}

const char *judge_place(const struct group_facts *group)
{
    return group ? group->group->text : NULL;
}
