/* pass_gpu.c - kernels by name, copies by kind, and what each rank's GPU did.
 *
 * Comes after pass_breakdown, whose windows tell kernels, latency and FLOP per step (facts.h). Kernels and copies of
 * all processes count in the tables, whenever they ran; what finders judge by is of the steady part of each rank.
 *
 * MFU is the time the work would take at the peaks of its types, of the time the steps took. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/model/copy_rate.h"
#include "analysis/model/facts.h"
#include "analysis/model/gpu_peaks.h"
#include "analysis/model/job.h"
#include "analysis/model/kernel_kinds.h"
#include "analysis/model/map.h"
#include "analysis/options.h"
#include "analysis/pass/pass.h"
#include "analysis/pass/thresholds.h"
#include "analysis/report/report.h"

struct kernel {
    struct kernel *next;
    const char *name; /* borrowed from the job; NULL unknown */
    enum kernel_kind kind;
    uint64_t count, total_ns;
};

struct pass_gpu {
    const struct options *options;
    struct job *job;
    struct map by_name;     /* by address of the struct name, then by text: hosts have names of their own */
    struct kernel *kernels; /* owned */
    struct kernel *unnamed; /* one of them, NULL none yet */
    bool whole_graphs;      /* some were told without what is in them */
};

static void *new (const struct options *options, struct job *job, struct report *report)
{
    struct pass_gpu *self = calloc(1, sizeof(*self));
    if (self)
        *self = (struct pass_gpu){.options = options, .job = job};
    return self;
}

static void pass_free(void *arg)
{
    struct pass_gpu *self = arg;
    if (!self)
        return;
    for (struct kernel *kernel = self->kernels, *next; kernel; kernel = next) {
        next = kernel->next;
        free(kernel);
    }
    map_done(&self->by_name);
    free(self);
}

/* ---- kernels ------------------------------------------------------------------------------ */

static struct kernel *kernel_add(struct pass_gpu *self, const char *name, enum kernel_kind kind)
{
    struct kernel *kernel = calloc(1, sizeof(*kernel));
    if (!kernel)
        return NULL;
    *kernel = (struct kernel){.next = self->kernels, .name = name, .kind = kind};
    return self->kernels = kernel;
}

static struct kernel *kernel_get(struct pass_gpu *self, const struct name *name)
{
    if (!name)
        return self->unnamed ? self->unnamed : (self->unnamed = kernel_add(self, NULL, KERNEL_compute));
    struct map_key by_address = {(uintptr_t)name, 0}, by_text = map_hash(name->text, 1);
    struct kernel *kernel = map_find(&self->by_name, by_address);
    if (kernel)
        return kernel;
    kernel = map_find(&self->by_name, by_text);
    kernel = kernel ? kernel : kernel_add(self, name->text, name->kernel_kind);
    if (!kernel || map_put(&self->by_name, by_address, kernel) || map_put(&self->by_name, by_text, kernel))
        return NULL;
    return kernel;
}

/* The facts of the rank whose process the event is about, if it happened in its steady part. */
static struct gpu_facts *steady_facts(const struct pass_gpu *self, uint64_t start_ns)
{
    const struct process *process = self->job->process;
    const struct rank *rank = process->role == ROLE_trainer ? process->rank : NULL;
    bool steady = rank && start_ns >= rank->steady_ns && start_ns < rank->end_ns;
    return steady ? &self->job->facts->ranks[rank->index].gpu : NULL;
}

static int see_kernel(struct pass_gpu *self, const struct tr_kernel *event)
{
    struct kernel *kernel = kernel_get(self, self->job->name);
    struct gpu_facts *facts = steady_facts(self, event->start_ns);
    if (!kernel)
        return -ENOMEM;
    self->whole_graphs |= self->job->name && self->job->name->kind == TR_name_kind_graph;
    kernel->count++;
    kernel->total_ns += event->dur_ns;
    if (facts && kernel->kind != KERNEL_comm)
        facts->compute_ns += event->dur_ns;
    if (facts && kernel->kind == KERNEL_gemm)
        *(event->graph ? &facts->graph_gemm_ns : &facts->gemm_ns) += event->dur_ns;
    return 0;
}

/* What a graph does is told as one sum at each launch, if the recorder saw how it was captured. */
static void see_work(const struct pass_gpu *self, const struct tr_gemm *gemm)
{
    struct gpu_facts *facts = gemm->m ? NULL : steady_facts(self, gemm->start_ns);
    if (facts)
        facts->graph_work = true;
}

/* ---- copies ------------------------------------------------------------------------------- */

