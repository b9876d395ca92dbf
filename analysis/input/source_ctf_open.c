/* source_ctf_open.c - finds the LTTng traces below a path and arranges their streams.
 *
 * Every directory that holds metadata is surveyed in a process of its own; one that babeltrace2 refuses is repaired
 * as far as it goes. Directories of one recording (uids, chunks of a rotation) have the same root and make one
 * source; streams of one CPU and channel in its chunks make one lane. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/input/ctf_find.h"
#include "analysis/input/ctf_survey.h"
#include "analysis/input/nccl_log.h"
#include "analysis/input/session_note.h"
#include "analysis/input/source_ctf.h"
#include "traces/schema.h"

/* What opening one path gathers. */
struct opening {
    const char *path;
    struct hosts *hosts;
    struct source_ctf **list; /* the sources it makes */
    size_t nr;
};

/* ---- names ---------------------------------------------------------------------------------- */

/* Where a trace begins that has this directory: before the parts that LTTng makes. At least `path` long. */
static size_t root_length(const char *dir, const char *path)
{
    static const char *const parts[] = {"/archives/", "/ust/", "/kernel/"};
    size_t least = strlen(path), len = strlen(dir);

    while (least > 1 && path[least - 1] == '/')
        least--;
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
        const char *part = strstr(dir + (least ? least - 1 : 0), parts[i]);
        if (part && (size_t)(part - dir) < len)
            len = part - dir;
    }
    const char *last = strrchr(dir, '/');
    if (last && (strcmp(last, "/ust") == 0 || strcmp(last, "/kernel") == 0) && (size_t)(last - dir) < len)
        len = last - dir;
    return len < least ? least : len;
}

/* The directory below the root, without the chunk it belongs to: the same in all chunks. */
static const char *place_in_chunk(const char *dir, size_t root)
{
    const char *place = dir + root;

    if (strncmp(place, "/archives/", 10) == 0) {
        place += 10;
        while (*place && *place != '/')
            place++;
    }
    return *place == '/' ? place + 1 : place;
}

/* The channel a stream's file is of, and how much of the name is the same for all files of the stream: LTTng calls
 * them <channel>_<cpu> or, when their number is limited, <channel>_<cpu>_<file>. */
static int parse_stream_name(const char *name, size_t *ret_length)
{
    *ret_length = strlen(name);
    for (int channel = 0; channel < CH_MAX; channel++) {
        size_t len = strlen(schema_channel_names[channel]);
        if (strncmp(name, schema_channel_names[channel], len) != 0 || name[len] != '_')
            continue;
        for (len++; isdigit((unsigned char)name[len]); len++)
            ;
        *ret_length = len;
        return channel;
    }
    return -1;
}

/* ---- sources -------------------------------------------------------------------------------- */

static struct source_ctf *find_source(struct opening *opening, const char *dir)
{
    size_t root = root_length(dir, opening->path);

    for (size_t i = 0; i < opening->nr; i++)
        if (strlen(opening->list[i]->base.input.path) == root &&
            strncmp(opening->list[i]->base.input.path, dir, root) == 0)
            return opening->list[i];

    struct source_ctf **list = realloc(opening->list, (opening->nr + 1) * sizeof(*list));
    if (!list)
        return NULL;
    opening->list = list;
    struct source_ctf *source = calloc(1, sizeof(*source));
    if (!source)
        return NULL;
    source->base.ops = &source_ctf_ops;
    source->base.input.kind = "lttng";
    source->base.input.host = TRACE_NO_HOST;
    source->base.input.path = strndup(dir, root);
    list[opening->nr++] = source;
    return source->base.input.path ? source : NULL;
}

/* ---- lanes ---------------------------------------------------------------------------------- */

/* The lane of that name which is not yet in `dir` (two streams of a directory are never one lane), or a new one. */
static struct ctf_lane *find_lane(struct source_ctf *source, const char *name, const char *dir)
{
    for (size_t i = 0; i < source->nr_lanes; i++) {
        struct ctf_lane *lane = &source->lanes[i];
        bool there = false;
        for (size_t p = 0; p < lane->nr_parts; p++)
            there |= strcmp(lane->parts[p].dir, dir) == 0;
        if (!there && strcmp(lane->name, name) == 0)
            return lane;
    }
    struct ctf_lane *lanes = realloc(source->lanes, (source->nr_lanes + 1) * sizeof(*lanes));
    if (!lanes)
        return NULL;
    source->lanes = lanes;
    lanes[source->nr_lanes] = (struct ctf_lane){.name = strdup(name)};
    return lanes[source->nr_lanes].name ? &lanes[source->nr_lanes++] : NULL;
}

static int add_part(struct ctf_lane *lane, const char *dir, const struct ctf_stream *stream, uint64_t first_packet)
{
    struct ctf_part *parts = realloc(lane->parts, (lane->nr_parts + 1) * sizeof(*parts));

    if (!parts)
        return -ENOMEM;
    lane->parts = parts;
    struct ctf_part part = {strdup(dir), strdup(stream->port), stream->first_ns, first_packet};
    size_t at = lane->nr_parts++;
    for (; at > 0 && parts[at - 1].first_ns > part.first_ns; at--)
        parts[at] = parts[at - 1];
    parts[at] = part;
    return part.dir && part.port ? 0 : -ENOMEM;
}

