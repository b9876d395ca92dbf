/* trace.c - opens inputs of all kinds and streams them as one; see trace.h. */
#include "analysis/input/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/input/hosts.h"
#include "analysis/input/kineto_row.h"
#include "analysis/input/merge.h"
#include "analysis/input/nccl_log.h"
#include "analysis/input/source.h"
#include "analysis/input/source_fr.h"
#include "analysis/input/text_form.h"

struct trace {
    struct hosts hosts;
    struct sources sources;
};

static int unreadable(const char *path, int rc, char **ret_error)
{
    (void)asprintf(ret_error, "Cannot read input: path=\"%s\", cause=\"%s\"", path, strerror(-rc));
    return rc;
}

static int open_dir(const char *path, struct trace *trace, char **ret_error)
{
    int rc = source_kineto_open_dir(path, &trace->hosts, &trace->sources, ret_error);

    if (rc == -ENOENT && !*ret_error)
        rc = source_fr_open_dir(path, &trace->hosts, &trace->sources, ret_error);
    return rc == -ENOENT && !*ret_error ? source_ctf_open(path, &trace->hosts, &trace->sources, ret_error) : rc;
}

/* A log in which NCCL wrote. 1 if it is one and was added, 0 if it is not, or -errno. */
static int open_nccl_log(const char *path, bool pipe, struct trace *trace, char **ret_error)
{
    int rc, fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return unreadable(path, -errno, ret_error);
    if (pipe) {
        int copy = nccl_log_spool(fd);
        close(fd);
        if (copy < 0)
            return unreadable(path, copy, ret_error);
        fd = copy;
    }
    if (!nccl_log_is_one(fd)) {
        close(fd);
        return 0;
    }
    rc = source_nccl_log_open(fd, path, &trace->hosts, &trace->sources);
    return rc < 0 ? rc : 1;
}

/* Recognises what is at `path` by looking at it and hands it to its source. */
static int open_path(const char *path, struct trace *trace, char **ret_error)
{
    struct stat st;

    if (strcmp(path, "-") == 0)
        path = "/dev/stdin";
    if (stat(path, &st) < 0)
        return unreadable(path, -errno, ret_error);
    if (S_ISDIR(st.st_mode))
        return open_dir(path, trace, ret_error);
    if (S_ISREG(st.st_mode) && fr_looks_like_dump(path))
        return source_fr_open(path, &trace->hosts, &trace->sources, ret_error);
    if (kineto_looks_like_json(path))
        return source_kineto_open(path, &trace->hosts, &trace->sources, ret_error);
    if (!kineto_begins_with(path, TEXT_HEADER)) {
        int rc = open_nccl_log(path, S_ISFIFO(st.st_mode), trace, ret_error);
        if (rc != 0)
            return rc < 0 ? rc : 0;
    }
    return source_text_open(path, &trace->hosts, &trace->sources, ret_error);
}

int trace_open(char *const *paths, size_t nr_paths, struct trace **ret, char **ret_error)
{
    struct trace *trace = calloc(1, sizeof(*trace));
    int rc = trace ? 0 : -ENOMEM;

    *ret_error = NULL;
    for (size_t i = 0; rc == 0 && i < nr_paths; i++)
        rc = open_path(paths[i], trace, ret_error);
    if (rc == 0) {
        *ret = trace;
        return 0;
    }
    trace_free(trace);
    if (!*ret_error)
        (void)asprintf(ret_error, "Cannot read input: cause=\"%s\"", strerror(-rc));
    return rc;
}

void trace_free(struct trace *trace)
{
    if (!trace)
        return;
    sources_done(&trace->sources);
    hosts_done(&trace->hosts);
    free(trace);
}

static int start(struct trace *trace, unsigned channels, struct merge *merge)
{
    for (size_t i = 0; i < trace->sources.nr; i++) {
        struct source *source = trace->sources.list[i];
        struct trace_input *input = &source->input;

        input->events = input->lost = input->unknown = input->first_ns = input->last_ns = 0;
        free(input->problem);
        input->problem = NULL;
        source->nr_damaged = 0;
        int rc = source->ops->start(source, channels, merge);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int deliver(struct trace *trace, struct merge *merge, trace_event_fn fn, void *arg)
{
    const struct event *event;
    int rc;

    while ((rc = merge_next(merge, &event)) > 0) {
        if (event->kind == EV_proc &&
            (rc = hosts_rename(&trace->hosts, event->host, event->u.proc.host, event->u.proc.boot)) < 0)
            return rc;
        if ((rc = fn(arg, event)) != 0)
            return rc;
    }
    return rc;
}

static void stop(struct source *source)
{
    source->ops->stop(source);
    if (source->nr_damaged)
        source_problem(source, "%s: %" PRIu64 " batches of kernels are damaged and left out", source->input.path,
                       source->nr_damaged);
}

int trace_scan(struct trace *trace, unsigned channels, trace_event_fn fn, void *arg)
{
    struct merge *merge;
    int rc = merge_new(&trace->hosts, &merge);

    if (rc < 0)
        return rc;
    rc = start(trace, channels, merge);
    if (rc == 0)
        rc = deliver(trace, merge, fn, arg);
    merge_free(merge);
    for (size_t i = 0; i < trace->sources.nr; i++)
        stop(trace->sources.list[i]);
    return rc;
}

size_t trace_nr_inputs(const struct trace *trace)
{
    return trace->sources.nr;
}

const struct trace_input *trace_input(const struct trace *trace, size_t i)
{
    return &trace->sources.list[i]->input;
}

size_t trace_nr_hosts(const struct trace *trace)
{
    return trace->hosts.nr;
}

const struct trace_host *trace_host(const struct trace *trace, size_t i)
{
    return &trace->hosts.list[i].shown;
}
