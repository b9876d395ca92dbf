/* ctf_survey.c - see ctf_survey.h.
 *
 * The child tells the parent by lines on a pipe, of fields separated by tabs; the first says what the line is:
 *   D                                              the next directory is looked at
 *   F hostname boot epoch_ns nr_classes nr_known   facts
 *   S first_ns port name                           a stream
 *   B port cause                                   a stream that cannot be read
 *   P cause                                        the directory cannot be opened
 *   E                                              the directory is done */
#include "analysis/input/ctf_survey.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/input/child.h"
#include "analysis/input/ctf_graph.h"
#include "analysis/input/ctf_metadata.h"

enum { MAX_FIELDS = 6 };

/* ---- the child ------------------------------------------------------------------------------ */

struct task {
    char *const *dirs;
    size_t nr;
    int fd;
    FILE *out;
};

/* A line; what separates lines and fields is taken out of them. */
static void tell(struct task *task, unsigned nr_fields, ...)
{
    va_list fields;

    va_start(fields, nr_fields);
    for (unsigned i = 0; i < nr_fields; i++) {
        if (i > 0)
            fputc('\t', task->out);
        for (const char *c = va_arg(fields, const char *); *c; c++)
            fputc(*c == '\t' || *c == '\n' ? ' ' : *c, task->out);
    }
    va_end(fields);
    fputc('\n', task->out);
    (void)fflush(task->out); /* it may be the last words */
}

static void tell_facts(struct task *task, struct ctf_graph *graph, size_t port)
{
    char epoch[32], classes[32], known[32];
    struct ctf_facts facts;

    ctf_graph_facts(graph, port, &facts);
    (void)snprintf(epoch, sizeof(epoch), "%" PRId64, facts.epoch_ns);
    (void)snprintf(classes, sizeof(classes), "%" PRIu64, facts.nr_classes);
    (void)snprintf(known, sizeof(known), "%" PRIu64, facts.nr_known);
    tell(task, 6, "F", facts.hostname, facts.clock_uuid, epoch, classes, known);
}

/* Returns whether it was there to be asked for facts. */
static bool look_at_stream(struct task *task, struct ctf_graph *graph, size_t port, bool want_facts)
{
    const char *name = ctf_graph_port_name(graph, port);
    enum ctf_what what = ctf_graph_peek(graph, port);
    char *file = NULL, first[32];
    uint64_t first_ns = 0;

    if (what == CTF_STREAM) {
        if (want_facts)
            tell_facts(task, graph, port);
        file = strdup(ctf_graph_stream(graph, port));
        ctf_graph_skip(graph, port);
        what = ctf_graph_peek(graph, port);
        if (what == CTF_EVENT)
            first_ns = ctf_graph_time(graph, port);
    }
    (void)snprintf(first, sizeof(first), "%" PRIu64, first_ns);
    if (file)
        tell(task, 4, "S", first, name, file);
    else if (what == CTF_ERROR)
        tell(task, 3, "B", name, ctf_graph_cause(graph, port));
    free(file);
    return file != NULL;
}

static bool metadata_end_early(const char *dir)
{
    char *path;

    if (asprintf(&path, "%s/metadata", dir) < 0)
        return false;
    bool early = ctf_metadata_ends_early(path);
    free(path);
    return early;
}

static void look_at(struct task *task, const char *dir)
{
    struct ctf_graph *graph;
    char cause[256];
    bool told = false;

    child_got_on();
    tell(task, 1, "D");
    if (metadata_end_early(dir))
        tell(task, 2, "P", "its metadata end within a packet");
    else if (ctf_graph_open(dir, NULL, 0, &graph, cause, sizeof(cause)) < 0)
        tell(task, 2, "P", cause);
    else {
        for (size_t port = 0; port < ctf_graph_nr_ports(graph); port++)
            told |= look_at_stream(task, graph, port, !told);
        ctf_graph_free(graph);
    }
    tell(task, 1, "E");
}

static void child_main(void *arg)
{
    struct task *task = arg;

    task->out = fdopen(task->fd, "w");
    for (size_t i = 0; task->out && i < task->nr; i++)
        look_at(task, task->dirs[i]);
}

/* ---- the parent ----------------------------------------------------------------------------- */

static int keep(char **to, const char *text)
{
    free(*to);
    *to = strdup(text);
    return *to ? 0 : -ENOMEM;
}

