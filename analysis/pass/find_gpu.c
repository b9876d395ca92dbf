/* find_gpu.c - pageable-copies, sync-overuse, launch-bound, offload-bound, low-mfu: a GPU that could do more.
 *
 * All of them judge steady windows that lie on the GPU's timeline; without kernels in the trace none is raised. */
#include <math.h>
#include <stdlib.h>

#include "analysis/model/copy_rate.h"
#include "analysis/model/job.h"
#include "analysis/pass/judge.h"
#include "analysis/pass/pass.h"
#include "analysis/pass/thresholds.h"

/* One rank on its way through the rules. */
struct look {
    const struct job *job;
    const struct rank_facts *facts;
    const struct gpu_facts *gpu;
    double windows, window_ns;
    double confidence;
    bool offloads; /* offload-bound was raised for it */
};

/* A finding of the rank that costs `lost_ns` in all its windows. */
static struct finding *raise(struct report *report, const struct look *look, const char *id, double lost_ns,
                             double confidence)
{
    struct finding *finding =
        finding_raise(report, id, NULL, severity_of_share(lost_ns / look->window_ns), look->confidence * confidence);
    finding_add_rank(finding, look->facts->rank->number);
    finding_add_host(finding, look->facts->rank->process->host_name);
    finding_lost(finding, (int64_t)lost_ns, lost_ns / 1e9);
    finding_set_share(finding, "share", lost_ns / look->window_ns);
    finding_set_time(finding, "lost", lost_ns / look->windows);
    finding_set_time(finding, "step", look->window_ns / look->windows);
    finding_set_count(finding, "steps", look->gpu->windows);
    return finding;
}

/* ---- pageable-copies ---------------------------------------------------------------------- */

/* What copies from pinned memory reach in this run; without any, what the GPU's link should give, and where that is not
 * known what the slowest link in use today does. */
static double pinned_rate(const struct job *job)
{
    const struct copy_facts *pinned = &job->facts->copies[TR_copy_kind_HtoD][TR_memory_kind_pinned];
    double expected = copy_rate(job, TR_copy_kind_HtoD);
    if (pinned->large_bytes >= (uint64_t)TH_PINNED_MIN_BYTES && pinned->large_ns)
        return (double)pinned->large_bytes * 1e9 / (double)pinned->large_ns;
    return isnan(expected) ? TH_PINNED_RATE : expected;
}

static void find_pageable(struct report *report, const struct look *look)
{
    const struct gpu_facts *gpu = look->gpu;
    double exposed = (double)gpu->pageable_ns, pinned = pinned_rate(look->job);
    double rate = gpu->pageable_copy_ns ? (double)gpu->pageable_bytes * 1e9 / (double)gpu->pageable_copy_ns : 0;
    if (exposed < TH_PAGEABLE_SHARE * look->window_ns || rate >= TH_PAGEABLE_RATE_SHARE * pinned)
        return;
    struct finding *finding = raise(report, look, "pageable-copies", exposed, 0.95);
    finding_set_rate(finding, "rate", rate);
    finding_set_rate(finding, "pinned", pinned);
    finding_set_bytes(finding, "bytes", (double)gpu->pageable_bytes / look->windows);
    finding_set_bytes(finding, "size", (double)gpu->pageable_bytes / (double)gpu->pageable_copies);
    finding_set(finding, "copies", "%.3g", (double)gpu->pageable_copies / look->windows);
    finding_evidence(finding, "copies");
    finding_evidence(finding, "exposed");
    finding_other(finding, "small");
}

/* ---- sync-overuse ------------------------------------------------------------------------- */

static void find_sync(struct report *report, const struct look *look)
{
    const struct gpu_facts *gpu = look->gpu;
    uint64_t micro_batches = gpu->micro_batches > gpu->windows ? gpu->micro_batches : gpu->windows;
    double each = (double)gpu->syncs / (double)micro_batches, idle = (double)gpu->after_sync_ns;
    if (each < TH_SYNCS || idle < TH_AFTER_SYNC_SHARE * look->window_ns)
        return;
    struct finding *finding = raise(report, look, "sync-overuse", idle, 0.9);
    finding_set(finding, "syncs", "%.3g", each);
    finding_set(finding, "per_step", "%.3g", (double)gpu->syncs / look->windows);
    finding_set_time(finding, "idle", idle / (double)gpu->syncs);
    finding_evidence(finding, "syncs");
    finding_evidence(finding, "idle");
    if (look->offloads)
        finding_caused_by(finding, "offload-bound"); /* it waits for gradients, then works on them */
    finding_other(finding, "one");
    finding_other(finding, "threads");
}

/* ---- launch-bound ------------------------------------------------------------------------- */

