/* find_hang.c - which rank a standing job waits for, in what call, and who is only a victim.
 *
 * From a framework's flight recorder or our own watchdog. Dumps of one directory are a job of their own; all that we
 * recorded is one job. The verdict is model/hang_verdict.c's; here it gets its words. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/model/hang.h"
#include "analysis/model/job.h"
#include "analysis/model/stands.h"
#include "analysis/pass/pass.h"
#include "analysis/report/finding.h"
#include "analysis/report/units.h"
#include "traces/schema.h"

#define SHOWN_FRAMES 4

struct standing {
    struct standing *next;
    uint32_t host; /* of a job that dumps tell of; HANG_UNKNOWN: what was recorded */
    struct hang hang;
};

struct find_hang {
    struct job *job;
    struct standing *jobs; /* owned */
    struct stands stands;
};

static void *new (const struct options *options, struct job *job, struct report *report)
{
    struct find_hang *self = calloc(1, sizeof(*self));

    if (self)
        self->job = job;
    return self;
}

static void find_free(void *arg)
{
    struct find_hang *self = arg;

    while (self && self->jobs) {
        struct standing *next = self->jobs->next;
        hang_done(&self->jobs->hang);
        free(self->jobs);
        self->jobs = next;
    }
    if (self)
        stands_done(&self->stands);
    free(self);
}

static struct hang *hang_of(struct find_hang *self, const struct event *event)
{
    uint32_t host = self->job->process && self->job->process->logged ? event->host : HANG_UNKNOWN;
    struct standing *at = self->jobs;

    while (at && at->host != host)
        at = at->next;
    if (!at && (at = calloc(1, sizeof(*at)))) {
        at->host = host;
        at->next = self->jobs;
        self->jobs = at;
    }
    return at ? &at->hang : NULL;
}

static int on_event(void *arg, const struct event *event)
{
    struct find_hang *self = arg;
    int rc = stands_event(&self->stands, self->job, event);

    if (rc)
        return rc;
    switch (event->kind) {
    case EV_proc:
    case EV_nccl_group:
    case EV_nccl_comm:
    case EV_open_coll:
    case EV_coll:
    case EV_coll_status: {
        struct hang *hang = hang_of(self, event);
        return hang ? hang_event(hang, event) : -ENOMEM;
    }
    default:
        return 0;
    }
}

/* ---- words ---------------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* Numbers of the ranks for which `pick` says yes, ascending; their number. *ret owned by the caller, NULL for none. */
static size_t pick_ranks(const struct hang *hang, bool (*pick)(const struct hang_rank *, const void *), const void *arg,
                         int **ret)
{
    size_t nr = 0;
    int *list = NULL;

    for (const struct hang_rank *rank = hang->ranks; rank; rank = rank->next) {
        if (!pick(rank, arg))
            continue;
        if (nr % 64 == 0) {
            int *larger = realloc(list, (nr + 64) * sizeof(*list));
            if (!larger)
                break;
            list = larger;
        }
        list[nr++] = rank->number;
    }
    if (nr)
        qsort(list, nr, sizeof(*list), by_number);
    *ret = list;
    return nr;
}

static void set_picked(struct finding *finding, const char *param, const struct hang *hang,
                       bool (*pick)(const struct hang_rank *, const void *), const void *arg)
{
    int *list;
    size_t nr = pick_ranks(hang, pick, arg, &list);

    if (nr)
        finding_set_ranks(finding, param, list, nr);
    free(list);
}

static bool same_verdict(const struct hang_culprit *a, const struct hang_culprit *b)
{
    return a->why == b->why && a->group == b->group && a->ordinal == b->ordinal &&
           hang_is_p2p(&a->call->call) == hang_is_p2p(&b->call->call);
}

struct together {
    const struct hang_culprit *first;
    size_t nr;
};

static bool is_culprit(const struct hang_rank *rank, const void *arg)
{
    const struct together *together = arg;

    for (size_t i = 0; i < together->nr; i++)
        if (together->first[i].rank == rank)
            return true;
    return false;
}

/* Is in the call that stands. */
static bool is_in(const struct hang_rank *rank, const void *arg)
{
    const struct hang_open *call = arg;

    for (const struct hang_open *open = rank->opens; open; open = open->next)
        if (open == call || (open->member->group == call->member->group && !hang_is_p2p(&call->call) &&
                             !hang_is_p2p(&open->call) && open->call.ordinal == call->call.ordinal))
            return true;
    return false;
}

static bool is_marked_elsewhere(const struct hang_rank *rank, const void *arg)
{
    return rank->marked && !is_in(rank, arg);
}

static const char *enum_name(enum event_kind kind, const char *field, unsigned value)
{
    const struct schema_event *schema = schema_event(kind);
    const char *name = NULL;

    for (size_t i = 0; i < schema->nr_fields && !name; i++)
        if (strcmp(schema->fields[i].name, field) == 0)
            name = schema_enum_name(schema->fields[i].en, value);
    return name ? name : "?";
}

static const char *name_of_op(const struct tr_open_coll *call)
{
    return *call->what ? call->what : enum_name(EV_open_coll, "op", call->op);
}

