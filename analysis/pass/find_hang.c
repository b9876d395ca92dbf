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

static const char *name_of_op(const struct tr_open_coll *call)
{
    const struct schema_event *schema = schema_event(EV_open_coll);
    const char *name = NULL;

    for (size_t i = 0; i < schema->nr_fields && !*call->what; i++)
        if (strcmp(schema->fields[i].name, "op") == 0)
            name = schema_enum_name(schema->fields[i].en, call->op);
    return *call->what ? call->what : name ? name : "?";
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
static void tell(struct report *report, const struct hang *hang, const struct hang_culprit *first, size_t nr,
                 const char *culprit_key, const char *where)
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
        tell(report, hang, first, nr, key, where);
    }
    if (hang->stuck) {
        (void)snprintf(key, sizeof(key), "%" PRIu32 "/stuck", standing->host);
        tell_stuck(report, hang, key, where);
    }
    return 0;
}

static int finish(void *arg, struct report *report)
{
    struct find_hang *self = arg;
    int rc = 0;

    for (struct standing *standing = self->jobs; standing && rc == 0; standing = standing->next)
        rc = judge(self, standing, report);
    return rc;
}

const struct pass find_hang = {
    "hang", "findings: collectives that do not end, and whose fault it is", new, on_event, finish, find_free};
