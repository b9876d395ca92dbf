/* find_late.c - unbalanced-work, gpu-slow, host-straggler: the rank that all others wait for, and why it is late.
 *
 * Who is late is model/lateness.h's question, answered from the step rows in the report. What it did more of than its
 * peers says why: time in kernels (the same ones slower: its GPU; more of them, or only some: its work), or time of its
 * host. What is late for its data or its checkpoints has findings of its own. Must come after find_comm. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/model/job.h"
#include "analysis/model/kernel_kinds.h"
#include "analysis/model/lateness.h"
#include "analysis/model/rank_kernels.h"
#include "analysis/pass/judge.h"
#include "analysis/pass/pass.h"
#include "analysis/pass/thresholds.h"
#include "analysis/report/units.h"

struct find_late {
    struct job *job;
    struct rank_kernels kernels;
};

static void *new (const struct options *options, struct job *job, struct report *report)
{
    struct find_late *self = calloc(1, sizeof(*self));

    if (self)
        *self = (struct find_late){.job = job, .kernels.nr_ranks = job->nr_ranks};
    return self;
}

static void find_free(void *arg)
{
    struct find_late *self = arg;

    if (self)
        rank_kernels_done(&self->kernels);
    free(self);
}

static int on_event(void *arg, const struct event *event)
{
    struct find_late *self = arg;
    const struct process *process = self->job->process;
    const struct rank *rank = process && process->role == ROLE_trainer ? process->rank : NULL;
    const struct name *name = self->job->name;

    if (event->kind != EV_kernel || self->job->nr_ranks < 2 || !rank || !name || name->kernel_kind == KERNEL_comm ||
        event->u.kernel.start_ns < rank->steady_ns || event->u.kernel.start_ns >= rank->end_ns)
        return 0;
    return rank_kernels_add(&self->kernels, name, rank->index, event->u.kernel.dur_ns);
}

/* ---- who is late ---------------------------------------------------------------------------- */

/* Ranks of one pipeline stage do the same work: the place in a pipeline's communicator is the team. */
static int team_of(const struct report *report, int rank)
{
    for (size_t i = 0; i < report->nr_communicators; i++) {
        const struct report_communicator *comm = &report->communicators[i];
        bool pipeline = comm->role && strcmp(comm->role, "PP") == 0;
        for (size_t j = 0; pipeline && j < comm->nr_ranks; j++)
            if (comm->ranks[j] == rank)
                return (int)j;
    }
    return 0;
}

static int add_row(void *arg, const struct report_step *row)
{
    return row->warmup || row->incomplete || row->comm_wait_ns == TR_UNKNOWN ? 0 : lateness_row(arg, row);
}

static int measure(const struct find_late *self, struct report *report, struct lateness *lateness)
{
    const struct job *job = self->job;
    int *numbers = calloc(2 * job->nr_ranks + 1, sizeof(*numbers)), *teams = numbers + job->nr_ranks, rc = -ENOMEM;
    size_t nr = 0;

    /* Ascending; a number may come several times, once for each attempt. */
    for (size_t i = 0; numbers && i < job->nr_ranks; i++) {
        if (nr && numbers[nr - 1] == job->ranks[i]->number)
            continue;
        numbers[nr] = job->ranks[i]->number;
        teams[nr++] = team_of(report, job->ranks[i]->number);
    }
    if (numbers)
        rc = lateness_init(lateness, numbers, teams, nr);
    free(numbers);
    return rc ? rc : report_each_step(report, add_row, lateness);
}

/* ---- why ------------------------------------------------------------------------------------ */

static const struct rank *rank_of(const struct job *job, int number)
{
    for (size_t i = 0; i < job->nr_ranks; i++)
        if (job->ranks[i]->number == number)
            return job->ranks[i];
    return NULL;
}

static bool compare_kernels(const struct find_late *self, const struct lateness *lateness, const struct late_rank *late,
                            struct kernel_excess *ret)
{
    const struct rank *rank = rank_of(self->job, late->number);
    size_t *peers = calloc(lateness->nr_ranks + 1, sizeof(*peers)), nr = 0;

