/* source_fr.c - dumps of PyTorch's flight recorder as a source of events: pickle as the watchdog writes them, or JSON.
 *
 * One file is one rank; which, its name tells (..._rank_7, _dump_7). Files of one directory are one job: the names of
 * their groups mean the same. A dump is small, so it is read whole when it is opened. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/input/fr_dump.h"
#include "analysis/input/source.h"
#include "analysis/input/source_fr.h"
#include "analysis/input/value.h"
#include "analysis/model/arena.h"
#include "traces/schema.h"

#define DUMP_BYTES_MAX (256u << 20)
#define LOOK_BYTES 65536

struct source_fr {
    struct source base;
    struct event_stream stream;
    struct arena arena;
    struct fr_dump dump;
    char *problem; /* owned; of opening, told again by each scan */
    unsigned channels;
    size_t next;
};

static int stream_next(struct event_stream *stream, const struct event **ret)
{
    struct source_fr *fr = (struct source_fr *)((char *)stream - offsetof(struct source_fr, stream));

    while (fr->next < fr->dump.nr_events) {
        const struct event *event = &fr->dump.events[fr->next++];
        if (!(fr->channels & 1u << schema_event(event->kind)->channel))
            continue;
        source_count(&fr->base, event);
        *ret = event;
        return 1;
    }
    return 0;
}

static int start(struct source *source, unsigned channels, struct merge *merge)
{
    struct source_fr *fr = (struct source_fr *)source;

    fr->channels = channels;
    fr->next = 0;
    return merge_add(merge, &fr->stream);
}

static void stop(struct source *source)
{
    struct source_fr *fr = (struct source_fr *)source;

    source->input.unknown = fr->dump.nr_odd;
    if (fr->problem)
        source_problem(source, "%s", fr->problem);
}

static void source_free(struct source *source)
{
    struct source_fr *fr = (struct source_fr *)source;

    arena_done(&fr->arena);
    free(fr->problem);
    free((char *)source->input.path);
    free(source->input.problem);
    free(fr);
}

static const struct source_ops ops = {start, stop, source_free};

/* ---- reading a file ------------------------------------------------------------------------- */

/* At most `max` bytes, from the begin; *ret owned by the caller, with a NUL behind. */
static int read_file(const char *path, size_t max, char **ret, size_t *ret_len)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    ssize_t got = 0;
    int rc = fd < 0 || fstat(fd, &st) < 0 ? -errno : !S_ISREG(st.st_mode) ? -EINVAL : 0;
    size_t room = rc == 0 && (uint64_t)st.st_size < max ? (size_t)st.st_size : max, len = 0;
    char *bytes = rc == 0 ? malloc(room + 1) : NULL;

    if (rc == 0 && !bytes)
        rc = -ENOMEM;
    while (rc == 0 && len < room && (got = read(fd, bytes + len, room - len)) != 0)
        if (got > 0)
            len += (size_t)got;
        else if (errno != EINTR)
            rc = -errno;
    if (fd >= 0)
        close(fd);
    if (rc) {
        free(bytes);
        return rc;
    }
    bytes[len] = '\0';
    *ret = bytes;
    *ret_len = len;
    return 0;
}

static bool is_pickle(const char *bytes, size_t len)
{
    return len > 2 && (uint8_t)bytes[0] == 0x80 && bytes[1] >= 2 && bytes[1] <= 5;
}

/* A JSON dump names its groups and status before its entries, or has few of them. */
static bool is_json_dump(const char *bytes, size_t len)
{
    size_t at = 0;

    while (at < len && isspace((unsigned char)bytes[at]))
        at++;
    return at < len && bytes[at] == '{' && !strstr(bytes, "\"traceEvents\"") && strstr(bytes, "\"version\"") &&
           (strstr(bytes, "\"pg_config\"") || strstr(bytes, "\"pg_status\"") || strstr(bytes, "\"nccl_version\""));
}

bool fr_looks_like_dump(const char *path)
{
    char *bytes;
    size_t len;

    if (read_file(path, LOOK_BYTES, &bytes, &len) < 0)
        return false;
    bool is_dump = is_pickle(bytes, len) || is_json_dump(bytes, len);
    free(bytes);
    return is_dump;
}

/* The number at the end of the file's name, before what may follow a dot; -1 if there is none. */
static int rank_of(const char *path)
{
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path, *end = name + strlen(name), *at;
    const char *dot = strrchr(name, '.');

    if (dot && !isdigit((unsigned char)dot[1]))
        end = dot;
    for (at = end; at > name && isdigit((unsigned char)at[-1]); at--)
        ;
    return at == end || end - at > 7 ? -1 : (int)strtol(at, NULL, 10);
}

