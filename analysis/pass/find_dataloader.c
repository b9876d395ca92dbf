/* find_dataloader.c - dataloader-bound and worker-count: training waits for data, and why.
 *
 * The reason comes from where the loaders' busy time goes (waiting to be told what to load is not busy). Order matters:
 * a thread that is kept off the CPU looks slow in whatever it does, so that is asked first; then what it waits for;
 * what is left is work. First batches are before the first window and so count nowhere here. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/model/job.h"
#include "analysis/pass/judge.h"
#include "analysis/pass/pass.h"
#include "analysis/pass/thresholds.h"

/* One starved rank. */
struct starved {
    const struct rank_facts *facts;
    struct loader_sum loaders;
    const char *reason;              /* key of the cause's sentence */
    const struct group_facts *where; /* NULL: no place */
    double share;
};

static double other_batch_ns(const struct loader_sum *sum)
{
    const struct loader_facts *slowest = sum->slowest;
    uint64_t batches = sum->batches - slowest->batches;
    uint64_t busy = sum->busy_ns - (slowest->span_ns - slowest->idle_ns);
    return batches ? (double)busy / (double)batches : 0;
}

static double slowest_batch_ns(const struct loader_sum *sum)
{
    const struct loader_facts *slowest = sum->slowest;
    return (double)(slowest->span_ns - slowest->idle_ns) / (double)slowest->batches;
}

static bool one_is_late(const struct loader_sum *sum)
{
    return sum->at_once > 1 && sum->slowest && sum->nr == sum->at_once && other_batch_ns(sum) > 0 &&
           slowest_batch_ns(sum) > TH_ONE_WORKER_RATIO * other_batch_ns(sum);
}

static const char *reason_with_workers(const struct rank_facts *facts, const struct loader_sum *sum)
{
    double busy = (double)sum->busy_ns;
    double runnable = (double)sum->runnable_ns / busy, cpu = (double)sum->cpu_ns / busy;
    double reads = (double)(sum->read_ns + sum->meta_ns) / busy, recv = (double)sum->recv_ns / busy;
    double blocked = (double)sum->blocked_ns / busy;
    if (sum->busy_ns == 0)
        return "";
    if (judge_share(sum->idle_ns, sum->span_ns) > TH_IDLE_SHARE)
        return one_is_late(sum)                                  ? "one-worker"
               : judge_trainer_ready(facts) >= TH_RUNNABLE_SHARE ? "trainer"
                                                                 : "handover";
    if (runnable >= TH_RUNNABLE_SHARE && runnable >= blocked)
        return "runnable";
    if (recv >= TH_DATA_CAUSE_SHARE && recv >= blocked)
        return "peer";
    if (blocked >= TH_DATA_CAUSE_SHARE && blocked >= reads && blocked >= cpu)
        return "blocked";
    if (judge_blocked_in_reads(sum) >= TH_DATA_CAUSE_SHARE || reads >= TH_SMALL_METADATA_SHARE)
        return "storage";
    if (cpu >= TH_DATA_CAUSE_SHARE && cpu >= reads)
        return "cpu";
    return "few";
}

static const char *reason_without_workers(const struct rank_facts *facts)
{
    double read = judge_share(facts->data_read_ns, facts->data_ns);
    double blocked = judge_share(facts->data_blocked_ns, facts->data_ns);
    if (read >= TH_DATA_CAUSE_SHARE && read >= blocked / 2)
        return "main-read";
    return blocked >= TH_DATA_CAUSE_SHARE ? "main-blocked" : "main-cpu";
}

/* ---- the shape of the wait ---------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return x < y ? -1 : x > y;
}

static float median_of(const float *values, size_t nr)
{
    float *sorted = malloc(nr * sizeof(*sorted)), median;
    if (!sorted)
        return 0;
    memcpy(sorted, values, nr * sizeof(*sorted));
    qsort(sorted, nr, sizeof(*sorted), by_value);
    median = sorted[nr / 2];
    free(sorted);
    return median;
}

struct shape {
    size_t spikes;   /* stretches of windows with a spike */
    double share;    /* of the wait that they hold */
    double period;   /* windows between their begins */
    double spike_ns; /* mean */
};

