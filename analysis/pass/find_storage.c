/* find_storage.c - small-files and storage-slow: what loaders read, and how that went, while steps ran.
 *
 * Only when training waits for data, and only when its loaders are mostly in I/O: a loader that sleeps over small files
 * has no file problem. A loader kept off the CPU looks slow in its reads, so then this says nothing. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/model/job.h"
#include "analysis/pass/judge.h"
#include "analysis/pass/pass.h"
#include "analysis/pass/thresholds.h"

/* Loaders' busy time, or, without workers, the training threads' time for data. */
static uint64_t loading_time(const struct job *job, const struct loader_sum *sum)
{
    uint64_t time = sum->busy_ns;
    for (size_t i = 0; i < job->facts->nr_ranks; i++)
        if (!job->facts->ranks[i].rank->process->fed)
            time += job->facts->ranks[i].data_ns;
    return time;
}

static void add_starved_ranks(struct finding *finding, const struct job *job)
{
    for (size_t i = 0; i < job->facts->nr_ranks; i++)
        if (judge_class(&job->facts->ranks[i], BC_dataloader) >= TH_DATA_SHARE)
            finding_add_rank(finding, job->facts->ranks[i].rank->number);
}

static void set_place(struct finding *finding, const struct group_facts *group)
{
    finding_set(finding, "place", "%s", group->group->text);
    finding_set(finding, "mount", "%s", group->group->mount ? group->group->mount->point : group->group->text);
    if (group->group->mount) {
        finding_set(finding, "fstype", "%s", group->group->mount->fstype);
        finding_set(finding, "source", "%s", group->group->mount->source);
    }
}

static uint64_t files_of(const struct group_facts *group)
{
    return group->opens ? group->opens : 1;
}

static bool is_small_files(const struct group_facts *group)
{
    return group->group->kind == GROUP_DIR && group->opens >= TH_SMALL_OPENS &&
           judge_share(group->meta_ns, group->meta_ns + group->read_ns) >= TH_SMALL_METADATA_SHARE &&
           group->bytes / files_of(group) < TH_SMALL_MEAN_BYTES;
}

static void raise_small_files(struct report *report, const struct job *job, const struct group_facts *group)
{
    double share = judge_data_share(job);
    uint64_t steps = 0;
    for (size_t i = 0; i < job->facts->nr_ranks; i++)
        steps += job->facts->ranks[i].windows;
    struct finding *finding = finding_raise(report, "small-files", group->group->text, severity_of_share(share),
                                            0.9 * judge_confidence(job, steps));
    add_starved_ranks(finding, job);
    set_place(finding, group);
    finding_set_share(finding, "meta_share", judge_share(group->meta_ns, group->meta_ns + group->read_ns));
    finding_set_count(finding, "files", group->opens);
    finding_set_bytes(finding, "size", (double)group->bytes / (double)files_of(group));
    finding_set_time(finding, "open", (double)group->meta_ns / (double)files_of(group));
    if (steps)
        finding_set(finding, "per_step", "%.0f", (double)group->opens / (double)steps);
    finding_set_time(finding, "meta", (double)group->meta_ns);
    finding_set_time(finding, "read", (double)group->read_ns);
    finding_set_share(finding, "share", share);
    finding_evidence(finding, "opens");
    finding_evidence(finding, "meta");
    finding_evidence(finding, "wait");
    finding_other(finding, "imports");
    finding_other(finding, "slow-storage");
}

/* Why a group's storage is slow: key of the cause. NULL if it is not. */
static const char *slowness(const struct group_facts *group, double blocked_share)
{
    double p50 = histogram_percentile(&group->reads_ns, 0.5), p99 = histogram_percentile(&group->reads_ns, 0.99);
    double rate = group->read_ns ? (double)group->bytes * 1e9 / (double)group->read_ns : INFINITY;
    double cached = group->known_bytes ? 1 - judge_share(group->device_bytes, group->known_bytes) : 0;
    bool peer = group->group->kind == GROUP_PEER;
    if (group->reads < TH_SLOW_READS)
        return NULL;
    if (blocked_share >= TH_SLOW_READ_SHARE && cached < TH_SLOW_CACHED_SHARE && rate < TH_SLOW_RATE) {
        if (peer)
            return "peer";
        return judge_share(group->random_bytes, group->bytes) > TH_SLOW_RANDOM_SHARE ? "random" : "";
    }
    bool tail = p99 >= TH_SLOW_P99_NS && p99 >= TH_SLOW_P99_RATIO * p50;
    return tail && blocked_share >= TH_SLOW_READ_SHARE ? "tail" : NULL;
}

