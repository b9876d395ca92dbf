/* source_nccl_log.c - what NCCL logs (NCCL_DEBUG=INFO) as a source of events.
 *
 * A log has no clock: an event's time is the number of its line, in ns, after the beginning of the trace it belongs to
 * (0 for a log alone). It is streamed anew by each scan, in constant
 * memory but for the processes in it; a pipe is copied to an unnamed temporary file first. Lines of the job's own are
 * passed over. Hosts are those the lines name, and are numbered as they come. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/input/nccl_line.h"
#include "analysis/input/nccl_log.h"
#include "analysis/input/source.h"
#include "analysis/model/map.h"
#include "traces/schema.h"

#define LOOK_LINES 20000 /* a job may print a lot before it makes its first communicator */
#define LINE_MAX_BYTES (1u << 20)
#define PIECE 65536

struct writer {
    struct writer *next;
    uint32_t host, pid;
    char *name; /* owned; of the host */
};

struct source_nccl {
    struct source base;
    struct event_stream stream;
    struct hosts *hosts; /* borrowed */
    int fd;
    uint32_t trace_host; /* of the trace it belongs to, which knows its processes; TRACE_NO_HOST: a log alone */
    uint64_t first_ns;

    /* The scan. */
    FILE *file;
    unsigned channels;
    char *line;
    size_t capacity;
    uint64_t nr_lines, nr_long;
    struct nccl_line rest;
    bool in_line;
    struct map by_who;
    struct writer *writers, *last; /* owned */
    struct event told, held;       /* held: waits until the process it comes from has been told */
    bool holds;
};

static void forget_writers(struct source_nccl *log)
{
    while (log->writers) {
        struct writer *next = log->writers->next;
        free(log->writers->name);
        free(log->writers);
        log->writers = next;
    }
    map_done(&log->by_who);
    log->by_who = (struct map){0};
    log->last = NULL;
}

static int add_writer(struct source_nccl *log, const char *host, uint32_t pid, struct map_key key, struct writer **ret)
{
    struct writer *writer = calloc(1, sizeof(*writer));
    int rc = writer ? 0 : -ENOMEM;

    if (rc == 0 && log->trace_host == TRACE_NO_HOST)
        rc = hosts_add(log->hosts, host, "", 0, &writer->host);
    else if (rc == 0)
        writer->host = log->trace_host;

    if (rc == 0 && !(writer->name = strdup(host)))
        rc = -ENOMEM;
    rc = rc ? rc : map_put(&log->by_who, key, writer);
    if (rc) {
        if (writer)
            free(writer->name);
        free(writer);
        return rc;
    }
    writer->pid = pid;
    writer->next = log->writers;
    log->writers = writer;
    *ret = writer;
    return 0;
}

/* Sets log->told to the message, or to who it is from, when that is new. 1, 0 if nobody can be told to have written
 * it, or -errno. */
static int tell(struct source_nccl *log, struct nccl_message *message)
{
    struct event *event = &message->event;
    struct writer *writer = message->anonymous ? log->last : NULL;
    bool is_new = false;

    event->ts_ns = log->first_ns + log->nr_lines;
    if (message->host) {
        struct map_key key = map_hash(message->host, event->u.who.pid);
        writer = map_find(&log->by_who, key);
        is_new = !writer && log->trace_host == TRACE_NO_HOST;
        int rc = writer ? 0 : add_writer(log, message->host, event->u.who.pid, key, &writer);
        if (rc < 0)
            return rc;
        log->last = writer;
    }
    if (!writer)
        return 0;
    if (!message->host)
        event->u.who.pid = event->u.who.tid = writer->pid;
    event->host = writer->host;
    log->told = *event;
    if (is_new) {
        log->held = *event;
        log->holds = true;
        log->told = (struct event){.ts_ns = event->ts_ns, .host = writer->host, .kind = EV_proc};
        log->told.u.proc = (struct tr_proc){.pid = writer->pid,
                                            .tid = writer->pid,
                                            .how = TR_proc_how_log,
                                            .schema = TR_SCHEMA,
                                            .rank = -1,
                                            .world = -1,
                                            .local_rank = -1,
                                            .host = writer->name,
                                            .boot = "",
                                            .comm = "",
                                            .cmd = ""};
    }
    return 1;
}

/* The next line, ended by NUL, of at most LINE_MAX_BYTES. 1, 0 at the end. A NUL byte in it becomes '?'. */
static int read_line(struct source_nccl *log)
{
    ssize_t len = getline(&log->line, &log->capacity, log->file);

    if (len < 0)
        return ferror(log->file) ? -EIO : 0;
    log->nr_lines++;
    for (char *nul = log->line; (nul = memchr(nul, '\0', log->line + len - nul)); nul++)
        *nul = '?';
    if ((size_t)len > LINE_MAX_BYTES)
        log->line[LINE_MAX_BYTES] = '\0';
    nccl_line_begin(&log->rest, log->line);
    log->in_line = strstr(log->line, "NCCL ") != NULL;
    return 1;
}