/* The side that decides how fast it goes: the host's, if there is one. */
static unsigned memory_of(const struct tr_gpu_copy *copy)
{
    unsigned memory = copy->kind == TR_copy_kind_DtoH ? copy->dst : copy->src;
    return memory < TR_memory_kind_MAX ? memory : TR_memory_kind_unknown;
}

static void see_copy(struct pass_gpu *self, const struct tr_gpu_copy *copy)
{
    unsigned kind = copy->kind < TR_copy_kind_MAX ? copy->kind : TR_copy_kind_other, memory = memory_of(copy);
    bool large = copy->size_bytes > (uint64_t)TH_PAGEABLE_MIN_BYTES;
    struct copy_facts *row = &self->job->facts->copies[kind][memory];
    row->count++;
    row->bytes += copy->size_bytes;
    row->time_ns += copy->dur_ns;
    row->large_bytes += large ? copy->size_bytes : 0;
    row->large_ns += large ? copy->dur_ns : 0;
}

static int event(void *arg, const struct event *event)
{
    if (event->kind == EV_kernel)
        return see_kernel(arg, &event->u.kernel);
    if (event->kind == EV_gpu_copy)
        see_copy(arg, &event->u.gpu_copy);
    if (event->kind == EV_gemm)
        see_work(arg, &event->u.gemm);
    return 0;
}

/* ---- telling ------------------------------------------------------------------------------ */

static int by_time(const void *a, const void *b)
{
    const struct kernel *x = *(const struct kernel *const *)a, *y = *(const struct kernel *const *)b;
    if (x->total_ns != y->total_ns)
        return x->total_ns < y->total_ns ? 1 : -1;
    return strcmp(x->name ? x->name : "", y->name ? y->name : "");
}

static int tell_kernels(const struct pass_gpu *self, struct report *report)
{
    size_t nr = 0, i = 0;
    uint64_t all_ns = 0;
    int rc = 0;
    for (const struct kernel *kernel = self->kernels; kernel; kernel = kernel->next, nr++)
        all_ns += kernel->total_ns;
    struct kernel **order = malloc((nr + 1) * sizeof(*order));
    if (!order)
        return -ENOMEM;
    for (struct kernel *kernel = self->kernels; kernel; kernel = kernel->next)
        order[i++] = kernel;
    if (nr)
        qsort(order, nr, sizeof(*order), by_time);
    for (i = 0; i < nr && i < (size_t)TH_KERNEL_ROWS && !rc; i++)
        rc = report_add_kernel(
            report, &(struct report_kernel){.name = order[i]->name,
                                            .kind = kernel_kind_name(order[i]->kind),
                                            .count = order[i]->count,
                                            .total_ns = order[i]->total_ns,
                                            .mean_ns = (double)order[i]->total_ns / (double)order[i]->count,
                                            .share = all_ns ? (double)order[i]->total_ns / (double)all_ns : 0});
    free(order);
    return rc;
}

static int tell_copies(const struct pass_gpu *self, struct report *report)
{
    static const char *const kinds[TR_copy_kind_MAX] = {"HtoD", "DtoH", "DtoD", "PtoP", "HtoH", "other"};
    static const char *const memories[TR_memory_kind_MAX] = {"unknown", "pageable", "pinned",
                                                             "device",  "array",    "managed"};
    int rc = 0;
    for (unsigned kind = 0; kind < TR_copy_kind_MAX; kind++)
        for (unsigned memory = 0; memory < TR_memory_kind_MAX && !rc; memory++) {
            const struct copy_facts *row = &self->job->facts->copies[kind][memory];
            if (row->count)
                rc = report_add_copy(
                    report, &(struct report_copy){
                                .kind = kinds[kind],
                                .memory = memories[memory],
                                .count = row->count,
                                .bytes = row->bytes,
                                .time_ns = row->time_ns,
                                .bandwidth = row->time_ns ? (double)row->bytes * 1e9 / (double)row->time_ns : NAN,
                                .expected = copy_rate(self->job, kind)});
        }
    return rc;
}

/* Seconds that the work would take at the peaks of its types; NAN when one of them is not known. */
static double ideal_seconds(const struct options *options, const char *model, const double flop[TR_dtype_MAX])
{
    double seconds = 0;
    for (unsigned type = 0; type < TR_dtype_MAX; type++) {
        double peak = options->peak_flops > 0 ? options->peak_flops : gpu_peak(model, type);
        if (flop[type] > 0)
            seconds += peak > 0 ? flop[type] / peak : NAN;
    }
    return seconds;
}

static unsigned main_type(const double flop[TR_dtype_MAX])
{
    unsigned most = TR_dtype_unknown;
    for (unsigned type = 0; type < TR_dtype_MAX; type++)
        most = flop[type] > flop[most] ? type : most;
    return most;
}