/* Few long waits that hold most of the waiting, at a mean distance. */
static bool in_spikes(const struct rank_facts *facts, struct shape *ret)
{
    size_t nr = facts->nr_waits, first = 0, last = 0, long_ones = 0;
    double sum = 0, in_long = 0;
    *ret = (struct shape){0};
    if (nr < TH_STEPS_MIN_SHORT)
        return false;
    for (size_t i = 0; i < nr; i++)
        sum += facts->waits[i];
    double limit = TH_SPIKE_RATIO * (double)median_of(facts->waits, nr);
    if (limit < sum / (double)nr)
        limit = sum / (double)nr; /* the median can be 0 */
    for (size_t i = 0; i < nr; i++) {
        if (facts->waits[i] <= limit)
            continue;
        long_ones++;
        in_long += facts->waits[i];
        if (i && facts->waits[i - 1] > limit)
            continue;
        first = ret->spikes ? first : i;
        last = i;
        ret->spikes++;
    }
    if (!ret->spikes || long_ones * 2 > nr || in_long < TH_SPIKE_SHARE * sum)
        return false;
    ret->share = in_long / sum;
    ret->spike_ns = in_long / (double)ret->spikes;
    ret->period = ret->spikes > 1 ? (double)(last - first) / (double)(ret->spikes - 1) : 0;
    return true;
}

/* ---- the reason ----------------------------------------------------------------------------- */

/* Every epoch has its own workers, and what training waits for is that they start: as many long waits as new sets. */
static bool waits_for_new_workers(const struct rank_facts *facts, const struct loader_sum *sum)
{
    struct shape shape;
    if (!sum->at_once || sum->nr < 2 * sum->at_once || !in_spikes(facts, &shape))
        return false;
    size_t renewals = sum->nr / sum->at_once - 1;
    return shape.spikes <= renewals + 1 && renewals <= shape.spikes + 1;
}

static void explain(const struct job *job, struct starved *starved)
{
    const struct rank *rank = starved->facts->rank;
    starved->loaders = facts_loaders(job->facts, rank);
    starved->reason = waits_for_new_workers(starved->facts, &starved->loaders) ? "restarted"
                      : starved->loaders.nr           ? reason_with_workers(starved->facts, &starved->loaders)
                      : judge_is_light(rank->process) ? "light"
                      : rank->process->fed            ? ""
                      : job->facts->profile           ? starved->facts->has_workers ? "" : "main"
                                                      : reason_without_workers(starved->facts);
    bool peer = !strcmp(starved->reason, "peer");
    if (peer || !strcmp(starved->reason, "storage") || !strcmp(starved->reason, "main-read"))
        starved->where = facts_slowest_group(job->facts, rank->process->host, peer);
    if (!strcmp(starved->reason, "main-read") && !starved->where)
        starved->where = facts_slowest_group(job->facts, rank->process->host, true);
    /* A sentence that names a place needs one. */
    if ((peer || !strcmp(starved->reason, "storage")) && !starved->where)
        starved->reason = "few";
    if (!strcmp(starved->reason, "main-read") && !starved->where)
        starved->reason = "main-cpu";
}

/* ---- telling the shape ------------------------------------------------------------------- */

static bool is_near(double value, double target)
{
    return target > 0 && fabs(value - target) <= 0.1 * target + 0.25;
}

static void tell_spikes(struct finding *finding, const struct starved *starved)
{
    struct shape shape;
    if (!in_spikes(starved->facts, &shape))
        return;
    double workers = (double)starved->loaders.at_once;
    finding_what(finding, starved->facts->gpu.windows ? "gpu-spikes" : "spikes");
    finding_set_count(finding, "spikes", shape.spikes);
    finding_set_share(finding, "spike_share", shape.share);
    if (shape.period >= 2) {
        finding_set(finding, "period", "%.0f", shape.period);
        finding_set_time(finding, "spike", shape.spike_ns);
        if (is_near(shape.period, workers))
            finding_set(finding, "period_of", "num_workers");
        else if (is_near(shape.period, 2 * workers))
            finding_set(finding, "period_of", "num_workers x prefetch_factor");
    }
    finding_evidence(finding, "spikes");
}

