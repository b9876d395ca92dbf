/* source_text.c - an events text file (text_form.h) as a source of events.
 *
 * The file is mapped, so it must not shrink while it is read; a pipe is read into memory. Opening it surveys the
 * times only: a file in order (all that `trshim events` prints) is then streamed, in constant memory; one that is not
 * (written by hand) is sorted, stably, by an index of 16 bytes a line. Lines that cannot be parsed are left out,
 * and the first one and their number are the input's problem. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/input/source.h"
#include "analysis/input/text_form.h"
#include "analysis/input/unpack.h"
#include "traces/schema.h"

struct line_place {
    int64_t axis_ns;
    size_t offset;
};

/* The word by which lines call a host, and which host that is. */
struct label {
    char *word; /* owned, without quotes */
    uint32_t host;
};

struct source_text {
    struct source base;
    struct event_stream stream;
    struct hosts *hosts; /* borrowed */

    const char *data; /* the whole file */
    size_t size;
    bool mapped; /* else malloc'ed */

    struct label *labels;
    size_t nr_labels, last_label; /* last_label: tried first */

    struct line_place *index; /* NULL while the file is in order */
    size_t nr_index;

    uint64_t lost, unknown; /* said by the file itself */
    char *problem;          /* said by the file itself */
    size_t first_bad;       /* offset of the first line that is wrong among those that are not events */
    uint64_t nr_bad;        /* and how many there are */
    struct text_error bad;

    /* The scan. */
    unsigned channels;
    size_t position; /* offset, or place in the index */
    char *line;      /* the line being parsed */
    size_t line_capacity;
    struct text_line parsed;
    struct unpack unpack;
    size_t scan_first_bad;
    uint64_t scan_nr_bad, scan_unknown;
    struct text_error scan_bad;
};

/* ---- lines ---------------------------------------------------------------------------------- */

static size_t line_length(const struct source_text *text, size_t offset)
{
    const char *newline = memchr(text->data + offset, '\n', text->size - offset);

    return newline ? (size_t)(newline - text->data) - offset : text->size - offset;
}

static uint64_t line_number(const struct source_text *text, size_t offset)
{
    uint64_t number = 1;

    for (size_t at = 0; at < offset; at++)
        number += text->data[at] == '\n';
    return number;
}

/* Copies a line to text->line, where it may be cut up. A NUL byte in it would end it early; it becomes '?'. */
static int copy_line(struct source_text *text, size_t offset, size_t len)
{
    if (len + 1 > text->line_capacity) {
        char *line = realloc(text->line, 2 * (len + 1));
        if (!line)
            return -ENOMEM;
        text->line = line;
        text->line_capacity = 2 * (len + 1);
    }
    memcpy(text->line, text->data + offset, len);
    text->line[len] = '\0';
    for (char *nul = text->line; (nul = memchr(nul, '\0', text->line + len - nul)); nul++)
        *nul = '?';
    return 0;
}

/* ---- hosts ---------------------------------------------------------------------------------- */

static int label_find(struct source_text *text, const char *word, size_t len)
{
    for (size_t i = 0, at = text->last_label; i < text->nr_labels; i++, at++) {
        at = at < text->nr_labels ? at : 0;
        if (strlen(text->labels[at].word) == len && memcmp(text->labels[at].word, word, len) == 0) {
            text->last_label = at;
            return at;
        }
    }
    return -1;
}

static int label_add(struct source_text *text, const char *word, uint32_t host)
{
    struct label *labels = realloc(text->labels, (text->nr_labels + 1) * sizeof(*labels));

    if (!labels)
        return -ENOMEM;
    text->labels = labels;
    labels[text->nr_labels].word = strdup(word);
    if (!labels[text->nr_labels].word)
        return -ENOMEM;
    labels[text->nr_labels].host = host;
    return text->nr_labels++;
}