/* Sizes only where they are what differs. */
static void set_call(struct finding *finding, const char *param, const struct hang_open *open, bool sized)
{
    const struct tr_open_coll *call = &open->call;

    if (sized && call->count)
        finding_set(finding, param, "%s #%" PRIu32 " (n=%s)", name_of_op(call), call->ordinal,
                    units_count(call->count).text);
    else
        finding_set(finding, param, "%s #%" PRIu32, name_of_op(call), call->ordinal);
}

/* The innermost frames: enough to find the line. */
static void set_frames(struct finding *finding, const char *param, const char *frames)
{
    size_t len = 0;

    for (int nr = 0; frames[len] && nr < SHOWN_FRAMES; nr++)
        len += strcspn(frames + len, ";") + (strchr(frames + len, ';') ? 1 : 0);
    while (len && (frames[len - 1] == ';' || frames[len - 1] == ' '))
        len--;
    if (len)
        finding_set(finding, param, "%.*s", (int)len, frames);
}

/* Where the rank itself stands. */
static void tell_stand(struct finding *finding, const struct rank *rank, const struct stand *stand)
{
    bool in_worker = stand->thread->process->role == ROLE_worker;

    finding_set(finding, "one", "%d", rank->number);
    finding_set(finding, "act", "%s", enum_name(EV_open_op, "kind", stand->kind));
    finding_set_time(finding, "age", (double)stand->age_ns);
    if (stand->name && *stand->name->text)
        finding_set(finding, "path", "%s", stand->name->text);
    if (in_worker)
        finding_set(finding, "worker", "%" PRIu32, stand->thread->process->pid);
    if (stand->frames)
        set_frames(finding, "stack", stand->frames);
    finding_evidence(finding, in_worker ? "stands-worker" : "stands");
}

static const struct rank *rank_of_process(const struct job *job, uint32_t host, uint32_t pid)
{
    for (size_t i = 0; i < job->nr_ranks; i++)
        if (job->ranks[i]->process->host == host && job->ranks[i]->process->pid == pid)
            return job->ranks[i];
    return NULL;
}

/* What the first of the culprits of which that is known stands in. */
static void tell_where_they_stand(const struct find_hang *self, struct finding *finding,
                                  const struct hang_culprit *first, size_t nr)
{
    for (size_t i = 0; i < nr; i++) {
        const struct rank *rank =
            first[i].rank->ghost ? NULL : rank_of_process(self->job, first[i].rank->host, first[i].rank->pid);
        const struct stand *stand = rank ? stands_cause(&self->stands, self->job, rank) : NULL;
        if (rank && !stand)
            stand = stands_of(&self->stands, rank->trainer);
        if (!stand)
            continue;
        tell_stand(finding, rank, stand);
        return;
    }
}

static const char *const why_keys[] = {
    [HANG_absent] = "absent",     [HANG_unfinished] = "unfinished", [HANG_silent] = "silent",
    [HANG_mismatch] = "mismatch", [HANG_order] = "order",
};

static double confidence_of(const struct hang_culprit *culprit)
{
    static const double confidence[] = {
        [HANG_absent] = 0.9,   [HANG_unfinished] = 0.8, [HANG_silent] = 0.6, /* its dump may be lost while it is well */
        [HANG_mismatch] = 0.9, [HANG_order] = 0.7,
    };

    return confidence[culprit->why];
}

/* What culprits of one verdict have in common, and the victims of each. */
static void tell(const struct find_hang *self, struct report *report, const struct hang *hang,
                 const struct hang_culprit *first, size_t nr, const char *culprit_key, const char *where)
{
    bool desync = first->why == HANG_mismatch || first->why == HANG_order;
    const char *key = why_keys[first->why];
    struct together together = {first, nr};
    struct finding *finding = finding_raise(report, desync ? "collective-desync" : "collective-hang", culprit_key,
                                            SEVERITY_HIGH, confidence_of(first));

    for (size_t i = 0; i < nr; i++)
        finding_add_rank(finding, first[i].rank->number);
    for (size_t i = 0; i < nr; i++) {
        hang_mark_victims((struct hang *)hang, first[i].rank);
        for (const struct hang_rank *rank = hang->ranks; rank; rank = rank->next)
            if (rank->marked && !is_culprit(rank, &together))
                finding_add_victim(finding, rank->number);
    }
    finding_what(finding, key);
    finding_cause(finding, key);
    finding_fix(finding, key);
    set_picked(finding, "ranks", hang, is_culprit, &together);
    finding_set_count(finding, "nr", nr);
    finding_set(finding, "group", "%s", first->group->name && *first->group->name ? first->group->name : "?");
    finding_set_count(finding, "members", first->group->nr_members);
    set_call(finding, "call", first->call, first->why == HANG_mismatch);
    set_picked(finding, "in", hang, is_in, first->call);
    set_picked(finding, "others", hang, is_marked_elsewhere, first->call);
    set_frames(finding, "frames", first->call->call.frames);
    if (first->other) {
        set_call(finding, "other", first->other, first->why == HANG_mismatch);
        set_frames(finding, "other_frames", first->other->call.frames);
    }
    if (where)
        finding_set(finding, "where", "%s", where);
    finding_evidence(finding, key);
    if (first->call->call.frames[0])
        finding_evidence(finding, "frames");
    if (first->other && first->other->call.frames[0])
        finding_evidence(finding, "other-frames");
    if (first->why == HANG_absent)
        tell_where_they_stand(self, finding, first, nr);
    finding_evidence(finding, "others");
    finding_other(finding, key);
}

