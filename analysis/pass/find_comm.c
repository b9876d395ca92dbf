/* find_comm.c - comm-bound, comm-slow, no-overlap, small-messages: exposed communication that is not waiting.
 *
 * What ranks wait for others is left out everywhere: a late rank is no communication problem. Judged over steady
 * windows whose exposed communication could be split; classes of collectives (model/coll_stats.h) say what it was. Must
 * come after find_nccl: slow sockets are a reason. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/model/coll_stats.h"
#include "analysis/model/communicators.h"
#include "analysis/model/instances.h"
#include "analysis/model/job.h"
#include "analysis/pass/judge.h"
#include "analysis/pass/pass.h"
#include "analysis/pass/thresholds.h"
#include "traces/schema.h"

/* All ranks together. */
struct look {
    struct job *job;
    struct report *report;
    double window_ns, wait_ns, transfer_ns, overlapped_ns, compute_ns, windows;
    double class_ns; /* transfer time of all classes */
    double confidence;
    const char *cause; /* id of a finding that explains comm-bound */
};

static double share(const struct look *look)
{
    return look->transfer_ns / look->window_ns;
}

/* Ranks whose windows could be split; the least sure of them counts. */
static void take_ranks(struct look *look)
{
    look->confidence = 1;
    for (size_t i = 0; i < look->job->facts->nr_ranks; i++) {
        const struct rank_facts *facts = &look->job->facts->ranks[i];
        double confidence = facts->comm_windows * 2 > facts->windows ? judge_rank(look->job, facts) : 0;
        if (confidence <= 0)
            continue;
        look->confidence = fmin(look->confidence, confidence);
        look->windows += (double)facts->comm_windows;
        look->window_ns += (double)facts->comm_window_ns;
        look->wait_ns += (double)facts->comm_wait_ns;
        look->transfer_ns += (double)facts->comm_transfer_ns;
        look->overlapped_ns += (double)facts->comm_overlapped_ns;
        look->compute_ns += (double)facts->class_ns[BC_compute];
    }
    for (size_t i = 0; i < look->job->facts->collectives->nr; i++)
        look->class_ns += look->job->facts->collectives->classes[i].transfer_ns;
}

/* What such a part of the transfer time costs: as much of the exposed transfer. */
static struct finding *raise(struct look *look, const char *id, double part, double confidence)
{
    double lost_ns = look->transfer_ns * fmin(part, 1);
    struct finding *finding = finding_raise(look->report, id, NULL, severity_of_share(lost_ns / look->window_ns),
                                            look->confidence * confidence);
    finding_lost(finding, (int64_t)(lost_ns / (double)look->job->facts->nr_ranks), lost_ns / 1e9);
    finding_set_share(finding, "share", lost_ns / look->window_ns);
    finding_set_time(finding, "lost", lost_ns / look->windows);
    finding_set_time(finding, "step", look->window_ns / look->windows);
    finding_set_share(finding, "waiting", look->wait_ns / look->window_ns);
    finding_other(finding, "");
    return finding;
}

static const char *op_name(uint8_t op)
{
    const struct schema_event *event = schema_event(EV_coll);
    for (unsigned i = 0; i < event->nr_fields; i++)
        if (!strcmp(event->fields[i].name, "op"))
            return schema_enum_name(event->fields[i].en, op);
    return "?";
}

static uint64_t mean_bytes(const struct coll_class *class)
{
    return class->instances ? class->bytes / class->instances : 0;
}

/* The class with most transfer time among those wanted; NULL none. *ret_ns: of all of them. */
static const struct coll_class *largest(const struct look *look,
                                        bool (*wanted)(const struct look *, const struct coll_class *), double *ret_ns)
{
    const struct coll_stats *stats = look->job->facts->collectives;
    const struct coll_class *best = NULL;
    *ret_ns = 0;
    for (size_t i = 0; i < stats->nr; i++) {
        const struct coll_class *class = &stats->classes[i];
        if (!wanted(look, class))
            continue;
        *ret_ns += class->transfer_ns;
        if (!best || class->transfer_ns > best->transfer_ns)
            best = class;
    }
    return best;
}

static void set_class(struct finding *finding, const struct coll_class *class)
{
    if (!class)
        return;
    finding_set(finding, "op", "%s", op_name(class->op));
    finding_set_bytes(finding, "size", (double)mean_bytes(class));
    finding_set(finding, "ranks", "%d", class->comm->nranks);
    if (class->transport)
        finding_set(finding, "transport", "%s", class->transport);
    if (isfinite(coll_busbw(class)))
        finding_set_rate(finding, "rate", coll_busbw(class));
}

/* ---- comm-slow ---------------------------------------------------------------------------- */

