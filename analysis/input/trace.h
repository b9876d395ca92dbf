/* trace.h - all inputs of one command as one stream of events in time order.
 *
 * PATHs may be LTTng trace directories (one or many hosts, rotations), events text files, or Kineto traces (one file
 * per rank, or a directory of them), or logs with what NCCL wrote; the kind is recognised.
 * A trace can be scanned several times: the report first surveys the small channels, then streams everything.
 * Nothing here prints: what was wrong with an input is in trace_inputs(). */
#ifndef TRSHIM_ANALYSIS_TRACE_H
#define TRSHIM_ANALYSIS_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/event.h"

struct trace;

/* One input as the report lists it. Counters are those of the last full scan. */
struct trace_input {
    const char *path;
    const char *kind; /* "lttng", "events", "kineto", "nccl-log", "flight-recorder" */
    uint64_t events;  /* events delivered */
    uint64_t lost;    /* events the recorder dropped (discarded events and packets) */
    uint64_t unknown; /* events of kinds this program does not know */
    uint64_t first_ns, last_ns;
    uint32_t host; /* the host all its events come from, or TRACE_NO_HOST */
    char *problem; /* owned; NULL if all was readable, else what is missing and why, one line */
};

struct trace_host {
    const char *name; /* host name */
    const char *boot; /* boot id or "" */
    int64_t epoch_ns; /* add to CLOCK_MONOTONIC for ns since 1970; 0 unknown */
};

/* Opens all paths. Returns 0, or -errno with *ret_error (owned by the caller) set to one line that says which path,
 * what, and what to do. A path of which something can be read is no error: see trace_input.problem. */
int trace_open(char *const *paths, size_t nr_paths, struct trace **ret, char **ret_error);
void trace_free(struct trace *trace);

/* Called for each event in time order (per host exact; hosts merged by their own clocks aligned through epoch_ns).
 * Returns 0 to go on, or non-zero to stop: trace_scan returns it. */
typedef int (*trace_event_fn)(void *arg, const struct event *event);

/* Delivers every event of the channels in the mask (1u << CH_STATE | ...) to fn. Can be called again. */
int trace_scan(struct trace *trace, unsigned channels, trace_event_fn fn, void *arg);

size_t trace_nr_inputs(const struct trace *trace);
const struct trace_input *trace_input(const struct trace *trace, size_t i);
size_t trace_nr_hosts(const struct trace *trace);
const struct trace_host *trace_host(const struct trace *trace, size_t i);

#define TRACE_NO_HOST UINT32_MAX
#define TRACE_ALL_CHANNELS (1u << CH_STATE | 1u << CH_STEPS | 1u << CH_DATA)

#endif
