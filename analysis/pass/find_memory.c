/* find_memory.c - memory-fragmentation, memory-capacity, alloc-retries: GPU memory that ran out, or is about to.
 *
 * A failure for good decides by itself, however short the run; each verdict is one finding over all ranks. Without a
 * failure, memory that is in pieces at the peak is a warning only when little is left on the device: a healthy cache
 * keeps whole free segments, and those do not count. */
#include <stdlib.h>
#include <string.h>

#include "analysis/model/job.h"
#include "analysis/model/memory.h"
#include "analysis/pass/judge.h"
#include "analysis/pass/pass.h"
#include "analysis/pass/thresholds.h"

static uint64_t device_bytes(const struct memory *memory)
{
    const struct gpu_info *gpu = process_gpu(memory->process, memory->device);
    return gpu ? gpu->memory_bytes : 0;
}

static void add_culprit(struct finding *finding, const struct memory *memory)
{
    finding_add_rank(finding, memory->process->rank ? memory->process->rank->number : -1);
    finding_add_host(finding, memory->process->host_name);
}

static void add_owners(struct finding *finding, const struct memory *memory)
{
    const struct memory_owner *largest = NULL;
    for (size_t i = 0; i < memory->nr_owners; i++) {
        const struct memory_owner *owner = &memory->owners[i];
        bool framework = !owner->name || strstr(owner->name->text, "libc10");
        if (!framework && (!largest || owner->peak > largest->peak))
            largest = owner;
    }
    if (!largest)
        return;
    const char *slash = strrchr(largest->name->text, '/');
    finding_set(finding, "owner", "%s", slash ? slash + 1 : largest->name->text);
    finding_set_bytes(finding, "owned", (double)largest->peak);
    finding_evidence(finding, "owners");
}

/* ---- failures ----------------------------------------------------------------------------- */

static void tell_failure(struct report *report, const struct memory *memory, const struct memory_failure *failure)
{
    bool pieces = failure->verdict == OOM_fragmentation, limit = failure->verdict == OOM_limit;
    struct finding *finding =
        finding_raise(report, pieces ? "memory-fragmentation" : "memory-capacity", oom_verdict_names[failure->verdict],
                      SEVERITY_HIGH, limit ? TH_OOM_LIMIT_CONFIDENCE : TH_OOM_CONFIDENCE);
    add_culprit(finding, memory);
    finding_set_bytes(finding, "asked", (double)failure->bytes);
    finding_set_bytes(finding, "free", (double)failure->free);
    finding_set_bytes(finding, "cached", (double)failure->cached_free);
    finding_set_bytes(finding, "reserved", (double)failure->reserved);
    finding_set_bytes(finding, "allocated", (double)failure->allocated);
    if (failure->largest_hole)
        finding_set_bytes(finding, "hole", (double)failure->largest_hole);
    if (failure->short_by)
        finding_set_bytes(finding, "short", (double)failure->short_by);
    if (device_bytes(memory))
        finding_set_bytes(finding, "total", (double)device_bytes(memory));
    finding_what(finding, limit ? "limit" : "");
    finding_cause(finding, limit ? "limit" : "");
    finding_fix(finding, limit ? "limit" : "");
    finding_evidence(finding, "request");
    finding_evidence(finding, "cache");
    if (!pieces && !limit)
        add_owners(finding, memory);
    finding_other(finding, pieces              ? "capacity"
                           : limit             ? "fragmentation-limit"
                           : failure->short_by ? "fragmentation"
                                               : "little");
}

/* ---- a peak in pieces --------------------------------------------------------------------- */

static void look_at_peak(struct report *report, const struct memory *memory)
{
    uint64_t total = device_bytes(memory);
    double share = judge_share(memory->split_free, memory->reserved_peak);
    double left = total > memory->taken_peak ? (double)(total - memory->taken_peak) : 0;
    if (!memory->blocks || !total || share < TH_SPLIT_FREE_SHARE ||
        memory->split_free < (uint64_t)TH_SPLIT_FREE_BYTES || left >= TH_DEVICE_LEFT_SHARE * (double)total)
        return;
    struct finding *finding =
        finding_raise(report, "memory-fragmentation", "peak", SEVERITY_MEDIUM, TH_OOM_LIMIT_CONFIDENCE);
    add_culprit(finding, memory);
    finding_set_bytes(finding, "split", (double)memory->split_free);
    finding_set_share(finding, "split_share", share);
    finding_set_bytes(finding, "reserved", (double)memory->reserved_peak);
    finding_set_bytes(finding, "allocated", (double)memory->allocated_peak);
    finding_set_bytes(finding, "hole", (double)memory->largest_hole);
    finding_set_bytes(finding, "left", left);
    finding_set_bytes(finding, "total", (double)total);
    finding_what(finding, "peak");
    finding_cause(finding, "peak");
    finding_evidence(finding, "peak");
    finding_other(finding, "whole");
}

/* ---- retries ------------------------------------------------------------------------------ */

static void look_at_retries(struct report *report, const struct job *job, const struct memory *memory)
{
    const struct process *process = memory->process;
    const struct rank_facts *facts =
        process->rank && process->role == ROLE_trainer ? facts_rank(job->facts, process->rank) : NULL;
    double confidence = facts ? judge_confidence(job, facts->windows) : 0;
    if (confidence <= 0 || !memory->retries || (double)memory->retries < TH_RETRIES_PER_STEP * (double)facts->windows)
        return;
    double share = judge_share(memory->retries_ns, facts->window_ns);
    struct finding *finding = finding_raise(report, "alloc-retries", NULL, severity_of_share(share), confidence);
    add_culprit(finding, memory);
    finding_lost(finding, (int64_t)memory->retries_ns, (double)memory->retries_ns / 1e9);
    finding_set_count(finding, "retries", memory->retries);
    finding_set_count(finding, "steps", facts->windows);
    finding_set_time(finding, "each", (double)memory->retries_ns / (double)memory->retries);
    finding_set_share(finding, "share", share);
    finding_set_bytes(finding, "reserved", (double)memory->reserved_peak);
    if (device_bytes(memory))
        finding_set_bytes(finding, "total", (double)device_bytes(memory));
    finding_evidence(finding, "retries");
    finding_evidence(finding, "reserved");
    finding_other(finding, "start");
}

static int finish(void *arg, struct report *report)
{
    const struct job *job = ((struct finder *)arg)->job;
    for (const struct memory *memory = job->facts->memory; memory; memory = memory->next) {
        /* The last failure is the one that ended it; earlier ones were survived. */
        if (memory->nr_failures)
            tell_failure(report, memory, &memory->failures[memory->nr_failures - 1]);
        else
            look_at_peak(report, memory);
        look_at_retries(report, job, memory);
    }
    return 0;
}

const struct pass find_memory = {
    "find-memory", "memory-fragmentation, memory-capacity, alloc-retries", finder_new, NULL, finish, free};
