/* find_cpu.c - cpu-affinity: trainer and workers want to run, and are not allowed to.
 *
 * Judged before storage, for a thread that is off the CPU looks slow in whatever it does. Being ready without a CPU is
 * not enough, the host may just be busy: the mask or the cgroup's limit must be narrower than the host and than what
 * wants to run. */
#include <stdlib.h>
#include <string.h>

#include "analysis/model/job.h"
#include "analysis/pass/judge.h"
#include "analysis/pass/pass.h"
#include "analysis/pass/thresholds.h"

/* Whether other ranks of the host have the very same mask, and this is what makes it narrow. */
static bool mask_is_shared(const struct job *job, const struct rank *rank)
{
    const char *mask = process_attr(rank->process, "cpu.affinity");
    for (size_t i = 0; i < job->nr_ranks && mask; i++) {
        const struct process *other = job->ranks[i]->process;
        const char *theirs =
            other != rank->process && other->host == rank->process->host ? process_attr(other, "cpu.affinity") : NULL;
        if (theirs && !strcmp(theirs, mask))
            return true;
    }
    return false;
}

static void look_at(struct report *report, const struct job *job, const struct rank_facts *facts)
{
    const struct rank *rank = facts->rank;
    struct loader_sum sum = facts_loaders(job->facts, rank);
    double allowed = judge_cpus_allowed(rank->process), online = judge_cpus_online(rank->process);
    double ready = judge_runnable(job, rank), processes = (double)sum.at_once + 1;
    double confidence = judge_confidence(job, facts->windows);
    if (confidence <= 0 || ready < TH_RUNNABLE_SHARE || allowed <= 0 || allowed >= online || allowed >= processes)
        return;
    const char *mask = process_attr(rank->process, "cpu.affinity"), *cpus = process_attr(rank->process, "cpu.allowed");
    bool by_cgroup = cpus && allowed < strtod(cpus, NULL), shared = !by_cgroup && mask_is_shared(job, rank);
    struct finding *finding =
        finding_raise(report, "cpu-affinity", by_cgroup ? "cgroup" : mask, severity_of_share(ready), 0.9 * confidence);
    job->facts->cpu_short = true;
    finding_add_rank(finding, rank->number);
    finding_set(finding, "processes", "%.0f", processes);
    finding_set(finding, "needed", "%.0f", processes);
    finding_set_count(finding, "workers", sum.at_once);
    finding_set(finding, "cpus", "%g", allowed);
    finding_set(finding, "host_cpus", "%g", online);
    finding_set(finding, "mask", "%s", mask ? mask : "?");
    finding_set_share(finding, "runnable_share", judge_share(sum.runnable_ns, sum.busy_ns));
    finding_set_share(finding, "trainer_share", judge_trainer_ready(facts));
    finding_evidence(finding, "ready");
    finding_evidence(finding, "mask");
    finding_cause(finding, by_cgroup ? "cgroup" : shared ? "same" : "");
    finding_fix(finding, by_cgroup ? "cgroup" : shared ? "same" : "");
    finding_other(finding, "storage");
    finding_other(finding, "load");
}

static int finish(void *arg, struct report *report)
{
    const struct job *job = ((struct finder *)arg)->job;
    for (size_t i = 0; i < job->facts->nr_ranks; i++)
        look_at(report, job, &job->facts->ranks[i]);
    return 0;
}

const struct pass find_cpu = {"find-cpu", "cpu-affinity", finder_new, NULL, finish, free};