static int take_stream(struct ctf_surveyed *ret, char **fields)
{
    struct ctf_stream *streams = realloc(ret->streams, (ret->nr_streams + 1) * sizeof(*streams));

    if (!streams)
        return -ENOMEM;
    ret->streams = streams;
    streams[ret->nr_streams++] =
        (struct ctf_stream){strdup(fields[2]), strdup(fields[3]), strtoull(fields[1], NULL, 10)};
    return streams[ret->nr_streams - 1].port && streams[ret->nr_streams - 1].name ? 0 : -ENOMEM;
}

static int take_bad_stream(struct ctf_surveyed *ret, char **fields)
{
    if (ret->bad_stream)
        return 0;
    return asprintf(&ret->bad_stream, "stream %s cannot be read: %s", fields[1], fields[2]) < 0 ? -ENOMEM : 0;
}

static int take_facts(struct ctf_surveyed *ret, char **fields)
{
    int rc = keep(&ret->hostname, fields[1]);

    if (rc == 0)
        rc = keep(&ret->boot, fields[2]);
    ret->epoch_ns = strtoll(fields[3], NULL, 10);
    ret->nr_classes = strtoull(fields[4], NULL, 10);
    ret->nr_known = strtoull(fields[5], NULL, 10);
    return rc;
}

/* Returns 1 when the directory is done, 0, or -errno. */
static int take_line(char *line, struct ctf_surveyed *ret)
{
    char *fields[MAX_FIELDS] = {0};
    size_t nr = 0;

    while (line && nr < MAX_FIELDS)
        fields[nr++] = strsep(&line, "\t");
    switch (fields[0][0]) {
    case 'F':
        return nr == 6 ? take_facts(ret, fields) : 0;
    case 'S':
        return nr == 4 ? take_stream(ret, fields) : 0;
    case 'B':
        return nr == 3 ? take_bad_stream(ret, fields) : 0;
    case 'P':
        return nr == 2 ? keep(&ret->problem, fields[1]) : 0;
    case 'E':
        return 1;
    default:
        return 0;
    }
}

/* Takes what the child says. *done is how many directories it got through. */
static int listen(FILE *in, struct ctf_surveyed *ret, size_t nr, size_t *done)
{
    char *line = NULL;
    size_t capacity = 0;
    ssize_t len;
    int rc = 0;

    while (rc >= 0 && *done < nr && (len = getline(&line, &capacity, in)) > 0) {
        line[len - 1] = '\0';
        rc = take_line(line, &ret[*done]);
        *done += rc > 0;
    }
    free(line);
    return rc < 0 ? rc : 0;
}

/* One child's work, from the first directory on. */
static int survey_some(char *const *dirs, size_t nr, struct ctf_surveyed *ret, size_t *done, char *how, size_t how_size)
{
    int fds[2];

    if (pipe(fds) < 0)
        return -errno;
    struct task task = {.dirs = dirs, .nr = nr, .fd = fds[1]};
    pid_t pid = child_start(child_main, &task);
    (void)close(fds[1]);
    FILE *in = pid < 0 ? NULL : fdopen(fds[0], "r");
    int rc = pid < 0 ? pid : in ? listen(in, ret, nr, done) : -errno;
    if (in)
        (void)fclose(in);
    else
        (void)close(fds[0]);
    if (pid > 0 && !child_stop(pid, how, how_size))
        (void)snprintf(how, how_size, "ended early");
    return rc;
}

int ctf_survey(char *const *dirs, size_t nr, struct ctf_surveyed *ret)
{
    for (size_t at = 0; at < nr;) {
        char how[64];
        size_t done = 0;
        int rc = survey_some(dirs + at, nr - at, ret + at, &done, how, sizeof(how));
        if (rc < 0)
            return rc;
        at += done;
        if (at == nr)
            break;
        /* The child did not survive this one. */
        free(ret[at].problem);
        if (asprintf(&ret[at].problem, "babeltrace2 failed on it: %s", how) < 0) {
            ret[at].problem = NULL;
            return -ENOMEM;
        }
        at++;
    }
    for (size_t i = 0; i < nr; i++)
        if ((!ret[i].hostname && keep(&ret[i].hostname, "") < 0) || (!ret[i].boot && keep(&ret[i].boot, "") < 0))
            return -ENOMEM;
    return 0;
}

void ctf_surveyed_done(struct ctf_surveyed *surveyed)
{
    for (size_t i = 0; i < surveyed->nr_streams; i++) {
        free(surveyed->streams[i].port);
        free(surveyed->streams[i].name);
    }
    free(surveyed->streams);
    free(surveyed->problem);
    free(surveyed->bad_stream);
    free(surveyed->hostname);
    free(surveyed->boot);
    *surveyed = (struct ctf_surveyed){0};
}
