/* engine.h - from a trace to a report: surveys the small channels, decides what the job is, streams everything once
 * through all passes. Memory is bounded by ranks, distinct names and open intervals, not by the length of the trace. */
#ifndef TRSHIM_ANALYSIS_ENGINE_H
#define TRSHIM_ANALYSIS_ENGINE_H

struct trace;
struct options;
struct report;

/* Fills the report and finishes it (report_finish). 0, or -errno: -EINVAL a bad regular expression in the options,
 * -ENOMEM, or what a scan returned. A trace without any event gives a report that says so. */
int analyze(struct trace *trace, const struct options *options, struct report *report);

#endif