/* Work told on the command line replaces what was counted; it is of the type that was counted most. */
static void told_work(const struct options *options, const struct gpu_facts *facts, double flop[TR_dtype_MAX])
{
    unsigned type = main_type(facts->flop);
    memset(flop, 0, TR_dtype_MAX * sizeof(*flop));
    flop[type] = options->flops_per_step * (double)facts->windows;
}

/* Whether the products that graphs ran were counted with the others, or are too few to matter. */
static bool settle_graphs(struct gpu_facts *facts)
{
    if (facts->graph_work) {
        facts->gemm_ns += facts->graph_gemm_ns;
        facts->graph_gemm_ns = 0;
    }
    return (double)facts->graph_gemm_ns <= TH_GRAPH_WORK_SHARE * (double)facts->compute_ns;
}

static int tell_gpu(const struct pass_gpu *self, struct report *report, struct rank_facts *rank_facts)
{
    static const char *const types[TR_dtype_MAX] = {NULL, "f64", "f32", "tf32", "f16", "bf16", "f8", "i8"};
    struct gpu_facts *facts = &rank_facts->gpu;
    const struct options *options = self->options;
    double flop[TR_dtype_MAX], all = 0, windows = (double)facts->windows, seconds = (double)facts->window_ns / 1e9;
    const char *model = facts->info ? facts->info->model : NULL;
    facts->mfu = NAN;
    if (!facts->windows)
        return 0;
    memcpy(flop, facts->flop, sizeof(flop));
    facts->work_told = options->flops_per_step > 0;
    bool all_counted = settle_graphs(facts);
    if (facts->work_told)
        told_work(options, facts, flop);
    for (unsigned type = 0; type < TR_dtype_MAX && (all_counted || facts->work_told); type++)
        all += flop[type];
    double ideal = ideal_seconds(options, model, flop);
    facts->mfu = all > 0 && seconds > 0 ? ideal / seconds : NAN;
    return report_add_gpu(
        report,
        &(struct report_gpu){
            .rank = rank_facts->rank->number,
            .device = facts->info ? (int64_t)facts->info->device : TR_UNKNOWN,
            .name = model,
            .kernels = (uint64_t)((double)facts->kernels / windows + 0.5),
            .mean_kernel_ns = facts->kernels ? (double)facts->kernel_ns / (double)facts->kernels : NAN,
            .launch_latency_ns = facts->launched ? (double)facts->queued_ns / (double)facts->launched : NAN,
            .queue_depth = facts->launched ? (double)facts->queued_ns / (double)facts->window_ns : NAN,
            .flop = all > 0 ? all / windows : NAN,
            .flops = all > 0 && seconds > 0 ? all / seconds : NAN,
            .peak_flops = all > 0 && ideal > 0 ? all / ideal : NAN,
            .mfu = facts->mfu,
            .dtype = all > 0 ? types[main_type(flop)] : NULL,
            .tokens_per_second =
                options->tokens_per_step > 0 && seconds > 0 ? options->tokens_per_step * windows / seconds : NAN});
}

/* What the reader should know of GPU times that are missing, in whole or in part. */
static int note_gaps(const struct pass_gpu *self, struct report *report)
{
    int rc = self->whole_graphs ? report_note(report, "whole-graphs", NULL) : 0;
    for (size_t i = 0; i < self->job->facts->nr_ranks && !rc; i++) {
        const struct rank_facts *facts = &self->job->facts->ranks[i];
        const struct process *process = facts->rank->process;
        const char *status = process_attr(process, "gpu.recorder");
        bool refused = status && (strstr(status, "error") || !strncmp(status, "no ", 3)); /* find_quality says why */
        if (!self->kernels && process->gpus && !refused)
            rc = report_note(report, "no-kernels", NULL);
        else if (facts->gpu.kernels && !facts->gpu.launched)
            rc = report_note(report, "no-launch-times", NULL);
        if (!rc && facts->gpu.windows && isnan(facts->gpu.mfu) && !settle_graphs(&self->job->facts->ranks[i].gpu))
            rc = report_note(report, "graph-work", NULL);
    }
    return rc;
}

static int finish(void *arg, struct report *report)
{
    const struct pass_gpu *self = arg;
    int rc = tell_kernels(self, report);
    rc = rc ? rc : tell_copies(self, report);
    for (size_t i = 0; i < self->job->facts->nr_ranks && !rc; i++)
        rc = tell_gpu(self, report, &self->job->facts->ranks[i]);
    return rc ? rc : note_gaps(self, report);
}

const struct pass pass_gpu = {"gpu", "kernels, copies, what each GPU did", new, event, finish, pass_free};