/* The label of a host that may be met for the first time. Index or -errno. */
static int label_of(struct source_text *text, const char *word)
{
    int label = label_find(text, word, strlen(word));
    uint32_t host;

    if (label >= 0)
        return label;
    int rc = hosts_add(text->hosts, word, "", 0, &host);
    return rc < 0 ? rc : label_add(text, word, host);
}

/* ---- opening -------------------------------------------------------------------------------- */

static void note_bad(size_t *first, uint64_t *nr, struct text_error *kept, size_t offset,
                     const struct text_error *error)
{
    if ((*nr)++ > 0 && *first < offset)
        return;
    *first = offset;
    *kept = *error;
}

static int keep_host(struct source_text *text, const struct text_line *line)
{
    uint32_t host;
    int rc = hosts_add(text->hosts, line->name, line->boot, line->epoch_ns, &host);

    if (rc < 0)
        return rc;
    int label = label_find(text, line->host, strlen(line->host));
    if (label >= 0) {
        text->labels[label].host = host;
        return 0;
    }
    label = label_add(text, line->host, host);
    return label < 0 ? label : 0;
}

/* A line that is no event, as far as text_parse_time can tell. */
static int survey_other(struct source_text *text, size_t offset, size_t len)
{
    struct text_line line;
    struct text_error error;
    int rc = copy_line(text, offset, len);

    if (rc < 0)
        return rc;
    if (text_parse(text->line, &line, &error) < 0) {
        note_bad(&text->first_bad, &text->nr_bad, &text->bad, offset, &error);
        return 0;
    }
    switch (line.what) {
    case TEXT_HOST:
        return keep_host(text, &line);
    case TEXT_LOST:
        text->lost += line.count;
        return 0;
    case TEXT_UNKNOWN:
        text->unknown += line.count;
        return 0;
    case TEXT_PROBLEM:
        if (!text->problem)
            text->problem = strdup(line.problem);
        return 0;
    default:
        return 0;
    }
}

/* The host of an event's line, from its second word as written. Index of its label or -errno. */
static int survey_host(struct source_text *text, const char *word, size_t len)
{
    int label = *word == '"' ? -1 : label_find(text, word, len);

    if (label >= 0)
        return label;
    if (*word == '"') {
        /* Rare: let the parser take the quotes off, on a line made of nothing else. */
        struct text_line line;
        struct text_error error;
        char *copy = NULL;
        if (asprintf(&copy, "lost %.*s 0", (int)len, word) < 0)
            return -ENOMEM;
        label = text_parse(copy, &line, &error) < 0 ? label_of(text, "?") : label_of(text, line.host);
        free(copy);
        return label;
    }
    char *copy = strndup(word, len);
    if (!copy)
        return -ENOMEM;
    label = label_of(text, copy);
    free(copy);
    return label;
}

/* Where an event's line belongs. Returns 1; 0 if the line is not an event; or -errno. */
static int survey_event(struct source_text *text, size_t offset, size_t len, struct line_place *ret)
{
    const char *host;
    size_t host_len;
    uint64_t ts_ns;

    if (!text_parse_time(text->data + offset, len, &ts_ns, &host, &host_len))
        return 0;
    int label = survey_host(text, host, host_len);
    if (label < 0)
        return label;
    *ret = (struct line_place){hosts_axis_ns(text->hosts, text->labels[label].host, ts_ns), offset};
    return 1;
}

