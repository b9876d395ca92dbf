/* pass.h - one question to the stream of events, answered into the report.
 *
 * A pass reads events, the job model and its own state; no files, no clock, no globals, no printing. The same events
 * give the same report. Passes are rows of pass/passes.c; they run in that order, each event through all of them,
 * and finish in that order, so that a later one may build on what an earlier one put into the report. */
#ifndef TRSHIM_ANALYSIS_PASS_H
#define TRSHIM_ANALYSIS_PASS_H

struct event;
struct job;
struct report;
struct options;

struct pass {
    const char *name, *help; /* shown by `trshim report --list-passes` */
    /* Makes the state. `job` (model/job.h) is kept up to date by the engine and outlives the pass, as `report` does:
     * rows that are many (steps) are added while the events come. */
    void *(*new)(const struct options *options, struct job *job, struct report *report);
    int (*event)(void *self, const struct event *event); /* event borrowed until return; 0 or -errno; NULL: none */
    int (*finish)(void *self, struct report *report);    /* adds tables and findings; 0 or -errno */
    void (*free)(void *self);                            /* accepts NULL */
};

extern const struct pass *const passes[]; /* NULL-terminated */

#endif
