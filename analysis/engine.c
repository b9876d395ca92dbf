/* engine.c - see engine.h. One thread; every pass is asked about every event in the order of passes.c. */
#include "analysis/engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/input/trace.h"
#include "analysis/model/facts.h"
#include "analysis/model/job.h"
#include "analysis/options.h"
#include "analysis/pass/pass.h"
#include "analysis/report/report.h"
#include "analysis/symbols/symbols.h"

#define SURVEY_CHANNELS (1u << CH_STATE | 1u << CH_STEPS)
#define PROGRESS_EVERY 65536

struct engine {
    struct trace *trace;
    const struct options *options;
    struct report *report;
    struct job *job;
    void **selves; /* state of each pass, in the order of passes[] */
    size_t nr_passes;
    uint64_t nr_events;
    double done, share; /* of the work: what earlier scans made up, what this one does */
    double told;        /* the largest progress told so far */
};

static void tell_progress(struct engine *engine, const struct event *event)
{
    const struct job *job = engine->job;
    if (!engine->options->progress || engine->nr_events++ % PROGRESS_EVERY)
        return;
    /* How far the survey is nobody knows: it has no end yet. */
    double part = 0;
    if (engine->share > 0 && event->host < job->nr_extents) {
        const struct extent *extent = &job->extents[event->host];
        if (event->ts_ns > extent->first_ns && extent->last_ns > extent->first_ns)
            part = (double)(event->ts_ns - extent->first_ns) / (double)(extent->last_ns - extent->first_ns);
    }
    double done = engine->done + engine->share * (part < 1 ? part : 1);
    engine->told = done > engine->told ? done : engine->told; /* hosts are not in step */
    engine->options->progress(engine->options->progress_arg, engine->told);
}

static int on_survey(void *arg, const struct event *event)
{
    struct engine *engine = arg;
    tell_progress(engine, event);
    return job_survey(engine->job, event);
}

static int on_hand_offs(void *arg, const struct event *event)
{
    struct engine *engine = arg;
    tell_progress(engine, event);
    return job_survey_hand_offs(engine->job, event);
}

static int on_event(void *arg, const struct event *event)
{
    struct engine *engine = arg;
    tell_progress(engine, event);
    int rc = job_follow(engine->job, event);
    for (size_t i = 0; i < engine->nr_passes && !rc; i++)
        if (passes[i]->event)
            rc = passes[i]->event(engine->selves[i], event);
    return rc;
}

static int survey(struct engine *engine)
{
    int rc = trace_scan(engine->trace, SURVEY_CHANNELS, on_survey, engine);
    rc = rc ? rc : job_settle(engine->job);
    engine->done = 0.1;
    if (!rc && job_needs_hand_offs(engine->job)) {
        engine->share = 0.3;
        rc = trace_scan(engine->trace, TRACE_ALL_CHANNELS, on_hand_offs, engine);
        if (!rc && job_regroups(engine->job)) {
            engine->done = 0.4;
            rc = trace_scan(engine->trace, TRACE_ALL_CHANNELS, on_hand_offs, engine);
        }
        engine->done += 0.3;
    }
    return rc ? rc : job_settle_ranks(engine->job);
}

static int make_passes(struct engine *engine)
{
    while (passes[engine->nr_passes])
        engine->nr_passes++;
    engine->selves = calloc(engine->nr_passes, sizeof(*engine->selves));
    if (!engine->selves)
        return -ENOMEM;
    for (size_t i = 0; i < engine->nr_passes; i++) {
        engine->selves[i] = passes[i]->new (engine->options, engine->job, engine->report);
        if (!engine->selves[i])
            return -ENOMEM;
    }
    return 0;
}

static void free_passes(struct engine *engine)
{
    for (size_t i = 0; engine->selves && i < engine->nr_passes; i++)
        if (engine->selves[i])
            passes[i]->free(engine->selves[i]);
    free(engine->selves);
}

static int full_scan(struct engine *engine)
{
    engine->share = 1 - engine->done;
    int rc = trace_scan(engine->trace, TRACE_ALL_CHANNELS, on_event, engine);
    return rc ? rc : job_end(engine->job);
}

/* What the recorder's clients and the readers say about the trace itself. */
static int tell_quality(struct engine *engine)
{
    struct report *report = engine->report;
    const struct job *job = engine->job;
    struct report_quality *quality = &report->quality;
    for (size_t i = 0; i < trace_nr_inputs(engine->trace); i++) {
        const struct trace_input *input = trace_input(engine->trace, i);
        int rc = report_add_input(report, &(struct report_input){.path = input->path,
                                                                 .kind = input->kind,
                                                                 .events = input->events,
                                                                 .lost = input->lost,
                                                                 .problem = input->problem});
        if (rc)
            return rc;
        job->facts->profile |= !strcmp(input->kind, "kineto");
        quality->lost += input->lost;
        quality->unknown += input->unknown;
    }
    quality->events = job->nr_events;
    quality->unresolved = job->names.unresolved;
    quality->gaps = job->nr_gaps;
    quality->unmatched = job->unmatched;
    quality->clock_error_ns = trace_nr_hosts(engine->trace) > 1 ? TR_UNKNOWN : 0;
    uint64_t gpu_told = 0;
    for (const struct process *process = job->first; process; process = process->next) {
        const struct tr_gpu_lost *gpu = &process->gpu_lost;
        quality->recorder_cpu_ns += process->cost.cpu_ns;
        quality->gpu_lost += gpu->dropped + gpu->discarded + gpu->untimed;
        gpu_told += gpu->told;
    }
    report->nr_hosts = report->nr_machines = trace_nr_hosts(engine->trace);
    report->world_size = job->world_size;
    report->first_ns = job_extent(job).first_ns;
    report->last_ns = job_extent(job).last_ns;
    job->facts->lost = quality->lost;
    job->facts->gpu_lost = quality->gpu_lost;
    job->facts->gpu_told = gpu_told;
    job->facts->unknown = quality->unknown;
    return 0;
}

static int finish_passes(struct engine *engine)
{
    int rc = 0;
    for (size_t i = 0; i < engine->nr_passes && !rc; i++)
        rc = passes[i]->finish(engine->selves[i], engine->report);
    rc = rc ? rc : symbols_resolve(engine->report);
    return rc ? rc : report_finish(engine->report);
}

int analyze(struct trace *trace, const struct options *options, struct report *report)
{
    struct engine engine = {.trace = trace, .options = options, .report = report};
    int rc = job_new(options, &engine.job);
    if (rc)
        return rc;
    engine.job->facts = facts_new();
    rc = engine.job->facts ? survey(&engine) : -ENOMEM;
    rc = rc ? rc : make_passes(&engine);
    rc = rc ? rc : full_scan(&engine);
    rc = rc ? rc : tell_quality(&engine);
    rc = rc ? rc : finish_passes(&engine);
    free_passes(&engine);
    facts_free(engine.job->facts);
    job_free(engine.job);
    return rc;
}