/* Reads all but the events' fields. Finds the hosts, what the file says of itself, and whether it is in order. */
static int survey(struct source_text *text, size_t *ret_nr_events, bool *ret_ordered)
{
    struct line_place place, last = {INT64_MIN, 0};

    *ret_nr_events = 0;
    *ret_ordered = true;
    for (size_t offset = 0, len; offset < text->size; offset += len + 1) {
        len = line_length(text, offset);
        int rc = survey_event(text, offset, len, &place);
        if (rc == 0)
            rc = survey_other(text, offset, len);
        else if (rc > 0) {
            (*ret_nr_events)++;
            *ret_ordered &= place.axis_ns >= last.axis_ns;
            last = place;
        }
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int compare_places(const void *a, const void *b)
{
    const struct line_place *x = a, *y = b;

    if (x->axis_ns != y->axis_ns)
        return x->axis_ns < y->axis_ns ? -1 : 1;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* The survey has found the hosts, so times can be compared now even if a host's line came late. */
static int build_index(struct source_text *text, size_t nr_events)
{
    text->index = malloc((nr_events ? nr_events : 1) * sizeof(*text->index));
    if (!text->index)
        return -ENOMEM;
    for (size_t offset = 0, len; offset < text->size; offset += len + 1) {
        len = line_length(text, offset);
        int rc = survey_event(text, offset, len, &text->index[text->nr_index]);
        if (rc < 0)
            return rc;
        text->nr_index += rc;
    }
    qsort(text->index, text->nr_index, sizeof(*text->index), compare_places);
    return 0;
}

static int read_pipe(int fd, struct source_text *text)
{
    size_t capacity = 1 << 16, len = 0;
    char *data = malloc(capacity);
    ssize_t got;

    if (!data)
        return -ENOMEM;
    while ((got = read(fd, data + len, capacity - len)) != 0) {
        if (got < 0 && errno == EINTR)
            continue;
        char *grown = got > 0 && (len += got) == capacity ? realloc(data, capacity *= 2) : data;
        if (got < 0 || !grown) {
            int rc = got < 0 ? -errno : -ENOMEM;
            free(data);
            return rc;
        }
        data = grown;
    }
    text->data = data;
    text->size = len;
    return 0;
}

static int load(const char *path, struct source_text *text)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC), rc = 0;

    if (fd < 0)
        return -errno;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
        void *map = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (map == MAP_FAILED)
            rc = -errno;
        else {
            (void)madvise(map, st.st_size, MADV_SEQUENTIAL);
            text->data = map;
            text->size = st.st_size;
            text->mapped = true;
        }
    } else
        rc = read_pipe(fd, text);
    (void)close(fd);
    return rc;
}

/* ---- the scan ------------------------------------------------------------------------------- */

/* The next event's line: copied to text->line. Returns 1 with its offset, 0 at the end, or -errno. */
static int next_line(struct source_text *text, size_t *ret_offset)
{
    if (text->index) {
        if (text->position == text->nr_index)
            return 0;
        *ret_offset = text->index[text->position++].offset;
        int rc = copy_line(text, *ret_offset, line_length(text, *ret_offset));
        return rc < 0 ? rc : 1;
    }
    while (text->position < text->size) {
        size_t offset = text->position, len = line_length(text, offset);
        struct line_place place;
        text->position = offset + len + 1;
        int rc = survey_event(text, offset, len, &place);
        if (rc == 0)
            continue;
        if (rc > 0 && (rc = copy_line(text, offset, len)) == 0) {
            *ret_offset = offset;
            return 1;
        }
        return rc;
    }
    return 0;
}

static int text_next(struct event_stream *stream, const struct event **ret)
{
    struct source_text *text = (struct source_text *)((char *)stream - offsetof(struct source_text, stream));
    struct text_error error;
    size_t offset = 0;
    int rc;

    if (unpack_next(&text->unpack, &text->base, ret))
        return 1;
    while ((rc = next_line(text, &offset)) > 0) {
        rc = text_parse(text->line, &text->parsed, &error);
        if (rc < 0) {
            text->scan_unknown += rc == -ENOENT;
            note_bad(&text->scan_first_bad, &text->scan_nr_bad, &text->scan_bad, offset, &error);
            continue;
        }
        struct event *event = &text->parsed.event;
        if (!(text->channels & 1u << schema_event(event->kind)->channel))
            continue;
        int label = label_of(text, text->parsed.host);
        if (label < 0)
            return label;
        event->host = text->labels[label].host;
        if (unpack_first(&text->unpack, &text->base, event, ret))
            return 1;
    }
    return rc;
}

