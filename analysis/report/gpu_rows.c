/* gpu_rows.c - the report's tables about GPUs: kernels, copies, what each GPU did, its memory. */
#include "analysis/report/report.h"

#include <errno.h>
#include <string.h>

#include "analysis/report/private.h"

int report_add_kernel(struct report *report, const struct report_kernel *row)
{
    if (report_grow(&report->kernels, report->nr_kernels, sizeof *row))
        return -ENOMEM;
    struct report_kernel *copy = &report->kernels[report->nr_kernels++];
    *copy = *row;
    copy->name = report_str(report, row->name);
    copy->kind = report_str(report, row->kind);
    return report->priv->error;
}

int report_add_copy(struct report *report, const struct report_copy *row)
{
    if (report_grow(&report->copies, report->nr_copies, sizeof *row))
        return -ENOMEM;
    struct report_copy *copy = &report->copies[report->nr_copies++];
    *copy = *row;
    copy->kind = report_str(report, row->kind);
    copy->memory = report_str(report, row->memory);
    return report->priv->error;
}

int report_add_gpu(struct report *report, const struct report_gpu *row)
{
    if (report_grow(&report->gpus, report->nr_gpus, sizeof *row))
        return -ENOMEM;
    struct report_gpu *copy = &report->gpus[report->nr_gpus++];
    *copy = *row;
    copy->name = report_str(report, row->name);
    copy->dtype = report_str(report, row->dtype);
    return report->priv->error;
}

static const struct report_site *copy_sites(struct report *report, const struct report_site *from, size_t nr)
{
    struct arena *arena = &report->priv->arena;
    struct report_site *sites = arena_alloc(arena, nr * sizeof *sites);
    for (size_t i = 0; sites && i < nr; i++) {
        sites[i] = from[i];
        sites[i].frames = arena_alloc(arena, from[i].nr_frames * sizeof *sites[i].frames);
        if (!sites[i].frames)
            return NULL;
        for (size_t k = 0; k < from[i].nr_frames; k++) {
            struct report_frame *frame = &sites[i].frames[k];
            *frame = from[i].frames[k];
            frame->module = report_str(report, frame->module);
            frame->build_id = report_str(report, frame->build_id);
            frame->function = report_str(report, frame->function);
            frame->file = report_str(report, frame->file);
        }
    }
    return sites;
}

int report_add_memory(struct report *report, const struct report_memory *row)
{
    struct arena *arena = &report->priv->arena;
    struct report_owner *owners = arena_alloc(arena, row->nr_owners * sizeof *owners);
    struct report_failure *failures = arena_alloc(arena, row->nr_failures * sizeof *failures);
    const struct report_site *sites = copy_sites(report, row->sites, row->nr_sites);
    if (!owners || !failures || !sites || report_grow(&report->memory, report->nr_memory, sizeof *row))
        return -ENOMEM;
    for (size_t i = 0; i < row->nr_owners; i++) {
        owners[i] = row->owners[i];
        owners[i].name = report_str(report, row->owners[i].name);
    }
    for (size_t i = 0; i < row->nr_failures; i++) {
        failures[i] = row->failures[i];
        failures[i].verdict = report_str(report, row->failures[i].verdict);
    }
    struct report_memory *copy = &report->memory[report->nr_memory++];
    *copy = *row;
    copy->owners = owners;
    copy->failures = failures;
    copy->sites = sites;
    return report->priv->error;
}