/* The number of the first packet in an LTTng stream file; 0 for others. */
static uint64_t first_packet_of(int dir_fd, const char *name)
{
    /* magic 4, uuid 16, stream 4, instance 8, begin 8, end 8, content 8, size 8, number 8 */
    struct {
        uint32_t magic;
        uint8_t skipped[60];
        uint64_t number;
    } head;
    int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return 0;
    ssize_t got = read(fd, &head, sizeof(head));
    (void)close(fd);
    return got == sizeof(head) && head.magic == 0xc1fc1fc1u ? head.number : 0;
}

/* Looks at the stream's files: those whose name begins with `stem` and goes on with nothing or _<file>. */
static void stream_files(const char *dir, const char *stem, size_t stem_length, uint64_t *ret_bytes,
                         uint64_t *ret_first_packet)
{
    DIR *entries = opendir(dir);
    uint64_t first = UINT64_MAX;

    *ret_bytes = 0;
    for (struct dirent *entry; entries && (entry = readdir(entries));) {
        const char *rest = entry->d_name + stem_length;
        struct stat st;
        if (strncmp(entry->d_name, stem, stem_length) != 0 || (*rest != '\0' && *rest != '_') ||
            fstatat(dirfd(entries), entry->d_name, &st, 0) < 0 || st.st_size == 0)
            continue;
        *ret_bytes += st.st_size;
        uint64_t packet = first_packet_of(dirfd(entries), entry->d_name);
        first = packet < first ? packet : first;
    }
    if (entries)
        (void)closedir(entries);
    *ret_first_packet = first == UINT64_MAX ? 0 : first;
}

/* `dir` is where it is read, `origin` where it lies in the trace; they differ for what was repaired. */
static int add_stream(struct source_ctf *source, const char *dir, const char *origin, uint32_t host,
                      const struct ctf_stream *stream)
{
    const char *place = place_in_chunk(origin, strlen(source->base.input.path));
    const char *stem = *stream->name ? stream->name : stream->port;
    size_t stem_length;
    int channel = parse_stream_name(stem, &stem_length);
    char *name;

    if (asprintf(&name, "%s%s%.*s", place, *place ? "/" : "", (int)stem_length, stem) < 0)
        return -ENOMEM;
    struct ctf_lane *lane = find_lane(source, name, dir);
    free(name);
    if (!lane)
        return -ENOMEM;
    lane->channel = channel;
    lane->host = host;
    uint64_t bytes, first_packet;
    stream_files(dir, stem, stem_length, &bytes, &first_packet);
    lane->size_bytes += bytes;
    return add_part(lane, dir, stream, first_packet);
}

/* ---- directories ---------------------------------------------------------------------------- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && slash[1] ? slash + 1 : path;
}

static int add_dir(struct opening *opening, struct source_ctf *source, const char *dir, const char *origin,
                   const struct ctf_surveyed *surveyed)
{
    const char *name = *surveyed->hostname ? surveyed->hostname : base_name(source->base.input.path);
    uint32_t host;
    int rc;

    if (surveyed->bad_stream)
        notes_add(&source->notes, "%s", surveyed->bad_stream);
    if (surveyed->nr_streams == 0)
        return 0;
    if (surveyed->nr_known == 0)
        notes_add(&source->notes, "it was not recorded by trshim: none of its %llu kinds of events is known",
                  (unsigned long long)surveyed->nr_classes);
    if ((rc = hosts_add(opening->hosts, name, surveyed->boot, surveyed->epoch_ns, &host)) < 0)
        return rc;
    source->base.input.host = source->nr_lanes == 0 || source->base.input.host == host ? host : TRACE_NO_HOST;
    for (size_t i = 0; rc == 0 && i < surveyed->nr_streams; i++)
        rc = add_stream(source, dir, origin, host, &surveyed->streams[i]);
    return rc;
}

static int survey_repaired(struct opening *opening, struct source_ctf *source, const char *origin,
                           const struct ctf_repaired *repaired)
{
    struct ctf_surveyed *surveyed = calloc(repaired->nr + 1, sizeof(*surveyed));
    int rc = surveyed ? ctf_survey(repaired->dirs, repaired->nr, surveyed) : -ENOMEM;

    for (size_t i = 0; surveyed && i < repaired->nr; i++) {
        if (rc == 0 && surveyed[i].problem)
            notes_add(&source->notes, "a stream cannot be read: %s", surveyed[i].problem);
        else if (rc == 0)
            rc = add_dir(opening, source, repaired->dirs[i], origin, &surveyed[i]);
        ctf_surveyed_done(&surveyed[i]);
    }
    free(surveyed);
    return rc;
}

/* What babeltrace2 refused because of `cause`. */
static int add_repaired(struct opening *opening, struct source_ctf *source, const char *origin, const char *cause)
{
    struct ctf_repaired *list = realloc(source->repaired, (source->nr_repaired + 1) * sizeof(*list));

    if (!list)
        return -ENOMEM;
    source->repaired = list;
    struct ctf_repaired *repaired = &list[source->nr_repaired];
    int rc = ctf_repair(origin, repaired);
    if (rc == -ENOMEM)
        return rc;
    if (rc < 0) {
        notes_add(&source->notes, "%s: %s", cause, strerror(-rc));
        return 0;
    }
    source->nr_repaired++;
    if (repaired->note)
        notes_add(&source->notes, "%s (%s)", repaired->note, cause);
    else
        notes_add(&source->notes, "%s; read stream by stream instead", cause);
    return survey_repaired(opening, source, origin, repaired);
}