/* ---- telling ------------------------------------------------------------------------------ */

static void tell_workers(struct finding *finding, const struct job *job, const struct starved *starved)
{
    const struct loader_sum *sum = &starved->loaders;
    double batch = sum->batches ? (double)sum->busy_ns / (double)sum->batches : 0;
    double step =
        (double)(starved->facts->window_ns - starved->facts->class_ns[BC_dataloader]) / (double)starved->facts->windows;
    double cpus = judge_cpus_allowed(starved->facts->rank->process);
    uint64_t reads = sum->read_ns + sum->meta_ns + sum->recv_ns;
    finding_set_count(finding, "workers", sum->at_once);
    finding_set_count(finding, "started", sum->nr);
    finding_set_share(finding, "read_share", judge_share(reads, sum->busy_ns));
    finding_set_share(finding, "cpu_share", judge_share(sum->cpu_ns, sum->busy_ns));
    finding_set_share(finding, "runnable_share", judge_share(sum->runnable_ns, sum->busy_ns));
    finding_set_share(finding, "blocked_share", judge_share(sum->blocked_ns, sum->busy_ns));
    finding_set_share(finding, "trainer_share", judge_trainer_ready(starved->facts));
    if (cpus > 0)
        finding_set(finding, "cpus", "%g", cpus);
    finding_evidence(finding, "workers");
    if (!strcmp(starved->reason, "restarted"))
        finding_evidence(finding, "restarted");
    if (!strcmp(starved->reason, "trainer"))
        finding_evidence(finding, "trainer");
    if (sum->slowest) {
        finding_set(finding, "worker", "%u", sum->slowest->process->pid);
        if (!strcmp(starved->reason, "one-worker")) {
            finding_set_time(finding, "batch", slowest_batch_ns(sum));
            finding_set_time(finding, "other_batch", other_batch_ns(sum));
            finding_evidence(finding, "slow-worker");
            return;
        }
    }
    if (batch > 0 && sum->at_once) {
        finding_set_time(finding, "batch", batch);
        finding_set_time(finding, "interval", batch / (double)sum->at_once);
        finding_set_bytes(finding, "size", (double)sum->batch_bytes / (double)sum->batches);
        if (step > 0)
            finding_set(finding, "needed", "%.0f", ceil(batch / step));
        finding_evidence(finding, "batch");
    }
}

static void tell_main(struct finding *finding, const struct rank_facts *facts)
{
    double read = judge_share(facts->data_read_ns, facts->data_ns);
    double blocked = judge_share(facts->data_blocked_ns, facts->data_ns);
    double cpu = 1 - read - blocked;
    finding_set_share(finding, "read_share", read);
    finding_set_share(finding, "blocked_share", blocked);
    finding_set_share(finding, "cpu_share", cpu > 0 ? cpu : 0);
    finding_evidence(finding, "main");
}

static void tell_place(struct finding *finding, const struct group_facts *where)
{
    finding_set(finding, "place", "%s", where->group->text);
    if (where->group->mount)
        finding_set(finding, "fstype", "%s", where->group->mount->fstype);
    if (!where->reads)
        return;
    finding_set_count(finding, "reads", where->reads);
    finding_set_bytes(finding, "size", (double)where->bytes / (double)where->reads);
    finding_set_time(finding, "p95", histogram_percentile(&where->reads_ns, 0.95));
    if (where->known_bytes)
        finding_set_share(finding, "cache", 1 - judge_share(where->device_bytes, where->known_bytes));
    if (where->read_ns)
        finding_set_rate(finding, "rate", (double)where->bytes * 1e9 / (double)where->read_ns);
    finding_evidence(finding, "reads");
}

