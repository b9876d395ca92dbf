/* finding.c - see finding.h: collects what passes say about findings, then turns it into sentences. */
#include "analysis/report/finding.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/report/private.h"
#include "analysis/report/rank_text.h"
#include "analysis/report/text.h"
#include "analysis/report/units.h"

struct param {
    struct param *next;
    const char *name, *value;
};

struct key {
    struct key *next;
    const char *key;
};

/* All of it lies in the report's arena, but the arrays in `row`, which grow: `ranks`, `victims`, `hosts` are
 * malloced until findings_render() moves them. */
struct finding {
    struct finding *next;
    struct report *report;
    const char *culprit;
    struct report_finding row;
    struct param *params;
    const char *what, *cause, *fix; /* keys */
    struct key *evidence, *others;  /* in order */
};

static const struct {
    double share;
    enum severity severity;
} severity_steps[] = {{0.15, SEVERITY_HIGH}, {0.05, SEVERITY_MEDIUM}};

enum severity severity_of_share(double share)
{
    for (size_t i = 0; i < sizeof severity_steps / sizeof *severity_steps; i++)
        if (share >= severity_steps[i].share)
            return severity_steps[i].severity;
    return SEVERITY_LOW;
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

bool finding_is_raised(const struct report *report, const char *id)
{
    const struct finding *f = report->priv->findings;
    while (f && strcmp(f->row.id, id) != 0)
        f = f->next;
    return f != NULL;
}

bool finding_blames(const struct report *report, const char *id, int rank)
{
    for (const struct finding *f = report->priv->findings; f; f = f->next)
        for (size_t i = 0; strcmp(f->row.id, id) == 0 && i < f->row.nr_ranks; i++)
            if (f->row.ranks[i] == rank)
                return true;
    return false;
}

struct finding *finding_raise(struct report *report, const char *id, const char *culprit, enum severity severity,
                              double confidence)
{
    if (!text_has_id(id)) {
        report_fail(report, -EINVAL);
        return NULL;
    }
    struct finding *f = report->priv->findings;
    while (f && !(same_text(f->row.id, id) && same_text(f->culprit, culprit)))
        f = f->next;
    if (f) {
        f->row.severity = severity > f->row.severity ? severity : f->row.severity;
        f->row.confidence = fmax(f->row.confidence, confidence);
        return f;
    }

    f = arena_alloc(&report->priv->arena, sizeof *f);
    if (!f) {
        report_fail(report, -ENOMEM);
        return NULL;
    }
    *f = (struct finding){
        .next = report->priv->findings,
        .report = report,
        .culprit = report_str(report, culprit),
        .row = {.id = report_str(report, id),
                .severity = severity,
                .confidence = confidence,
                .lost_ns = TR_UNKNOWN,
                .lost_gpu_seconds = NAN},
        .what = "",
        .cause = "",
        .fix = "",
    };
    report->priv->findings = f;
    return f;
}

/* ---- who */

/* Inserts into an ascending array without repetition. */
static void add_rank(struct finding *f, int **array, size_t *nr, int rank)
{
    size_t at = 0;

    while (at < *nr && (*array)[at] < rank)
        at++;
    if (at < *nr && (*array)[at] == rank)
        return;
    if (report_grow(array, *nr, sizeof **array)) {
        report_fail(f->report, -ENOMEM);
        return;
    }
    memmove(*array + at + 1, *array + at, (*nr - at) * sizeof **array);
    (*array)[at] = rank;
    ++*nr;
}

void finding_add_rank(struct finding *finding, int rank)
{
    if (finding && rank >= 0)
        add_rank(finding, &finding->row.ranks, &finding->row.nr_ranks, rank);
}

void finding_add_victim(struct finding *finding, int rank)
{
    if (finding && rank >= 0)
        add_rank(finding, &finding->row.victims, &finding->row.nr_victims, rank);
}

void finding_add_host(struct finding *finding, const char *host)
{
    if (!finding || !host)
        return;
    struct report_finding *row = &finding->row;
    for (size_t i = 0; i < row->nr_hosts; i++)
        if (!strcmp(row->hosts[i], host))
            return;
    if (report_grow(&row->hosts, row->nr_hosts, sizeof *row->hosts)) {
        report_fail(finding->report, -ENOMEM);
        return;
    }
    row->hosts[row->nr_hosts] = report_str(finding->report, host);
    row->nr_hosts += row->hosts[row->nr_hosts] != NULL;
}

/* ---- how much */

void finding_lost(struct finding *finding, int64_t ns_per_rank, double gpu_seconds)
{
    if (!finding)
        return;
    struct report_finding *row = &finding->row;
    row->lost_ns = row->lost_ns == TR_UNKNOWN ? ns_per_rank : row->lost_ns + ns_per_rank;
    row->lost_gpu_seconds = isnan(row->lost_gpu_seconds) ? gpu_seconds : row->lost_gpu_seconds + gpu_seconds;
}

void finding_caused_by(struct finding *finding, const char *id)
{
    if (finding)
        finding->row.caused_by = report_str(finding->report, id);
}

/* ---- parameters */

static void set_param(struct finding *f, const char *name, const char *value)
{
    struct param *p = f->params;

    while (p && strcmp(p->name, name))
        p = p->next;
    if (!p) {
        p = arena_alloc(&f->report->priv->arena, sizeof *p);
        if (!p) {
            report_fail(f->report, -ENOMEM);
            return;
        }
        *p = (struct param){.next = f->params, .name = report_str(f->report, name)};
        if (!p->name)
            return;
        f->params = p;
    }
    p->value = report_str(f->report, value);
}

void finding_set(struct finding *finding, const char *param, const char *format, ...)
{
    char *value = NULL;
    va_list args;

    if (!finding)
        return;
    va_start(args, format);
    int length = vasprintf(&value, format, args);
    va_end(args);
    if (length < 0) {
        report_fail(finding->report, -ENOMEM);
        return;
    }
    set_param(finding, param, value);
    free(value);
}

void finding_set_bytes(struct finding *finding, const char *param, double bytes)
{
    if (finding)
        set_param(finding, param, units_bytes(bytes).text);
}

void finding_set_rate(struct finding *finding, const char *param, double bytes_per_second)
{
    if (finding)
        set_param(finding, param, units_rate(bytes_per_second).text);
}

void finding_set_time(struct finding *finding, const char *param, double ns)
{
    if (finding)
        set_param(finding, param, units_time(ns).text);
}

void finding_set_share(struct finding *finding, const char *param, double share)
{
    if (finding)
        set_param(finding, param, units_share(share).text);
}

void finding_set_count(struct finding *finding, const char *param, uint64_t count)
{
    if (finding)
        set_param(finding, param, units_count(count).text);
}

void finding_set_ranks(struct finding *finding, const char *param, const int *ranks, size_t nr)
{
    char text[256];

    format_ranks(ranks, nr, text, sizeof(text));
    if (finding)
        set_param(finding, param, text);
}

/* ---- sentences */

static void choose(struct finding *f, const char **key, enum text_part part, const char *choice)
{
    if (!f)
        return;
    if (!text_find(f->report->lang, f->row.id, part, choice))
        report_fail(f->report, -EINVAL);
    else
        *key = report_str(f->report, choice);
}

static void append(struct finding *f, struct key **list, enum text_part part, const char *choice)
{
    if (!text_find(f->report->lang, f->row.id, part, choice)) {
        report_fail(f->report, -EINVAL);
        return;
    }
    for (; *list; list = &(*list)->next)
        if (!strcmp((*list)->key, choice))
            return;
    struct key *key = arena_alloc(&f->report->priv->arena, sizeof *key);
    const char *copy = key ? report_str(f->report, choice) : NULL;
    if (!copy) {
        report_fail(f->report, -ENOMEM);
        return;
    }
    key->key = copy;
    *list = key;
}

void finding_what(struct finding *finding, const char *key)
{
    if (finding)
        choose(finding, &finding->what, TEXT_what, key);
}

void finding_cause(struct finding *finding, const char *key)
{
    if (finding)
        choose(finding, &finding->cause, TEXT_cause, key);
}

void finding_fix(struct finding *finding, const char *key)
{
    if (finding)
        choose(finding, &finding->fix, TEXT_fix, key);
}

void finding_evidence(struct finding *finding, const char *key)
{
    if (finding)
        append(finding, &finding->evidence, TEXT_evidence, key);
}

void finding_other(struct finding *finding, const char *key)
{
    if (finding)
        append(finding, &finding->others, TEXT_other, key);
}

/* ---- rendering */

/* "a, b, c +5": the parameter {hosts}, which every finding about hosts has. */
#define HOSTS_SHOWN 3
static const char *host_list(const struct finding *f)
{
    const char *list = NULL;
    for (size_t i = 0; i < f->row.nr_hosts && i < HOSTS_SHOWN; i++)
        list = report_strf(f->report, "%s%s%s", list ? list : "", i ? ", " : "", f->row.hosts[i]);
    if (list && f->row.nr_hosts > HOSTS_SHOWN)
        list = report_strf(f->report, "%s +%zu", list, f->row.nr_hosts - HOSTS_SHOWN);
    return list;
}

static const char *find_param(void *arg, const char *name)
{
    const struct finding *f = arg;
    for (const struct param *p = f->params; p; p = p->next)
        if (!strcmp(p->name, name))
            return p->value;
    return strcmp(name, "hosts") ? NULL : host_list(f);
}

/* NULL when memory ran out or there is no such sentence; both are kept as the report's error. */
static const char *sentence(struct finding *f, enum text_part part, const char *key)
{
    const char *text = text_find(f->report->lang, f->row.id, part, key ? key : "");
    if (!text) {
        report_fail(f->report, -EINVAL);
        return NULL;
    }
    char *rendered = text_render(text, find_param, f);
    const char *copy = rendered ? report_str(f->report, rendered) : NULL;
    if (!copy)
        report_fail(f->report, -ENOMEM);
    free(rendered);
    return copy;
}

static const char **sentences(struct finding *f, enum text_part part, const struct key *list, size_t *ret_nr)
{
    size_t nr = 0;
    for (const struct key *key = list; key; key = key->next)
        nr++;
    const char **array = arena_alloc(&f->report->priv->arena, nr * sizeof *array);
    *ret_nr = 0;
    if (!array) {
        report_fail(f->report, -ENOMEM);
        return NULL;
    }
    for (const struct key *key = list; key; key = key->next) {
        array[*ret_nr] = sentence(f, part, key->key);
        *ret_nr += array[*ret_nr] != NULL;
    }
    return array;
}

/* Moves a malloced array into the arena, so that report_free() need not know it. */
static void *move_array(struct report *report, void *array, size_t bytes)
{
    void *copy = arena_alloc(&report->priv->arena, bytes);
    if (!copy)
        report_fail(report, -ENOMEM);
    else if (bytes)
        memcpy(copy, array, bytes);
    free(array);
    return copy;
}

static void render(struct finding *f)
{
    struct report_finding *row = &f->row;

    row->ranks = move_array(f->report, row->ranks, row->nr_ranks * sizeof *row->ranks);
    row->victims = move_array(f->report, row->victims, row->nr_victims * sizeof *row->victims);
    row->hosts = move_array(f->report, row->hosts, row->nr_hosts * sizeof *row->hosts);
    row->nr_ranks = row->ranks ? row->nr_ranks : 0;
    row->nr_victims = row->victims ? row->nr_victims : 0;
    row->nr_hosts = row->hosts ? row->nr_hosts : 0;

    row->what = sentence(f, TEXT_what, f->what);
    bool own_brief = text_find(f->report->lang, row->id, TEXT_brief, f->cause ? f->cause : "") != NULL;
    row->brief = sentence(f, TEXT_brief, own_brief ? f->cause : "");
    row->cause = sentence(f, TEXT_cause, f->cause);
    row->fix = sentence(f, TEXT_fix, f->fix);
    row->evidence = sentences(f, TEXT_evidence, f->evidence, &row->nr_evidence);
    row->others = sentences(f, TEXT_other, f->others, &row->nr_others);
}

void findings_done(struct report *report)
{
    if (report->findings) /* rendered: all of it is in the arena */
        return;
    for (struct finding *f = report->priv->findings; f; f = f->next) {
        free(f->row.ranks);
        free(f->row.victims);
        free(f->row.hosts);
    }
}

/* Severity, then what is lost, then id, then rank: the order in which to read them. A consequence never stands before
 * findings of its severity that have no cause of their own. */
static int compare(const void *a_ptr, const void *b_ptr)
{
    const struct report_finding *a = a_ptr, *b = b_ptr;

    if (a->severity != b->severity)
        return a->severity < b->severity ? 1 : -1;
    if (!a->caused_by != !b->caused_by)
        return a->caused_by ? 1 : -1;
    double lost_a = isnan(a->lost_gpu_seconds) ? -1 : a->lost_gpu_seconds;
    double lost_b = isnan(b->lost_gpu_seconds) ? -1 : b->lost_gpu_seconds;
    if (lost_a != lost_b)
        return lost_a < lost_b ? 1 : -1;
    int by_id = strcmp(a->id, b->id);
    if (by_id)
        return by_id;
    int rank_a = a->nr_ranks ? a->ranks[0] : -1, rank_b = b->nr_ranks ? b->ranks[0] : -1;
    if (rank_a != rank_b)
        return rank_a < rank_b ? -1 : 1;
    return strcmp(a->what ? a->what : "", b->what ? b->what : "");
}

int findings_render(struct report *report)
{
    size_t nr = 0;
    for (struct finding *f = report->priv->findings; f; f = f->next)
        nr++;
    report->findings = calloc(nr + 1, sizeof *report->findings);
    if (!report->findings)
        return -ENOMEM;
    for (struct finding *f = report->priv->findings; f; f = f->next) {
        render(f);
        report->findings[report->nr_findings++] = f->row;
    }
    qsort(report->findings, report->nr_findings, sizeof *report->findings, compare);
    return 0;
}