static bool is_slow(const struct look *look, const struct coll_class *class)
{
    (void)look;
    return mean_bytes(class) >= (uint64_t)TH_BUS_LARGE_BYTES && coll_busbw(class) < TH_COMM_SLOW * class->expected;
}

static void find_slow(struct look *look)
{
    double ns;
    const struct coll_class *class = largest(look, is_slow, &ns);
    if (!class || share(look) < TH_COMM_SLOW_SHARE || ns < TH_COMM_SLOW_TIME * look->class_ns)
        return;
    /* What a link as expected would still take is not lost. */
    double saved = 1 - coll_busbw(class) / class->expected;
    struct finding *finding = raise(look, "comm-slow", ns / look->class_ns * saved, 0.8);
    set_class(finding, class);
    finding_set_rate(finding, "expected", class->expected);
    finding_evidence(finding, "rate");
    if (look->cause)
        finding_caused_by(finding, look->cause);
    look->cause = look->cause ? look->cause : "comm-slow";
}

/* ---- small-messages ----------------------------------------------------------------------- */

static bool is_small(const struct look *look, const struct coll_class *class)
{
    (void)look;
    return class->transfer_ns > 0 &&
           mean_bytes(class) < (uint64_t)(class->between_hosts ? TH_SMALL_NET_BYTES : TH_SMALL_BYTES);
}

/* Small collectives of one rank in one step. */
static double small_calls(const struct look *look)
{
    const struct coll_stats *stats = look->job->facts->collectives;
    double calls = 0;
    for (size_t i = 0; i < stats->nr; i++)
        if (is_small(look, &stats->classes[i]))
            calls += (double)stats->classes[i].instances *
                     (stats->classes[i].op == TR_coll_op_Send ? 2 : stats->classes[i].comm->nranks);
    double steps = (double)look->report->steps.count * (double)look->job->facts->nr_ranks;
    return steps > 0 ? calls / steps : 0;
}

/* What large collectives of the same communicator reach, or should. */
static double large_rate(const struct look *look, const struct coll_class *small)
{
    const struct coll_stats *stats = look->job->facts->collectives;
    double best = isfinite(small->expected) ? small->expected : 0;
    for (size_t i = 0; i < stats->nr; i++) {
        const struct coll_class *class = &stats->classes[i];
        if (class->comm == small->comm && mean_bytes(class) >= (uint64_t)TH_BUS_LARGE_BYTES)
            best = fmax(best, isfinite(coll_busbw(class)) ? coll_busbw(class) : 0);
    }
    return best;
}

static void find_small(struct look *look)
{
    double ns, calls = small_calls(look);
    const struct coll_class *class = largest(look, is_small, &ns);
    if (!class || share(look) < TH_SMALL_EXPOSED || calls < TH_SMALL_CALLS || ns < TH_SMALL_TIME * look->class_ns)
        return;
    double rate = coll_busbw(class), large = large_rate(look, class);
    /* Without anything to compare with, their number and size must do. */
    if (large > 0 && rate >= TH_SMALL_BUS * large)
        return;
    struct finding *finding = raise(look, "small-messages", ns / look->class_ns, large > 0 ? 0.9 : 0.7);
    set_class(finding, class);
    finding_set_count(finding, "calls", (uint64_t)llround(calls));
    finding_set_share(finding, "part", ns / look->class_ns);
    if (large > 0)
        finding_set_rate(finding, "large", large);
    finding_set_time(finding, "each", class->transfer_ns / class->known);
    finding_evidence(finding, "calls");
    finding_evidence(finding, "rate");
    look->cause = look->cause ? look->cause : "small-messages";
}

/* ---- no-overlap --------------------------------------------------------------------------- */

static bool is_data_parallel(const struct look *look, const struct coll_class *class)
{
    (void)look;
    return class->role && !strcmp(class->role, "DP");
}

static void find_overlap(struct look *look)
{
    double ns, all = look->overlapped_ns + look->transfer_ns;
    const struct coll_class *class = largest(look, is_data_parallel, &ns);
    /* No more can hide than there is compute to hide behind. */
    double possible = fmin(all, look->compute_ns), hidden = possible > 0 ? look->overlapped_ns / possible : 1;
    if (!class || share(look) < TH_HIDDEN_EXPOSED || hidden >= TH_HIDDEN || ns < TH_HIDDEN_ROLE * look->class_ns)
        return;
    double could = fmin(possible - look->overlapped_ns, look->transfer_ns);
    struct finding *finding = raise(look, "no-overlap", could / look->transfer_ns, 0.8);
    set_class(finding, class);
    finding_set_share(finding, "hidden", hidden);
    finding_evidence(finding, "hidden");
    look->cause = look->cause ? look->cause : "no-overlap";
}