static void tell_others(struct finding *finding, const struct starved *starved)
{
    const struct loader_sum *sum = &starved->loaders;
    if (!sum->nr)
        return;
    uint64_t files = sum->read_ns + sum->meta_ns;
    if (judge_share(files + sum->recv_ns, sum->busy_ns) < TH_DATA_CAUSE_SHARE)
        finding_other(finding, "storage");
    else if (judge_share(files, sum->busy_ns) >= TH_DATA_CAUSE_SHARE)
        finding_other(finding, "affinity");
    if (judge_share(sum->runnable_ns, sum->busy_ns) < TH_RUNNABLE_SHARE)
        finding_other(finding, "cpu");
}

/* On a GPU job only what the GPU notices counts; how long the thread waited is shown beside it. */
static void tell_gpu(struct finding *finding, const struct rank_facts *facts)
{
    const struct gpu_facts *gpu = &facts->gpu;
    if (!gpu->windows)
        return;
    finding_set_time(finding, "host_wait", (double)gpu->host_wait_ns / (double)gpu->windows);
    finding_set_share(finding, "host_share", judge_share(gpu->host_wait_ns, gpu->window_ns));
    finding_what(finding, "gpu");
    finding_evidence(finding, "gpu");
}

/* Ranks that starve for one reason at one place are one finding. */
static struct finding *raise(struct report *report, const struct job *job, const struct starved *all, size_t nr,
                             const struct starved *like)
{
    double worst = 0, seconds = 0, wait = 0, windows = 0, window = 0;
    size_t ranks = 0;
    const struct starved *first = NULL;
    for (size_t i = 0; i < nr; i++) {
        if (strcmp(all[i].reason, like->reason) || all[i].where != like->where)
            continue;
        worst = all[i].share > worst ? all[i].share : worst;
        wait += (double)all[i].facts->class_ns[BC_dataloader];
        window += (double)all[i].facts->window_ns;
        windows += (double)all[i].facts->windows;
        ranks++;
        first = first && first->share >= all[i].share ? first : &all[i];
    }
    seconds = wait / 1e9;
    struct finding *finding =
        finding_raise(report, "dataloader-bound", like->where ? like->where->group->text : like->reason,
                      severity_of_share(worst), judge_rank(job, first->facts));
    finding_lost(finding, (int64_t)(wait / (double)ranks), seconds);
    finding_set_share(finding, "share", wait / window);
    finding_set_time(finding, "wait", wait / windows);
    finding_set_time(finding, "step", window / windows);
    finding_set_count(finding, "steps", first->facts->windows);
    finding_evidence(finding, "wait");
    tell_gpu(finding, first->facts);
    tell_spikes(finding, first);
    if (first->loaders.nr)
        tell_workers(finding, job, first);
    else if (!strncmp(like->reason, "main-", 5))
        tell_main(finding, first->facts);
    if (first->where)
        tell_place(finding, first->where);
    if (job->facts->cpu_short && !strcmp(like->reason, "runnable"))
        finding_caused_by(finding, "cpu-affinity");
    else if (job->facts->slow && like->where && like->where->group == job->facts->slow)
        finding_caused_by(finding, job->facts->slow_id);
    finding_cause(finding, like->reason);
    finding_fix(finding, strcmp(like->reason, "light") ? like->reason : "");
    tell_others(finding, first);
    return finding;
}

/* The first batch came long after it was asked for: it is no part of this, but the reader will look for it. */
static void tell_first(struct finding *finding, const struct rank *rank)
{
    const struct anchors *anchors = rank->trainer->anchors;
    if (!anchors || anchors->first_data_ns < TH_FIRST_BATCH_NS)
        return;
    finding_set_time(finding, "first", (double)anchors->first_data_ns);
    finding_evidence(finding, "first");
}