    for (size_t i = 0; peers && i < lateness->nr_ranks; i++) {
        const struct rank *peer = rank_of(self->job, lateness->ranks[i].number);
        if (peer && peer != rank && lateness->ranks[i].team == late->team)
            peers[nr++] = peer->index;
    }
    bool done = peers && rank && rank_kernels_compare(&self->kernels, rank->index, peers, nr, ret);
    free(peers);
    return done;
}

static bool is_attention(const char *name)
{
    static const char *const words[] = {"flash", "attn", "attention", "fmha"};

    for (size_t i = 0; name && i < sizeof(words) / sizeof(*words); i++)
        if (strstr(name, words[i]))
            return true;
    return false;
}

/* ---- findings ------------------------------------------------------------------------------- */

/* rank NULL: another one from step to step. */
static struct finding *raise(struct report *report, const struct lateness *lateness, const char *id,
                             const struct late_rank *rank, const struct late_sum *sum, double confidence)
{
    char culprit[16];

    if (rank)
        snprintf(culprit, sizeof culprit, "%d", rank->number);
    struct finding *finding = finding_raise(report, id, rank ? culprit : NULL,
                                            severity_of_share(sum->lost_ns / lateness->window_ns), confidence);
    if (rank)
        finding_add_rank(finding, rank->number);
    for (size_t i = 0; rank && i < lateness->nr_ranks; i++)
        if (&lateness->ranks[i] != rank)
            finding_add_victim(finding, lateness->ranks[i].number);
    finding_lost(finding, (int64_t)sum->lost_ns, sum->lost_ns * (double)(lateness->nr_ranks - 1) / 1e9);
    finding_set_time(finding, "lost", sum->lost_ns / (double)lateness->steps);
    finding_set_time(finding, "step", lateness->window_ns / (double)lateness->steps);
    finding_set_share(finding, "share", sum->lost_ns / lateness->window_ns);
    finding_set_time(finding, "late", sum->lost_ns / (double)sum->steps);
    finding_set_count(finding, "late_steps", sum->steps);
    finding_set_count(finding, "steps", lateness->steps);
    finding_set_count(finding, "others", lateness->nr_ranks - 1);
    finding_evidence(finding, "late");
    return finding;
}

static void set_parts(struct finding *finding, const struct late_sum *sum)
{
    finding_set_time(finding, "compute", sum->class_ns[BC_compute] / (double)sum->steps);
    finding_set_time(finding, "host", (sum->class_ns[BC_host] + sum->class_ns[BC_other]) / (double)sum->steps);
    finding_set_time(finding, "sync", sum->class_ns[BC_sync] / (double)sum->steps);
    finding_evidence(finding, "parts");
}

static void tell_kernels(const struct find_late *self, struct report *report, const struct lateness *lateness,
                         const struct late_rank *rank, double confidence)
{
    const struct late_sum *sum = &rank->by[LATE_kernels];
    struct kernel_excess excess;
    bool known = compare_kernels(self, lateness, rank, &excess);
    bool more = known && excess.more_ns >= 0.5 * (excess.more_ns + excess.slower_ns);
    bool slow = known && !more && excess.slow_share >= TH_KERNEL_ALL;

    if (!known || (slow && finding_is_raised(report, "gpu-throttled")))
        return;
    struct finding *finding = raise(report, lateness, slow ? "gpu-slow" : "unbalanced-work", rank, sum, confidence);
    const char *key = slow ? "" : more ? "more" : is_attention(excess.worst) ? "attention" : "some";
    char ratio[16];
    snprintf(ratio, sizeof ratio, "%.2f", excess.ratio);
    finding_set(finding, "ratio", "%s", ratio);
    finding_set(finding, "kernel", "%s", excess.worst ? excess.worst : "?");
    finding_set_share(finding, "slow_share", excess.slow_share);
    finding_cause(finding, key);
    finding_fix(finding, key);
    finding_evidence(finding, slow ? "slower" : more ? "more" : "some");
    set_parts(finding, sum);
    finding_other(finding, "");
}

/* How much of its time a training thread was ready without a CPU; rank NULL: the one that had it worst. */
static double ready_share(const struct job *job, const struct late_rank *rank)
{
    double most = 0;

    for (size_t i = 0; i < job->facts->nr_ranks; i++) {
        const struct rank_facts *facts = &job->facts->ranks[i];
        double ready = judge_trainer_ready(facts);
        if ((!rank || facts->rank->number == rank->number) && ready > most)
            most = ready;
    }
    return most;
}