/* Reads the dump into the source. -EINVAL with *ret_error. */
static int load(struct source_fr *fr, const char *path, uint32_t host, uint32_t pid, const char *job, char **ret_error)
{
    const struct value *root = NULL;
    char *bytes;
    size_t len;
    int rc = read_file(path, DUMP_BYTES_MAX, &bytes, &len);

    if (rc)
        return rc;
    rc = is_pickle(bytes, len) ? value_from_pickle(&fr->arena, bytes, len, &root, ret_error)
                               : value_from_json(&fr->arena, bytes, len, &root, ret_error);
    free(bytes);
    if (rc == 0 && !fr_dump_is_one(root)) {
        (void)asprintf(ret_error, "no dump of PyTorch's flight recorder: it has no entries and version");
        rc = -EINVAL;
    }
    return rc ? rc : fr_dump_read(root, rank_of(path), host, pid, job, &fr->arena, &fr->dump);
}

/* ---- opening -------------------------------------------------------------------------------- */

/* The directory a file is in: what tells jobs apart. Owned by the caller. */
static char *job_of(const char *path)
{
    char *copy = strdup(path), *real = copy ? realpath(dirname(copy), NULL) : NULL;

    free(copy);
    return real;
}

static size_t count_dumps(const struct sources *sources)
{
    size_t nr = 0;

    for (size_t i = 0; i < sources->nr; i++)
        nr += sources->list[i]->ops == &ops;
    return nr;
}

/* Adds the file; one that cannot be read is an error, or with `anyway` an input with a problem. */
static int open_dump(const char *path, bool anyway, struct hosts *hosts, struct sources *sources, char **ret_error)
{
    struct source_fr *fr = calloc(1, sizeof(*fr));
    char *job = job_of(path), *error = NULL;
    uint32_t host = 0, pid = (uint32_t)count_dumps(sources) + 1;
    int rc = fr && job ? 0 : -ENOMEM;

    if (rc == 0) {
        fr->base.ops = &ops;
        fr->base.input.kind = "flight-recorder";
        fr->base.input.host = TRACE_NO_HOST;
        fr->base.input.path = strdup(path);
        fr->stream.next = stream_next;
        rc = fr->base.input.path ? hosts_add(hosts, strrchr(job, '/') + 1, job, 0, &host) : -ENOMEM;
    }
    if (rc == 0)
        rc = load(fr, path, host, pid, job, &error);
    free(job);
    if (rc == -EINVAL && anyway) {
        fr->problem = error;
        fr->dump = (struct fr_dump){0};
        error = NULL;
        rc = 0;
    }
    if (rc == 0)
        return sources_add(sources, &fr->base);
    if (rc != -ENOMEM)
        (void)asprintf(ret_error, "Cannot read input: path=\"%s\", cause=\"%s\"", path, error ? error : strerror(-rc));
    free(error);
    if (fr)
        source_free(&fr->base);
    return rc;
}

int source_fr_open(const char *path, struct hosts *hosts, struct sources *sources, char **ret_error)
{
    return open_dump(path, false, hosts, sources, ret_error);
}

static int is_shown(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* A dump without calls has no times: it is as old as the others. */
static void settle_times(struct sources *sources, size_t from)
{
    uint64_t first_ns = UINT64_MAX;

    for (size_t i = from; i < sources->nr; i++) {
        const struct source_fr *fr = (const struct source_fr *)sources->list[i];
        if (fr->dump.nr_events && fr->dump.events[0].ts_ns && fr->dump.events[0].ts_ns < first_ns)
            first_ns = fr->dump.events[0].ts_ns;
    }
    for (size_t i = from; i < sources->nr && first_ns != UINT64_MAX; i++) {
        struct source_fr *fr = (struct source_fr *)sources->list[i];
        for (size_t j = 0; j < fr->dump.nr_events; j++)
            if (!fr->dump.events[j].ts_ns)
                fr->dump.events[j].ts_ns = first_ns;
    }
}

int source_fr_open_dir(const char *dir, struct hosts *hosts, struct sources *sources, char **ret_error)
{
    struct dirent **list;
    int nr = scandir(dir, &list, is_shown, versionsort), found = 0, rc = 0;
    size_t from = sources->nr;

    for (int i = 0; i < nr; i++) {
        char *path = NULL;
        if (rc == 0 && asprintf(&path, "%s/%s", dir, list[i]->d_name) < 0)
            rc = -ENOMEM;
        if (rc == 0 && fr_looks_like_dump(path)) {
            rc = open_dump(path, true, hosts, sources, ret_error);
            found++;
        }
        if (path)
            free(path);
        free(list[i]);
    }
    if (nr >= 0)
        free(list);
    settle_times(sources, from);
    return rc ? rc : found ? 0 : -ENOENT;
}