static int add_found(struct opening *opening, const struct ctf_found *found, const struct ctf_surveyed *surveyed)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < found->nr; i++) {
        struct source_ctf *source = find_source(opening, found->dirs[i]);
        if (!source)
            rc = -ENOMEM;
        else if (surveyed[i].problem)
            rc = add_repaired(opening, source, found->dirs[i], surveyed[i].problem);
        else
            rc = add_dir(opening, source, found->dirs[i], found->dirs[i], &surveyed[i]);
    }
    if (rc == 0 && found->problem)
        notes_add(&opening->list[0]->notes, "%s", found->problem);
    return rc;
}

static int gather(struct opening *opening, const struct ctf_found *found)
{
    struct ctf_surveyed *surveyed = calloc(found->nr, sizeof(*surveyed));
    int rc = surveyed ? ctf_survey(found->dirs, found->nr, surveyed) : -ENOMEM;

    if (rc == 0)
        rc = add_found(opening, found, surveyed);
    for (size_t i = 0; surveyed && i < found->nr; i++)
        ctf_surveyed_done(&surveyed[i]);
    free(surveyed);
    return rc;
}

static void add_session_note(struct source_ctf *source)
{
    char *note = session_note(source->base.input.path);

    if (note)
        notes_add(&source->notes, "%s", note);
    free(note);
}

/* Parts are in order of time by now. */
static void note_dropped(struct source_ctf *source)
{
    for (size_t i = 0; i < source->nr_lanes; i++)
        if (source->lanes[i].nr_parts && source->lanes[i].parts[0].first_packet > 0) {
            notes_add(&source->notes, "the oldest events are not there: they were dropped to keep the size asked for "
                                      "(--max-size), or lie in another directory");
            return;
        }
}

static int add_nccl_logs(const struct opening *opening, const struct source_ctf *source, struct sources *sources)
{
    uint64_t first_ns = UINT64_MAX;

    for (size_t i = 0; i < source->nr_lanes; i++)
        for (size_t p = 0; p < source->lanes[i].nr_parts; p++) {
            uint64_t ns = source->lanes[i].parts[p].first_ns; /* 0: it has none */
            first_ns = ns && ns < first_ns ? ns : first_ns;
        }
    if (first_ns == UINT64_MAX || source->base.input.host == TRACE_NO_HOST)
        return 0;
    return nccl_log_find(source->base.input.path, source->base.input.host, first_ns, opening->hosts, sources);
}

/* Hands the sources over, or frees them. */
static int deliver(struct opening *opening, int rc, struct sources *sources)
{
    for (size_t i = 0; i < opening->nr; i++) {
        struct source_ctf *source = opening->list[i];
        source->nr_siblings = opening->nr;
        add_session_note(source);
        note_dropped(source);
        if (source->nr_lanes == 0 && source->notes.nr == 0)
            notes_add(&source->notes, "it holds no events");
        if (rc == 0) {
            rc = sources_add(sources, &source->base);
            rc = rc ? rc : add_nccl_logs(opening, source, sources);
        } else {
            source_ctf_ops.free(&source->base);
        }
    }
    free(opening->list);
    return rc;
}

static int no_trace(const char *path, const struct ctf_found *found, char **ret_error)
{
    if (found->problem)
        (void)asprintf(ret_error, "Cannot read trace: path=\"%s\", cause=\"%s\"", path, found->problem);
    else if (session_took_no_snapshot(path))
        (void)asprintf(
            ret_error,
            "Cannot read trace: path=\"%s\", cause=\"a flight recorder's, of which no snapshot was taken: the job "
            "ended well; 'trshim snapshot -o DIR' takes one while it runs\"",
            path);
    else
        (void)asprintf(ret_error,
                       "Cannot read trace: path=\"%s\", cause=\"no LTTng trace in it (no file 'metadata'); give the "
                       "directory that 'trshim record -o' made\"",
                       path);
    return -ENOENT;
}

int source_ctf_open(const char *path, struct hosts *hosts, struct sources *sources, char **ret_error)
{
    struct opening opening = {.path = path, .hosts = hosts};
    struct ctf_found found;
    int rc = ctf_find(path, &found);

    if (rc < 0)
        return rc;
    if (found.nr == 0)
        rc = no_trace(path, &found, ret_error);
    else
        rc = deliver(&opening, gather(&opening, &found), sources);
    ctf_found_done(&found);
    return rc;
}