/* What holds up the host of this rank has a finding of its own. */
static bool is_explained(const struct report *report, int rank)
{
    static const char *const reasons[] = {"launch-bound", "sync-overuse", "offload-bound", "pageable-copies",
                                          "alloc-retries"};

    for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++)
        if (finding_blames(report, reasons[i], rank))
            return true;
    return false;
}

static void tell_host(const struct find_late *self, struct report *report, const struct lateness *lateness,
                      const struct late_rank *rank, const struct late_sum *sum, double confidence)
{
    double ready = ready_share(self->job, rank);
    const char *key = ready >= TH_LATE_READY ? "cpu" : rank ? "" : "moving";
    struct finding *finding = raise(report, lateness, "host-straggler", rank, sum, confidence);

    finding_what(finding, rank ? "" : "moving");
    finding_set_share(finding, "ready", ready);
    finding_cause(finding, key);
    finding_fix(finding, key);
    set_parts(finding, sum);
    finding_other(finding, rank ? "" : "moving");
}

/* No rank is to blame for most of it: it is another one from step to step. */
static void tell_moving(const struct find_late *self, struct report *report, const struct lateness *lateness,
                        enum late_why why, const struct late_sum *sum)
{
    double confidence = judge_confidence(self->job, lateness->steps) * 0.8;

    if (confidence <= 0)
        return;
    if (why == LATE_host) {
        tell_host(self, report, lateness, NULL, sum, confidence);
        return;
    }
    struct finding *finding = raise(report, lateness, "unbalanced-work", NULL, sum, confidence);
    finding_what(finding, "moving");
    finding_cause(finding, "moving");
    finding_fix(finding, "moving");
    set_parts(finding, sum);
    finding_other(finding, "moving");
}

static bool matters(const struct lateness *lateness, const struct late_sum *sum)
{
    return sum->lost_ns >= TH_LATE_SHARE * lateness->window_ns &&
           (double)sum->steps >= TH_LATE_STEPS * (double)lateness->steps;
}

static void tell_why(const struct find_late *self, struct report *report, const struct lateness *lateness,
                     enum late_why why)
{
    struct late_sum all = {0};
    double worst_ns = 0;

    for (size_t i = 0; i < lateness->nr_ranks; i++) {
        const struct late_sum *sum = &lateness->ranks[i].by[why];
        all.steps += sum->steps;
        all.lost_ns += sum->lost_ns;
        worst_ns = sum->lost_ns > worst_ns ? sum->lost_ns : worst_ns;
        for (int c = 0; c < BC_MAX; c++)
            all.class_ns[c] += sum->class_ns[c];
    }
    if (!matters(lateness, &all))
        return;
    if (worst_ns < TH_LATE_FIXED * all.lost_ns) {
        tell_moving(self, report, lateness, why, &all);
        return;
    }
    for (size_t i = 0; i < lateness->nr_ranks; i++) {
        const struct late_rank *rank = &lateness->ranks[i];
        const struct rank *of_job = rank_of(self->job, rank->number);
        double confidence = of_job ? judge_rank(self->job, &self->job->facts->ranks[of_job->index]) * 0.9 : 0;
        /* Fewer steps are judged than the rank has: all ranks must have told of them. */
        confidence = fmin(confidence, judge_confidence(self->job, lateness->steps));
        if (confidence <= 0 || !matters(lateness, &rank->by[why]))
            continue;
        if (why == LATE_kernels)
            tell_kernels(self, report, lateness, rank, confidence);
        else if (!is_explained(report, rank->number))
            tell_host(self, report, lateness, rank, &rank->by[why], confidence);
    }
}

static int finish(void *arg, struct report *report)
{
    struct find_late *self = arg;
    struct lateness lateness = {0};
    int rc = self->job->nr_ranks > 1 ? measure(self, report, &lateness) : 0;

    for (enum late_why why = LATE_kernels; why < LATE_elsewhere && rc == 0 && lateness.steps; why++)
        tell_why(self, report, &lateness, why);
    lateness_done(&lateness);
    return rc;
}

const struct pass find_late = {"late",   "findings: the rank that the others wait for, and why", new, on_event, finish,
                               find_free};