/* ---- comm-bound --------------------------------------------------------------------------- */

static bool any(const struct look *look, const struct coll_class *class)
{
    (void)look;
    return class->transfer_ns > 0;
}

/* Bytes that a rank gives to collectives in a step. */
static double volume(const struct look *look)
{
    const struct coll_stats *stats = look->job->facts->collectives;
    double bytes = 0, steps = (double)look->report->steps.count * (double)look->job->facts->nr_ranks;
    for (size_t i = 0; i < stats->nr; i++)
        bytes += (double)stats->classes[i].bytes *
                 (stats->classes[i].op == TR_coll_op_Send ? 1 : stats->classes[i].comm->nranks);
    return steps > 0 ? bytes / steps : 0;
}

static void find_bound(struct look *look)
{
    double ns;
    if (share(look) < TH_COMM_BOUND)
        return;
    const struct coll_class *class = largest(look, any, &ns);
    struct finding *finding = raise(look, "comm-bound", 1, 0.9);
    for (size_t i = 0; i < look->job->facts->nr_ranks; i++) {
        const struct rank_facts *facts = &look->job->facts->ranks[i];
        if (facts->comm_window_ns && (double)facts->comm_transfer_ns >= TH_COMM_BOUND * (double)facts->comm_window_ns)
            finding_add_rank(finding, facts->rank->number);
    }
    set_class(finding, class);
    finding_set_bytes(finding, "volume", volume(look));
    finding_evidence(finding, "split");
    if (class)
        finding_evidence(finding, "class");
    if (look->cause)
        finding_caused_by(finding, look->cause);
}

/* ---- collective-desync -------------------------------------------------------------------- */

static void set_call(struct finding *finding, const char *name, uint8_t op, uint64_t bytes)
{
    finding_set(finding, name, "%s of %llu bytes", op_name(op), (unsigned long long)bytes);
}

static void find_desync(struct look *look)
{
    const struct instance_desync *desync = &look->job->facts->instances->desync;
    const struct coll_stats *stats = look->job->facts->collectives;
    uint64_t all = 0;
    for (size_t i = 0; i < stats->nr; i++)
        all += stats->classes[i].comm == desync->comm ? stats->classes[i].instances : 0;
    if (!desync->comm || (double)desync->nr > 1 + TH_DESYNC_SHARE * (double)all)
        return;
    const struct process *first = desync->first->process, *second = desync->second->process;
    struct finding *finding = finding_raise(look->report, "collective-desync", "calls", SEVERITY_HIGH, 0.9);
    finding_add_rank(finding, first->rank ? first->rank->number : first->rank_env);
    finding_add_rank(finding, second->rank ? second->rank->number : second->rank_env);
    finding_add_host(finding, first->host_name);
    if (second->host != first->host)
        finding_add_host(finding, second->host_name);
    finding_set(finding, "host", "%s", first->host_name ? first->host_name : "?");
    finding_set(finding, "other", "%s", second->host_name ? second->host_name : "?");
    finding_set(finding, "pid", "%u", first->pid);
    finding_set(finding, "pid_other", "%u", second->pid);
    set_call(finding, "call", desync->first_op, desync->first_bytes);
    set_call(finding, "call_other", desync->second_op, desync->second_bytes);
    finding_set_count(finding, "ordinal", desync->ordinal);
    finding_what(finding, "calls");
    finding_cause(finding, "calls");
    finding_evidence(finding, "calls");
    finding_other(finding, "");
}

/* What find_nccl has found to be wrong with connections, the gravest first. */
static const char *slow_connection(const struct report *report)
{
    static const char *const ids[] = {"nccl-socket-fallback", "nccl-socket-only", "nvlink-missing",
                                      "p2p-disabled",         "nccl-gdr-off",     "nccl-hca-mismatch"};
    for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++)
        if (finding_is_raised(report, ids[i]))
            return ids[i];
    return NULL;
}

static int finish(void *arg, struct report *report)
{
    struct look look = {.job = ((struct finder *)arg)->job, .report = report};
    if (!look.job->facts->collectives)
        return 0;
    find_desync(&look);
    take_ranks(&look);
    if (look.window_ns <= 0 || !judge_clocks(report, look.transfer_ns / look.windows))
        return 0;
    look.cause = slow_connection(report);
    find_slow(&look);
    find_small(&look);
    find_overlap(&look);
    find_bound(&look);
    return 0;
}

const struct pass find_comm = {"find-comm", "comm-bound, comm-slow, no-overlap, small-messages, collective-desync",
                               finder_new,  NULL,
                               finish,      free};