static void raise_slow(struct report *report, const struct job *job, const struct group_facts *group,
                       const struct loader_sum *sum, double blocked_share, const char *why)
{
    double share = judge_data_share(job), rate = (double)group->bytes * 1e9 / (double)group->read_ns;
    struct finding *finding = finding_raise(report, "storage-slow", group->group->text, severity_of_share(share),
                                            0.8 * judge_confidence(job, TH_STEPS_MIN));
    add_starved_ranks(finding, job);
    set_place(finding, group);
    finding_set_share(finding, "blocked_share", blocked_share);
    finding_set_rate(finding, "rate", rate);
    if (sum->at_once > 1)
        finding_set_rate(finding, "total_rate", rate * (double)sum->at_once);
    finding_set_count(finding, "reads", group->reads);
    finding_set_bytes(finding, "size", (double)group->bytes / (double)group->reads);
    finding_set_bytes(finding, "bytes", (double)group->bytes);
    finding_set_time(finding, "p50", histogram_percentile(&group->reads_ns, 0.5));
    finding_set_time(finding, "p95", histogram_percentile(&group->reads_ns, 0.95));
    finding_set_time(finding, "p99", histogram_percentile(&group->reads_ns, 0.99));
    finding_set_share(finding, "cpu_share", judge_share(sum->cpu_ns, sum->busy_ns));
    finding_set_share(finding, "runnable_share", judge_runnable(job, NULL));
    finding_evidence(finding, "reads");
    finding_evidence(finding, "rate");
    if (group->known_bytes) {
        finding_set_share(finding, "cache", 1 - judge_share(group->device_bytes, group->known_bytes));
        finding_evidence(finding, "cache");
    }
    if (sum->busy_ns)
        finding_evidence(finding, "blocked");
    finding_cause(finding, why);
    finding_fix(finding, strcmp(why, "tail") ? why : "");
    finding_other(finding, "affinity");
    finding_other(finding, "cache");
}

static void look_at(struct report *report, const struct job *job, const struct group_facts *group, uint64_t time)
{
    struct facts *facts = job->facts;
    struct loader_sum sum = facts_loaders(facts, NULL);
    double io_share = judge_share(group->read_ns + group->meta_ns, time);
    double blocked = judge_share(group->read_ns, time);
    if (sum.busy_ns && group->group->kind != GROUP_PEER && group->known_bytes) /* reads from page cache are CPU time */
        blocked = fmin(blocked, judge_blocked_in_reads(&sum));
    if (is_small_files(group) && io_share >= TH_DATA_CAUSE_SHARE) {
        raise_small_files(report, job, group);
        facts->slow = group->group;
        facts->slow_id = "small-files";
        return;
    }
    const char *why = slowness(group, blocked);
    if (!why)
        return;
    raise_slow(report, job, group, &sum, blocked, why);
    facts->slow = group->group;
    facts->slow_id = "storage-slow";
}

static int finish(void *arg, struct report *report)
{
    const struct job *job = ((struct finder *)arg)->job;
    struct loader_sum sum = facts_loaders(job->facts, NULL);
    if (judge_data_share(job) < TH_DATA_SHARE || judge_runnable(job, NULL) >= TH_RUNNABLE_SHARE)
        return 0;
    for (size_t i = 0; i < job->facts->nr_groups; i++)
        look_at(report, job, &job->facts->groups[i], loading_time(job, &sum));
    return 0;
}

const struct pass find_storage = {"find-storage", "small-files, storage-slow", finder_new, NULL, finish, free};