static void find_few_or_many(struct report *report, const struct job *job, const struct rank_facts *facts)
{
    struct loader_sum sum = facts_loaders(job->facts, facts->rank);
    double share = judge_class(facts, BC_dataloader), idle = judge_share(sum.idle_ns, sum.span_ns);
    double confidence = judge_rank(job, facts), cpus = judge_cpus_allowed(facts->rank->process);
    if (confidence <= 0 || !sum.batches || !sum.at_once)
        return;
    double batch = (double)sum.busy_ns / (double)sum.batches;
    double step = (double)(facts->window_ns - facts->class_ns[BC_dataloader]) / (double)facts->windows;
    double needed = step > 0 ? ceil(batch / step) : 0;
    bool working = judge_share(sum.cpu_ns, sum.busy_ns) >= TH_DATA_CAUSE_SHARE &&
                   judge_runnable(job, facts->rank) < TH_RUNNABLE_SHARE;
    bool few = share >= TH_DATA_SHARE && idle < TH_DATA_CAUSE_SHARE && working && needed > (double)sum.at_once &&
               (cpus <= 0 || cpus > (double)sum.at_once);
    bool many = share < TH_DATA_NONE_SHARE && idle >= TH_WORKERS_IDLE_SHARE && sum.at_once >= TH_WORKERS_MANY &&
                needed * TH_WORKERS_MANY_RATIO < (double)sum.at_once;
    if (!few && !many)
        return;
    struct finding *finding = finding_raise(report, "worker-count", few ? "few" : "many", SEVERITY_LOW, confidence);
    finding_add_rank(finding, facts->rank->number);
    finding_set_count(finding, "workers", sum.at_once);
    finding_set(finding, "needed", "%.0f", needed > 1 ? needed : 1);
    finding_set_time(finding, "batch", batch);
    finding_set_time(finding, "step", step);
    finding_set_time(finding, "interval", batch / (double)sum.at_once);
    finding_set_share(finding, "share", share);
    finding_evidence(finding, "batch");
    if (cpus > 0 && few) {
        finding_set(finding, "cpus", "%g", cpus);
        finding_set_share(finding, "runnable_share", judge_runnable(job, facts->rank));
        finding_evidence(finding, "cpus");
    }
    if (many) {
        finding_set_share(finding, "idle_share", idle);
        finding_what(finding, "many");
        finding_cause(finding, "many");
        finding_fix(finding, "many");
        finding_evidence(finding, "idle");
    } else {
        finding_other(finding, "storage");
    }
}

static int finish(void *arg, struct report *report)
{
    const struct job *job = ((struct finder *)arg)->job;
    struct starved *all = calloc(job->facts->nr_ranks + 1, sizeof(*all));
    size_t nr = 0;
    if (!all)
        return -ENOMEM;
    for (size_t i = 0; i < job->facts->nr_ranks; i++) {
        const struct rank_facts *facts = &job->facts->ranks[i];
        struct starved starved = {.facts = facts, .share = judge_class(facts, BC_dataloader)};
        find_few_or_many(report, job, facts);
        if (starved.share < TH_DATA_SHARE || judge_rank(job, facts) <= 0)
            continue;
        explain(job, &starved);
        all[nr++] = starved;
    }
    for (size_t i = 0; i < nr; i++) {
        struct finding *finding = NULL;
        size_t before = 0;
        while (before < i && (strcmp(all[before].reason, all[i].reason) || all[before].where != all[i].where))
            before++;
        finding = before == i
                      ? raise(report, job, all, nr, &all[i])
                      : finding_raise(report, "dataloader-bound",
                                      all[i].where ? all[i].where->group->text : all[i].reason, SEVERITY_LOW, 0);
        finding_add_rank(finding, all[i].facts->rank->number);
        finding_add_host(finding, all[i].facts->rank->process->host_name);
        tell_first(finding, all[i].facts->rank);
    }
    free(all);
    return 0;
}

const struct pass find_dataloader = {
    "find-dataloader", "dataloader-bound, worker-count", finder_new, NULL, finish, free};