static void find_launch(struct report *report, const struct look *look)
{
    const struct gpu_facts *gpu = look->gpu;
    double own = (double)gpu->kernels * TH_OWN_LAUNCH_NS, gaps = (double)gpu->short_gap_ns - own;
    double mean = gpu->kernels ? (double)gpu->kernel_ns / (double)gpu->kernels : 0;
    double depth = gpu->launched ? (double)gpu->queued_ns / look->window_ns : 0;
    /* While the thread that launches has no CPU there are no launches to wait for: that is somebody else's time. */
    double ready = judge_trainer_ready(look->facts), able_ns = look->window_ns * (1 - (ready < 1 ? ready : 1));
    if (gaps < TH_LAUNCH_GAP_SHARE * able_ns || gaps < TH_LAUNCH_LOST_SHARE * look->window_ns ||
        mean > TH_LAUNCH_KERNEL_NS || depth > TH_LAUNCH_DEPTH)
        return;
    struct finding *finding = raise(report, look, "launch-bound", gaps, gpu->launched ? 0.9 : 0.7);
    finding_set_time(finding, "mean", mean);
    finding_set(finding, "kernels", "%.0f", (double)gpu->kernels / look->windows);
    finding_set_time(finding, "gap", gaps / (double)gpu->kernels);
    finding_evidence(finding, "gaps");
    if (gpu->launched) {
        finding_set(finding, "depth", "%.2g", depth);
        finding_set_time(finding, "latency", (double)gpu->queued_ns / (double)gpu->launched);
        finding_evidence(finding, "queue");
    }
    if (ready >= TH_RUNNABLE_SHARE) {
        finding_set_share(finding, "ready", ready);
        finding_evidence(finding, "ready");
    }
    finding_other(finding, "pressure");
}

/* ---- offload-bound ------------------------------------------------------------------------ */

/* The optimizer on the host: gradients go there and weights come back, every step. Weights on the host: they come in
 * many large pieces, every step. */
static void find_offload(struct report *report, struct look *look)
{
    const struct gpu_facts *gpu = look->gpu;
    double up = (double)gpu->htod_bytes / look->windows, down = (double)gpu->dtoh_bytes / look->windows;
    double copying = (double)look->facts->class_ns[BC_copy_exposed];
    double host = (double)look->facts->class_ns[BC_host] + (double)look->facts->class_ns[BC_sync] +
                  (double)look->facts->class_ns[BC_other];
    bool optimizer = down >= TH_OFFLOAD_BYTES && up >= down / 4;
    bool weights = up >= TH_OFFLOAD_WEIGHT_BYTES && (double)gpu->large_htod >= TH_OFFLOAD_PIECES * look->windows;
    double lost = optimizer ? copying + host : copying;
    if ((!optimizer && !weights) || lost < TH_OFFLOAD_SHARE * look->window_ns)
        return;
    look->offloads = true;
    struct finding *finding = raise(report, look, "offload-bound", lost, 0.85);
    finding_set_bytes(finding, "up", up);
    finding_set_bytes(finding, "down", down);
    finding_set_share(finding, "copy_share", copying / look->window_ns);
    finding_set_share(finding, "host_share", host / look->window_ns);
    finding_evidence(finding, "bytes");
    finding_evidence(finding, "shares");
    finding_what(finding, optimizer ? "" : "weights");
    finding_cause(finding, optimizer ? "" : "weights");
    finding_fix(finding, optimizer ? "" : "weights");
    finding_other(finding, "batches");
}

/* ---- low-mfu ------------------------------------------------------------------------------ */

static void find_mfu(struct report *report, const struct look *look)
{
    const struct gpu_facts *gpu = look->gpu;
    uint64_t busy = look->facts->class_ns[BC_compute] + look->facts->class_ns[BC_comm_exposed] +
                    look->facts->class_ns[BC_copy_exposed];
    double busy_share = (double)busy / look->window_ns, counted = judge_share(gpu->gemm_ns, gpu->compute_ns);
    if (busy_share < TH_MFU_BUSY || !isfinite(gpu->mfu) || gpu->mfu >= TH_MFU ||
        (!gpu->work_told && counted < TH_MFU_COUNTED))
        return;
    struct finding *finding = finding_raise(report, "low-mfu", NULL, SEVERITY_LOW, look->confidence * 0.8);
    finding_add_rank(finding, look->facts->rank->number);
    finding_add_host(finding, look->facts->rank->process->host_name);
    finding_set_share(finding, "mfu", gpu->mfu);
    finding_set_share(finding, "busy", busy_share);
    finding_set_share(finding, "gemm_share", counted);
    finding_set_time(finding, "step", look->window_ns / look->windows);
    finding_set(finding, "gpu", "%s", gpu->info ? gpu->info->model : "GPU");
    finding_evidence(finding, "mfu");
    finding_evidence(finding, "counted");
    finding_other(finding, "utilization");
}

static int finish(void *arg, struct report *report)
{
    const struct job *job = ((struct finder *)arg)->job;
    for (size_t i = 0; i < job->facts->nr_ranks; i++) {
        const struct rank_facts *facts = &job->facts->ranks[i];
        struct look look = {.job = job,
                            .facts = facts,
                            .gpu = &facts->gpu,
                            .windows = (double)facts->gpu.windows,
                            .window_ns = (double)facts->gpu.window_ns,
                            .confidence = facts->gpu.windows ? judge_rank(job, facts) : 0};
        if (look.confidence <= 0 || look.window_ns <= 0)
            continue;
        find_pageable(report, &look);
        find_offload(report, &look);
        find_sync(report, &look);
        find_launch(report, &look);
        find_mfu(report, &look);
    }
    return 0;
}

const struct pass find_gpu = {
    "find-gpu", "pageable-copies, sync-overuse, launch-bound, offload-bound, low-mfu", finder_new, NULL, finish, free};