/* When a communicator went is not known in a trace's time; it must not go before it is used. */
static bool is_out_of_order(const struct source_nccl *log, const struct event *event)
{
    return log->trace_host != TRACE_NO_HOST && event->kind == EV_nccl_comm &&
           event->u.nccl_comm.state == TR_nccl_state_gone;
}

static bool wanted(const struct source_nccl *log, const struct event *event)
{
    return !is_out_of_order(log, event) && log->channels & 1u << schema_event(event->kind)->channel;
}

static int next_event(struct source_nccl *log)
{
    struct nccl_message message;

    if (log->holds) {
        log->holds = false;
        log->told = log->held;
        return 1;
    }
    for (;;) {
        int rc = 1;
        while (log->in_line) {
            log->in_line = nccl_line_next(&log->rest, &message);
            if (log->in_line && (rc = tell(log, &message)) != 0)
                return rc;
        }
        if ((rc = read_line(log)) <= 0)
            return rc;
    }
}

static int stream_next(struct event_stream *stream, const struct event **ret)
{
    struct source_nccl *log = (struct source_nccl *)((char *)stream - offsetof(struct source_nccl, stream));
    int rc;

    while ((rc = next_event(log)) > 0)
        if (wanted(log, &log->told)) {
            source_count(&log->base, &log->told);
            *ret = &log->told;
            return 1;
        }
    if (rc == -EIO) {
        source_problem(&log->base, "reading stopped after line %" PRIu64, log->nr_lines);
        rc = 0;
    }
    return rc;
}

static int start(struct source *source, unsigned channels, struct merge *merge)
{
    struct source_nccl *log = (struct source_nccl *)source;
    int fd = dup(log->fd);

    log->file = fd < 0 || lseek(fd, 0, SEEK_SET) < 0 ? NULL : fdopen(fd, "r");
    if (!log->file) {
        int rc = -errno;
        if (fd >= 0)
            close(fd);
        return rc;
    }
    log->channels = channels;
    log->nr_lines = 0;
    log->in_line = log->holds = false;
    return merge_add(merge, &log->stream);
}

static void stop(struct source *source)
{
    struct source_nccl *log = (struct source_nccl *)source;

    if (log->file)
        (void)fclose(log->file);
    log->file = NULL;
    forget_writers(log);
}

static void source_free(struct source *source)
{
    struct source_nccl *log = (struct source_nccl *)source;

    if (log->fd >= 0)
        close(log->fd);
    forget_writers(log);
    free(log->line);
    free((char *)log->base.input.path);
    free(log->base.input.problem);
    free(log);
}

static const struct source_ops ops = {start, stop, source_free};

/* ---- opening -------------------------------------------------------------------------------- */

bool nccl_log_is_one(int fd)
{
    int copy = dup(fd);
    FILE *file = copy < 0 || lseek(copy, 0, SEEK_SET) < 0 ? NULL : fdopen(copy, "r");
    char *line = NULL;
    size_t capacity = 0;
    bool is_one = false;

    if (!file && copy >= 0)
        close(copy);
    for (int i = 0; file && !is_one && i < LOOK_LINES; i++) {
        ssize_t len = getline(&line, &capacity, file);
        if (len < 0 || (i == 0 && strncmp(line, "#! trshim-events", 16) == 0))
            break;
        is_one = nccl_line_is_nccl(line);
    }
    free(line);
    if (file)
        (void)fclose(file);
    return is_one;
}

int nccl_log_spool(int from)
{
    FILE *file = tmpfile();
    char piece[PIECE];
    ssize_t len = 0;
    int rc = file ? 0 : -errno;

    while (rc == 0 && (len = read(from, piece, sizeof(piece))) != 0)
        if ((len < 0 && errno != EINTR) || (len > 0 && fwrite(piece, 1, len, file) != (size_t)len))
            rc = -errno;
    if (rc == 0 && fflush(file))
        rc = -errno;
    if (rc == 0 && (rc = dup(fileno(file))) < 0)
        rc = -errno;
    if (file)
        (void)fclose(file);
    return rc;
}

int source_nccl_log_add(int fd, const char *path, uint32_t trace_host, uint64_t first_ns, struct hosts *hosts,
                        struct sources *sources)
{
    struct source_nccl *log = calloc(1, sizeof(*log));

    if (!log) {
        close(fd);
        return -ENOMEM;
    }
    log->base.ops = &ops;
    log->base.input.kind = "nccl-log";
    log->base.input.host = trace_host;
    log->base.input.path = strdup(path);
    log->stream.next = stream_next;
    log->hosts = hosts;
    log->fd = fd;
    log->trace_host = trace_host;
    log->first_ns = first_ns;
    if (!log->base.input.path) {
        source_free(&log->base);
        return -ENOMEM;
    }
    return sources_add(sources, &log->base);
}

int source_nccl_log_open(int fd, const char *path, struct hosts *hosts, struct sources *sources)
{
    return source_nccl_log_add(fd, path, TRACE_NO_HOST, 0, hosts, sources);
}
