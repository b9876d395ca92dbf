/* find_checkpoint.c - checkpoint-sync, -interval, -retention, -unsafe: what saving costs, and what it is worth. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/model/job.h"
#include "analysis/pass/judge.h"
#include "analysis/pass/pass.h"
#include "analysis/pass/thresholds.h"

#define HOUR_NS 3600e9

/* The checkpoints of one rank in sum. */
struct saves_sum {
    size_t nr, stalled, own, survivors, unsafe, no_fsync, no_rename, in_place;
    double bytes, stall_ns, longest_ns, write_ns, duration_ns;
    const struct checkpoint *first, *last;
};

static struct saves_sum sum_up(const struct rank *rank)
{
    struct saves_sum sum = {0};
    for (size_t i = 0; i < rank->nr_checkpoints; i++) {
        const struct checkpoint *checkpoint = &rank->checkpoints[i];
        double duration = (double)(checkpoint->end_ns - checkpoint->start_ns), stall = (double)checkpoint->stall_ns;
        sum.nr++;
        sum.stalled += checkpoint->stall_ns > 0;
        sum.own += checkpoint->own;
        sum.survivors += !checkpoint->removed;
        sum.unsafe += !checkpoint->fsynced || !checkpoint->renamed;
        sum.no_fsync += !checkpoint->fsynced;
        sum.no_rename += !checkpoint->renamed;
        sum.in_place += checkpoint->in_place;
        sum.bytes += (double)checkpoint->bytes;
        sum.stall_ns += stall;
        sum.write_ns += (double)checkpoint->write_ns;
        sum.duration_ns += duration;
        sum.longest_ns = stall > sum.longest_ns ? stall : sum.longest_ns;
        sum.first = sum.first ? sum.first : checkpoint;
        sum.last = checkpoint;
    }
    return sum;
}

static double span_of(const struct rank *rank)
{
    return rank->end_ns > rank->begin_ns ? (double)(rank->end_ns - rank->begin_ns) : 0;
}

/* ---- checkpoint-sync ---------------------------------------------------------------------- */

static const char *sync_reason(const struct saves_sum *sum)
{
    if (!sum->own)
        return "async";
    return sum->write_ns >= TH_CKPT_WRITE_SHARE * sum->stall_ns ? "" : "serialise";
}

/* On a GPU job only what the GPU notices is lost: queued work hides the rest of a stall. */
static struct saves_sum as_noticed(const struct rank_facts *facts, const struct saves_sum *sum)
{
    struct saves_sum noticed = *sum;
    double exposed_ns = judge_class(facts, BC_checkpoint) * span_of(facts->rank);

    if (facts->gpu.windows && exposed_ns < sum->stall_ns && sum->stall_ns > 0) {
        double part = exposed_ns / sum->stall_ns;
        noticed.stall_ns *= part;
        noticed.write_ns *= part;
        noticed.longest_ns *= part;
    }
    return noticed;
}

static void find_sync(struct report *report, const struct job *job, const struct rank_facts *facts,
                      const struct saves_sum *told)
{
    const struct saves_sum noticed = as_noticed(facts, told), *sum = &noticed;
    double share = span_of(facts->rank) > 0 ? sum->stall_ns / span_of(facts->rank) : 0;
    double confidence = judge_confidence(job, facts->windows);
    bool long_one = sum->longest_ns >= TH_CKPT_SYNC_NS;
    if (!sum->stalled || (!long_one && (share < TH_CKPT_SYNC_SHARE || confidence <= 0)))
        return;
    enum severity severity = severity_of_share(share);
    if (long_one && severity == SEVERITY_LOW)
        severity = SEVERITY_MEDIUM;
    const char *reason = sync_reason(sum);
    const struct mount *mount = mounts_find(&job->mounts, facts->rank->process->host, 0, sum->last->path);
    struct finding *finding =
        finding_raise(report, "checkpoint-sync", reason, severity, confidence > 0 ? confidence : 0.7);
    finding_add_rank(finding, facts->rank->number);
    finding_lost(finding, (int64_t)sum->stall_ns, sum->stall_ns / 1e9);
    finding_set_count(finding, "count", sum->nr);
    finding_set_time(finding, "stall", sum->stall_ns / (double)sum->nr);
    finding_set_time(finding, "longest", sum->longest_ns);
    finding_set_time(finding, "total", sum->stall_ns);
    finding_set_share(finding, "share", share);
    finding_set(finding, "path", "%s", sum->last->path);
    finding_set(finding, "mount", "%s", mount ? mount->point : sum->last->path);
    finding_set_bytes(finding, "bytes", sum->bytes / (double)sum->nr);
    finding_set_rate(finding, "rate", sum->bytes * 1e9 / sum->duration_ns);
    finding_set_share(finding, "write_share", sum->write_ns / sum->stall_ns);
    finding_evidence(finding, "stall");
    if (sum->own) {
        finding_evidence(finding, "write");
        finding_other(finding, "async");
        finding_other(finding, "device");
    }
    finding_cause(finding, reason);
    finding_fix(finding, reason);
}

/* ---- checkpoint-interval ------------------------------------------------------------------ */

/* The interval that loses least: to stalls, and to work done again after a failure. */
static double best_interval(const struct job *job, double stall_ns)
{
    double mtbf = TH_CKPT_MTBF_HOURS * HOUR_NS / (double)(job->world_size > 0 ? job->world_size : 1);
    double cost = stall_ns > TH_CKPT_COST_MIN_NS ? stall_ns : TH_CKPT_COST_MIN_NS;
    return sqrt(2 * cost * mtbf);
}

