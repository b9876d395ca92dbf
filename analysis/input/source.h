/* source.h - one input as trace.c sees it: something that can be opened once and streamed several times.
 *
 * A kind of input is a file source_<kind>.c with its open function here and a line in trace.c's open_path(). Sources
 * print nothing; what could not be read is said in input.problem. */
#ifndef TRSHIM_ANALYSIS_SOURCE_H
#define TRSHIM_ANALYSIS_SOURCE_H

#include "analysis/input/hosts.h"
#include "analysis/input/merge.h"
#include "analysis/input/trace.h"

struct source;

struct source_ops {
    /* Begins a scan: adds the source's streams to `merge`. The counters were reset. 0 or -errno. */
    int (*start)(struct source *source, unsigned channels, struct merge *merge);
    /* Ends a scan, also one that was not read to its end or whose start failed. Settles input.lost, .unknown and
     * .problem. The merge no longer asks for events. */
    void (*stop)(struct source *source);
    void (*free)(struct source *source); /* accepts half-built ones */
};

struct source {
    const struct source_ops *ops;
    struct trace_input input; /* path and problem owned by the source */
    uint64_t nr_damaged;      /* batches of this scan that had to be left out; trace.c tells it */
};

/* Owned list of owned sources. */
struct sources {
    struct source **list;
    size_t nr;
};

/* Takes the source, also on failure (-ENOMEM), when it is freed. */
int sources_add(struct sources *sources, struct source *source);
void sources_done(struct sources *sources);

/* Puts the message into the source's problem if it has none yet: the first thing that went wrong is the one to tell. */
void source_problem(struct source *source, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Counts an event that a stream is about to deliver. */
static inline void source_count(struct source *source, const struct event *event)
{
    struct trace_input *input = &source->input;

    if (input->events++ == 0 || event->ts_ns < input->first_ns)
        input->first_ns = event->ts_ns;
    if (event->ts_ns > input->last_ns)
        input->last_ns = event->ts_ns;
}

/* Open what is at `path` and add it as one or several sources. Return 0, or -errno with *ret_error as trace_open. */
int source_text_open(const char *path, struct hosts *hosts, struct sources *sources, char **ret_error);
int source_ctf_open(const char *path, struct hosts *hosts, struct sources *sources, char **ret_error);
int source_kineto_open(const char *path, struct hosts *hosts, struct sources *sources, char **ret_error);

/* The same for all *.pt.trace.json and .json.gz in a directory, as torch.profiler leaves them. -ENOENT without an
 * error if there are none. */
int source_kineto_open_dir(const char *dir, struct hosts *hosts, struct sources *sources, char **ret_error);

#endif