/* All are in it and none finishes: no rank is to blame by what it called. */
static void tell_stuck(struct report *report, const struct hang *hang, const char *culprit_key, const char *where)
{
    const struct hang_open *call = hang->stuck;
    struct finding *finding = finding_raise(report, "collective-hang", culprit_key, SEVERITY_HIGH, 0.7);

    for (const struct hang_rank *rank = hang->ranks; rank; rank = rank->next)
        if (rank->opens)
            finding_add_victim(finding, rank->number);
    finding_what(finding, "stuck");
    finding_cause(finding, "stuck");
    finding_fix(finding, "stuck");
    finding_set(finding, "group", "%s",
                call->member->group->name && *call->member->group->name ? call->member->group->name : "?");
    finding_set_count(finding, "members", call->member->group->nr_members);
    set_call(finding, "call", call, false);
    set_picked(finding, "in", hang, is_in, call);
    set_frames(finding, "frames", call->call.frames);
    if (where)
        finding_set(finding, "where", "%s", where);
    finding_evidence(finding, "stuck");
    if (call->call.frames[0])
        finding_evidence(finding, "frames");
    finding_other(finding, "stuck");
}

static int judge(struct find_hang *self, struct standing *standing, struct report *report)
{
    struct hang *hang = &standing->hang;
    const char *where = standing->host != HANG_UNKNOWN && self->jobs->next && hang->ranks ? "" : NULL;
    char key[64];
    int rc = hang->nr_open ? hang_judge(hang) : 0;

    if (rc || !hang->nr_open)
        return rc;
    for (const struct process *process = self->job->first; where && process; process = process->next)
        if (process->host == standing->host && process->host_name)
            where = process->host_name;
    where = where && *where ? where : NULL;
    for (size_t i = 0, nr; i < hang->nr_culprits; i += nr) {
        const struct hang_culprit *first = &hang->culprits[i];
        for (nr = 1; i + nr < hang->nr_culprits && same_verdict(first, &hang->culprits[i + nr]); nr++)
            ;
        (void)snprintf(key, sizeof(key), "%" PRIu32 "/%" PRIx64 "/%" PRIu32 "/%d", standing->host, first->group->id,
                       first->ordinal, first->why);
        tell(self, report, hang, first, nr, key, where);
    }
    if (hang->stuck) {
        (void)snprintf(key, sizeof(key), "%" PRIu32 "/stuck", standing->host);
        tell_stuck(report, hang, key, where);
    }
    return 0;
}

/* Without collectives that we see (CPU jobs): all training threads stand, and some of them, or their workers, in
 * something of their own. A rank that goes on, or of which nothing is known, means that nothing hangs. */
static void judge_without_collectives(struct find_hang *self, struct report *report)
{
    const struct job *job = self->job;
    struct finding *finding = NULL;
    int *culprits = job->nr_ranks ? calloc(job->nr_ranks, sizeof(*culprits)) : NULL;
    size_t nr = 0;

    for (size_t i = 0; culprits && i < job->nr_ranks; i++)
        if (!stands_of(&self->stands, job->ranks[i]->trainer)) {
            free(culprits);
            return;
        }
    for (size_t i = 0; culprits && i < job->nr_ranks; i++) {
        const struct rank *rank = job->ranks[i];
        const struct stand *cause = stands_cause(&self->stands, job, rank);
        if (!cause)
            continue;
        finding = finding ? finding : finding_raise(report, "collective-hang", "stands", SEVERITY_HIGH, 0.7);
        finding_add_rank(finding, rank->number);
        if (!nr)
            tell_stand(finding, rank, cause);
        culprits[nr++] = rank->number;
    }
    for (size_t i = 0; nr && i < job->nr_ranks; i++)
        if (!stands_cause(&self->stands, job, job->ranks[i]))
            finding_add_victim(finding, job->ranks[i]->number);
    if (nr) {
        finding_what(finding, "stands");
        finding_cause(finding, "stands");
        finding_fix(finding, "stands");
        finding_set_ranks(finding, "ranks", culprits, nr);
        finding_set_count(finding, "nr", nr);
        finding_other(finding, "stands");
    }
    free(culprits);
}

static int finish(void *arg, struct report *report)
{
    struct find_hang *self = arg;
    size_t nr_open = 0;
    int rc = 0;

    for (struct standing *standing = self->jobs; standing; standing = standing->next)
        nr_open += standing->hang.nr_open;
    if (!nr_open)
        judge_without_collectives(self, report);

    for (struct standing *standing = self->jobs; standing && rc == 0; standing = standing->next)
        rc = judge(self, standing, report);
    return rc;
}

const struct pass find_hang = {
    "hang", "findings: collectives that do not end, and whose fault it is", new, on_event, finish, find_free};