static void find_interval(struct report *report, const struct job *job)
{
    const struct rank *writer = NULL;
    double run = 0;
    for (size_t i = 0; i < job->nr_ranks; i++) {
        run = span_of(job->ranks[i]) > run ? span_of(job->ranks[i]) : run;
        if (!writer || job->ranks[i]->nr_checkpoints > writer->nr_checkpoints)
            writer = job->ranks[i];
    }
    if (!writer || run < TH_CKPT_RUN_NS)
        return;
    struct saves_sum sum = sum_up(writer);
    double interval = run / (double)(sum.nr + 1), stall = sum.nr ? sum.stall_ns / (double)sum.nr : 0;
    double best = best_interval(job, stall);
    if (sum.nr && interval <= TH_CKPT_INTERVAL_RATIO * best)
        return;
    const char *key = sum.nr ? "" : "none";
    struct finding *finding = finding_raise(report, "checkpoint-interval", NULL, SEVERITY_MEDIUM, sum.nr ? 0.8 : 0.6);
    finding_set_time(finding, "run", run);
    finding_set_time(finding, "interval", interval);
    finding_set_time(finding, "best", best);
    finding_set_time(finding, "stall", stall);
    finding_set_time(finding, "mtbf",
                     TH_CKPT_MTBF_HOURS * HOUR_NS / (double)(job->world_size > 0 ? job->world_size : 1));
    if (sum.nr)
        finding_set_count(finding, "count", sum.nr);
    finding_what(finding, key);
    finding_cause(finding, key);
    finding_fix(finding, key);
    finding_evidence(finding, sum.nr ? "interval" : "none");
    finding_other(finding, "short");
}

/* ---- checkpoint-retention, checkpoint-unsafe ---------------------------------------------- */

static void find_retention(struct report *report, const struct rank *rank, const struct saves_sum *sum)
{
    if (sum->nr < TH_CKPT_KEEP_MIN || sum->survivors > 1)
        return;
    struct finding *finding = finding_raise(report, "checkpoint-retention", NULL, SEVERITY_MEDIUM, 0.8);
    finding_add_rank(finding, rank->number);
    finding_set_count(finding, "count", sum->nr);
    finding_set_count(finding, "survivors", sum->survivors);
    finding_set(finding, "path", "%s", sum->last->path);
    if (strcmp(sum->first->path, sum->last->path))
        finding_cause(finding, "removed");
    finding_evidence(finding, "saves");
    finding_other(finding, "copy");
}

static void find_unsafe(struct report *report, const struct rank *rank, const struct saves_sum *sum)
{
    if (!sum->unsafe)
        return;
    bool renamed = !sum->no_rename;
    /* Only an old checkpoint that is overwritten puts what was safe at risk. */
    enum severity severity = sum->in_place ? SEVERITY_HIGH : SEVERITY_LOW;
    struct finding *finding =
        finding_raise(report, "checkpoint-unsafe", renamed ? "renamed" : "in place", severity, 0.9);
    finding_add_rank(finding, rank->number);
    finding_set(finding, "path", "%s", sum->last->path);
    finding_set_count(finding, "count", sum->nr);
    finding_set_count(finding, "unsafe", sum->unsafe);
    finding_set(finding, "missing", "%s", renamed ? "fsync" : sum->no_fsync ? "fsync + rename" : "rename");
    finding_set_time(finding, "window", sum->duration_ns / (double)sum->nr);
    finding_evidence(finding, "saves");
    if (renamed) {
        finding_what(finding, "no-fsync");
        finding_cause(finding, "no-fsync");
    } else if (sum->in_place) {
        finding_evidence(finding, "window");
    } else {
        finding_other(finding, "stepname");
    }
    finding_other(finding, "object");
}

/* It has happened already: what was written last is half a checkpoint. Grave if it was to replace a whole one. */
static void find_cut_off(struct report *report, const struct job *job, const struct rank *rank)
{
    const struct save *save = rank->cut_off;
    if (!save)
        return;
    struct finding *finding =
        finding_raise(report, "checkpoint-unsafe", "cut off", save->in_place ? SEVERITY_HIGH : SEVERITY_LOW, 0.8);
    finding_add_rank(finding, rank->number);
    finding_set(finding, "path", "%s", save->name->text);
    finding_set_count(finding, "count", rank->nr_checkpoints + 1);
    finding_set_count(finding, "unsafe", 1);
    finding_set(finding, "missing", "close");
    finding_set_time(finding, "age", (double)(save->process->last_ns - save->create_ns));
    finding_what(finding, "truncated");
    finding_cause(finding, "truncated");
    finding_evidence(finding, "saves");
}

static int finish(void *arg, struct report *report)
{
    const struct job *job = ((struct finder *)arg)->job;
    for (size_t i = 0; i < job->facts->nr_ranks; i++) {
        const struct rank_facts *facts = &job->facts->ranks[i];
        struct saves_sum sum = sum_up(facts->rank);
        find_cut_off(report, job, facts->rank);
        if (!sum.nr)
            continue;
        find_sync(report, job, facts, &sum);
        find_retention(report, facts->rank, &sum);
        find_unsafe(report, facts->rank, &sum);
    }
    find_interval(report, job);
    return 0;
}

const struct pass find_checkpoint = {
    "find-checkpoint", "checkpoint-sync, -interval, -retention, -unsafe", finder_new, NULL, finish, free};