static int text_start(struct source *source, unsigned channels, struct merge *merge)
{
    struct source_text *text = (struct source_text *)source;

    text->channels = channels;
    text->position = 0;
    text->unpack = (struct unpack){0};
    text->scan_nr_bad = text->scan_unknown = 0;
    text->stream.next = text_next;
    return merge_add(merge, &text->stream);
}

static void text_stop(struct source *source)
{
    struct source_text *text = (struct source_text *)source;
    uint64_t nr_bad = text->nr_bad + text->scan_nr_bad;

    source->input.lost = text->lost;
    source->input.unknown = text->unknown + text->scan_unknown;
    if (text->problem)
        source_problem(source, "%s", text->problem);
    if (nr_bad == 0)
        return;
    bool other = text->nr_bad && (!text->scan_nr_bad || text->first_bad < text->scan_first_bad);
    const struct text_error *bad = other ? &text->bad : &text->scan_bad;
    source_problem(source, "Line %" PRIu64 ", column %zu: %s; %" PRIu64 " line%s left out",
                   line_number(text, other ? text->first_bad : text->scan_first_bad), bad->column, bad->message, nr_bad,
                   nr_bad == 1 ? " is" : "s are");
}

static void text_free(struct source *source)
{
    struct source_text *text = (struct source_text *)source;

    for (size_t i = 0; i < text->nr_labels; i++)
        free(text->labels[i].word);
    free(text->labels);
    free(text->index);
    free(text->line);
    free(text->problem);
    if (text->mapped)
        (void)munmap((void *)text->data, text->size);
    else
        free((void *)text->data);
    free((char *)source->input.path);
    free(source->input.problem);
    free(text);
}

static const struct source_ops text_ops = {text_start, text_stop, text_free};

/* The file's first line. Returns 0 if this program can read the rest. */
static int check_header(const struct source_text *text)
{
    unsigned version = 0;
    char first[64] = "";

    memcpy(first, text->data, text->size < sizeof(first) - 1 ? text->size : sizeof(first) - 1);
    if (sscanf(first, TEXT_HEADER " %u", &version) != 1)
        return -EINVAL;
    return version == TEXT_VERSION ? 0 : -EPROTONOSUPPORT;
}

static int open_text(const char *path, struct source_text *text)
{
    size_t nr_events;
    bool ordered;
    int rc = load(path, text);

    if (rc < 0 || (rc = check_header(text)) < 0 || (rc = survey(text, &nr_events, &ordered)) < 0 || ordered)
        return rc;
    return build_index(text, nr_events);
}

int source_text_open(const char *path, struct hosts *hosts, struct sources *sources, char **ret_error)
{
    struct source_text *text = calloc(1, sizeof(*text));

    if (!text)
        return -ENOMEM;
    text->base.ops = &text_ops;
    text->base.input.path = strdup(path);
    text->base.input.kind = "events";
    text->base.input.host = TRACE_NO_HOST;
    text->hosts = hosts;

    int rc = text->base.input.path ? open_text(path, text) : -ENOMEM;
    if (rc == 0) {
        if (text->nr_labels == 1)
            text->base.input.host = text->labels[0].host;
        return sources_add(sources, &text->base);
    }
    text_free(&text->base);
    if (rc == -EINVAL)
        (void)asprintf(ret_error,
                       "Cannot read input: path=\"%s\", cause=\"neither a trace directory nor an events text (whose "
                       "first line is '%s %d')\"",
                       path, TEXT_HEADER, TEXT_VERSION);
    else if (rc == -EPROTONOSUPPORT)
        (void)asprintf(ret_error, "Cannot read events: path=\"%s\", cause=\"written by a newer trshim; use that one\"",
                       path);
    else
        (void)asprintf(ret_error, "Cannot read events: path=\"%s\", cause=\"%s\"", path, strerror(-rc));
    return rc;
}
