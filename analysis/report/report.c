/* report.c - the report's life and its plain tables; steps.c and finding.c keep the rest. */
#include "analysis/report/report.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/report/private.h"
#include "analysis/report/text.h"

const char *const severity_names[SEVERITY_MAX] = {"low", "medium", "high"};

int report_new(enum lang lang, struct report **ret)
{
    struct report *report = calloc(1, sizeof *report);
    if (!report)
        return -ENOMEM;
    report->priv = calloc(1, sizeof *report->priv);
    if (!report->priv) {
        free(report);
        return -ENOMEM;
    }
    report->lang = lang;
    report->world_size = -1;
    report->quality.clock_error_ns = TR_UNKNOWN;
    *ret = report;
    return 0;
}

void report_free(struct report *report)
{
    if (!report)
        return;
    findings_done(report);
    steps_done(&report->priv->steps);
    arena_done(&report->priv->arena);
    free(report->priv);
    free(report->inputs);
    free(report->ranks);
    free(report->per_rank);
    free(report->io);
    free(report->workers);
    free(report->checkpoints);
    free(report->kernels);
    free(report->copies);
    free(report->gpus);
    free(report->memory);
    free(report->communicators);
    free(report->collectives);
    free(report->transports);
    free(report->findings);
    free(report->notes);
    free(report);
}

void report_fail(struct report *report, int error)
{
    if (!report->priv->error)
        report->priv->error = error;
}

int report_grow(void *array_ptr, size_t nr, size_t element_size)
{
    /* Full exactly when nr is 0 or a power of two: no capacity to keep. */
    if (nr & (nr - 1))
        return 0;
    void *grown = reallocarray(*(void **)array_ptr, nr ? nr * 2 : 1, element_size);
    if (!grown)
        return -ENOMEM;
    *(void **)array_ptr = grown;
    return 0;
}

/* ---- strings */

const char *report_str(struct report *report, const char *text)
{
    if (!text)
        return NULL;
    size_t size = strlen(text) + 1;
    char *copy = arena_alloc(&report->priv->arena, size);
    if (!copy) {
        report_fail(report, -ENOMEM);
        return NULL;
    }
    return memcpy(copy, text, size);
}

const char *report_strf(struct report *report, const char *format, ...)
{
    char *text = NULL;
    va_list args;

    va_start(args, format);
    int length = vasprintf(&text, format, args);
    va_end(args);
    if (length < 0) {
        report_fail(report, -ENOMEM);
        return NULL;
    }
    const char *copy = report_str(report, text);
    free(text);
    return copy;
}

/* ---- rows */

int report_add_input(struct report *report, const struct report_input *row)
{
    if (report_grow(&report->inputs, report->nr_inputs, sizeof *row))
        return -ENOMEM;
    struct report_input *copy = &report->inputs[report->nr_inputs++];
    *copy = *row;
    copy->path = report_str(report, row->path);
    copy->kind = report_str(report, row->kind);
    copy->problem = report_str(report, row->problem);
    return report->priv->error;
}

int report_add_rank(struct report *report, const struct report_rank *row)
{
    struct report_version *versions = arena_alloc(&report->priv->arena, row->nr_versions * sizeof *versions);
    if (!versions || report_grow(&report->ranks, report->nr_ranks, sizeof *row))
        return -ENOMEM;
    for (size_t i = 0; i < row->nr_versions; i++) {
        versions[i].key = report_str(report, row->versions[i].key);
        versions[i].value = report_str(report, row->versions[i].value);
    }
    struct report_rank *copy = &report->ranks[report->nr_ranks++];
    *copy = *row;
    copy->host_name = report_str(report, row->host_name);
    copy->machine = report_str(report, row->machine);
    copy->gpu_name = report_str(report, row->gpu_name);
    copy->rank_source = report_str(report, row->rank_source);
    copy->versions = versions;
    return report->priv->error;
}

int report_add_io(struct report *report, const struct report_io *row)
{
    if (report_grow(&report->io, report->nr_io, sizeof *row))
        return -ENOMEM;
    struct report_io *copy = &report->io[report->nr_io++];
    *copy = *row;
    copy->mount = report_str(report, row->mount);
    copy->fstype = report_str(report, row->fstype);
    copy->source = report_str(report, row->source);
    copy->group = report_str(report, row->group);
    copy->peer = report_str(report, row->peer);
    return report->priv->error;
}

int report_add_worker(struct report *report, const struct report_worker *row)
{
    if (report_grow(&report->workers, report->nr_workers, sizeof *row))
        return -ENOMEM;
    report->workers[report->nr_workers++] = *row;
    return report->priv->error;
}

int report_add_checkpoint(struct report *report, const struct report_checkpoint *row)
{
    if (report_grow(&report->checkpoints, report->nr_checkpoints, sizeof *row))
        return -ENOMEM;
    struct report_checkpoint *copy = &report->checkpoints[report->nr_checkpoints++];
    *copy = *row;
    copy->path = report_str(report, row->path);
    return report->priv->error;
}

int report_add_step(struct report *report, const struct report_step *row)
{
    return steps_add(report, row);
}

int report_each_step(struct report *report, report_step_fn fn, void *arg)
{
    return steps_each(&report->priv->steps, fn, arg);
}

/* ---- notes */

/* Parameters of a note: name, value, name, value, ..., NULL. */
static const char *note_param(void *arg, const char *name)
{
    const char *const *pairs = arg;
    for (size_t i = 0; pairs[i]; i += 2)
        if (!strcmp(pairs[i], name))
            return pairs[i + 1];
    return NULL;
}

int report_note(struct report *report, const char *key, ...)
{
    const char *pairs[17] = {NULL};
    va_list args;

    for (size_t i = 0; i < report->nr_notes; i++)
        if (!strcmp(report->notes[i].key, key))
            return 0;

    va_start(args, key);
    for (size_t i = 0; i + 1 < sizeof pairs / sizeof *pairs; i++)
        if (!(pairs[i] = va_arg(args, const char *)))
            break;
    va_end(args);

    const char *text = text_find(report->lang, "note", TEXT_note, key);
    if (!text)
        return -EINVAL;
    if (report_grow(&report->notes, report->nr_notes, sizeof *report->notes))
        return -ENOMEM;
    char *rendered = text_render(text, note_param, pairs);
    if (!rendered)
        return -ENOMEM;
    report->notes[report->nr_notes++] =
        (struct report_note){.key = report_str(report, key), .text = report_str(report, rendered)};
    free(rendered);
    return report->priv->error;
}

/* ---- the end */

int report_finish(struct report *report)
{
    const struct steps *steps = &report->priv->steps;

    report->mean = *report_mean(report);
    report->per_rank = calloc(steps->nr_ranks ? steps->nr_ranks : 1, sizeof *report->per_rank);
    if (!report->per_rank)
        return -ENOMEM;
    report->nr_per_rank = steps->nr_ranks;
    for (size_t i = 0; i < steps->nr_ranks; i++)
        report->per_rank[i] = steps->ranks[i].steady.steps ? steps->ranks[i].steady : steps->ranks[i].all;

    int rc = findings_render(report);
    return rc ? rc : report->priv->error;
}
