/* source_ctf.c - scans of an LTTng trace: starts reader processes that decode the lanes into rings of shared memory,
 * and hands each lane to the merge as a stream. Memory: the rings and babeltrace2's buffers, however long the trace is.
 * A reader that crashes or is killed costs its lanes' rest and gives a problem. */
#include "analysis/input/source_ctf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analysis/input/child.h"
#include "analysis/input/ctf_graph.h"
#include "analysis/input/ctf_reader.h"
#include "analysis/input/session_note.h"
#include "analysis/input/unpack.h"

#define RINGS_BYTES (64u << 20) /* together, if that leaves each RING_MIN */
#define RING_MIN (128u << 10)
#define RING_MAX (512u << 10)
#define SMALL_TRACE (4u << 20) /* not worth a second process */

_Static_assert(CTF_EVENT_MAX + 16 <= RING_MIN / RING_RECORD_SHARE, "the largest event must fit the smallest ring");

struct reader {
    pid_t pid;
    struct ring_group *group; /* in the shared memory */
    struct ctf_lane **lanes;
    size_t nr_lanes;
    uint64_t size_bytes;
    bool dead; /* noticed before all its lanes had ended */
    unsigned channels;
};

/* A lane as the merge sees it, during a scan. */
struct lane_stream {
    struct event_stream stream;
    struct source_ctf *source;
    struct ctf_lane *lane;
    struct reader *reader;
    struct unpack unpack;
    bool lent; /* the ring's oldest record is with the merge */
};

/* ---- streams of the merge ------------------------------------------------------------------- */

/* Has the ring's writer gone without ending it? */
static bool is_abandoned(struct reader *reader, struct ring *ring)
{
    if (!child_has_ended(reader->pid) || ring_peek(ring) || ring_ended(ring))
        return false;
    return reader->dead = true;
}

static int lane_next(struct event_stream *stream, const struct event **ret)
{
    struct lane_stream *self = (struct lane_stream *)stream;
    struct ring *ring = &self->lane->box->ring;

    if (unpack_next(&self->unpack, &self->source->base, ret))
        return 1;
    if (self->lent)
        ring_release(ring);
    self->lent = false;
    for (;;) {
        const struct event *event = ring_peek(ring);
        if (event && unpack_first(&self->unpack, &self->source->base, event, ret)) {
            self->lent = true;
            return 1;
        }
        if (event) {
            ring_release(ring);
            continue;
        }
        if (ring_ended(ring))
            return 0;
        if (is_abandoned(self->reader, ring))
            return 0; /* told by collect_reader() */
        ring_wait_record(ring);
    }
}

/* ---- starting a scan ------------------------------------------------------------------------ */

static bool is_wanted(const struct ctf_lane *lane, unsigned channels)
{
    return lane->channel < 0 || channels & 1u << lane->channel;
}

static size_t count_wanted(const struct source_ctf *ctf, unsigned channels, uint64_t *ret_bytes)
{
    size_t nr = 0;

    *ret_bytes = 0;
    for (size_t i = 0; i < ctf->nr_lanes; i++)
        if (is_wanted(&ctf->lanes[i], channels)) {
            nr++;
            *ret_bytes += ctf->lanes[i].size_bytes;
        }
    return nr;
}

static size_t choose_nr_readers(const struct source_ctf *ctf, size_t nr_lanes, uint64_t bytes)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    size_t nr = cores > 0 ? (size_t)cores / ctf->nr_siblings : 1;

    if (bytes < SMALL_TRACE || nr < 1)
        nr = 1;
    return nr < nr_lanes ? nr : nr_lanes;
}

static size_t choose_ring_size(const struct source_ctf *ctf, size_t nr_lanes)
{
    size_t size = RING_MAX;

    while (size > RING_MIN && size * nr_lanes > RINGS_BYTES / ctf->nr_siblings)
        size /= 2;
    return size;
}

/* Groups first, then outboxes, then the rings' memory, each aligned by its type or a page. */
static int map_memory(struct source_ctf *ctf, size_t ring_size)
{
    size_t groups = ctf->nr_readers * sizeof(struct ring_group), boxes = ctf->nr_streams * sizeof(struct ctf_outbox);
    size_t rings_at = (groups + boxes + 4095) & ~4095ull;

    ctf->memory_size = rings_at + ctf->nr_streams * ring_size;
    ctf->memory =
        mmap(NULL, ctf->memory_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (ctf->memory == MAP_FAILED) {
        ctf->memory = NULL;
        return -errno;
    }
    struct ring_group *group = ctf->memory;
    struct ctf_outbox *box = (struct ctf_outbox *)((char *)ctf->memory + groups);
    for (size_t i = 0; i < ctf->nr_readers; i++)
        ctf->readers[i].group = &group[i];
    for (size_t i = 0; i < ctf->nr_streams; i++) {
        ctf->streams[i].lane->box = &box[i];
        ring_init(&box[i].ring, ctf->streams[i].reader->group, (char *)ctf->memory + rings_at + i * ring_size,
                  ring_size);
    }
    return 0;
}

static int compare_sizes(const void *a, const void *b)
{
    const struct lane_stream *x = a, *y = b;

    if (x->lane->size_bytes != y->lane->size_bytes)
        return x->lane->size_bytes < y->lane->size_bytes ? 1 : -1;
    return x->lane < y->lane ? -1 : x->lane > y->lane;
}

/* By channel, so that at equal times what is referred to comes before what refers to it; see merge.h. */
static int compare_channels(const void *a, const void *b)
{
    const struct lane_stream *x = a, *y = b;

    if (x->lane->channel != y->lane->channel)
        return x->lane->channel < y->lane->channel ? -1 : 1;
    return x->lane < y->lane ? -1 : x->lane > y->lane;
}

/* Largest first, each to the reader that has least. */
static int share_out(struct source_ctf *ctf)
{
    qsort(ctf->streams, ctf->nr_streams, sizeof(*ctf->streams), compare_sizes);
    for (size_t i = 0; i < ctf->nr_streams; i++) {
        struct reader *least = &ctf->readers[0];
        for (size_t r = 1; r < ctf->nr_readers; r++)
            if (ctf->readers[r].size_bytes < least->size_bytes ||
                (ctf->readers[r].size_bytes == least->size_bytes && ctf->readers[r].nr_lanes < least->nr_lanes))
                least = &ctf->readers[r];
        if (!least->lanes)
            least->lanes = calloc(ctf->nr_streams, sizeof(*least->lanes));
        if (!least->lanes)
            return -ENOMEM;
        least->lanes[least->nr_lanes++] = ctf->streams[i].lane;
        least->size_bytes += ctf->streams[i].lane->size_bytes;
        ctf->streams[i].reader = least;
    }
    qsort(ctf->streams, ctf->nr_streams, sizeof(*ctf->streams), compare_channels);
    return 0;
}

static void reader_main(void *arg)
{
    struct reader *reader = arg;

    ctf_reader_run(reader->lanes, reader->nr_lanes, reader->group, reader->channels);
}

static int start_readers(struct source_ctf *ctf, unsigned channels)
{
    for (size_t i = 0; i < ctf->nr_readers; i++) {
        struct reader *reader = &ctf->readers[i];
        reader->channels = channels;
        pid_t pid = child_start(reader_main, reader);
        if (pid < 0)
            return pid;
        reader->pid = pid;
    }
    return 0;
}

static int ctf_start(struct source *source, unsigned channels, struct merge *merge)
{
    struct source_ctf *ctf = (struct source_ctf *)source;
    uint64_t bytes;
    int rc;

    ctf->nr_streams = 0;
    ctf->channels = channels;
    size_t nr_lanes = count_wanted(ctf, channels, &bytes);
    if (nr_lanes == 0)
        return 0;
    ctf->nr_readers = choose_nr_readers(ctf, nr_lanes, bytes);
    ctf->streams = calloc(nr_lanes, sizeof(*ctf->streams));
    ctf->readers = calloc(ctf->nr_readers, sizeof(*ctf->readers));
    if (!ctf->streams || !ctf->readers)
        return -ENOMEM;
    for (size_t i = 0; i < ctf->nr_lanes; i++)
        if (is_wanted(&ctf->lanes[i], channels))
            ctf->streams[ctf->nr_streams++] =
                (struct lane_stream){.stream.next = lane_next, .source = ctf, .lane = &ctf->lanes[i]};
    if ((rc = share_out(ctf)) < 0 || (rc = map_memory(ctf, choose_ring_size(ctf, nr_lanes))) < 0 ||
        (rc = start_readers(ctf, channels)) < 0)
        return rc;
    for (size_t i = 0; rc == 0 && i < ctf->nr_streams; i++)
        rc = merge_add(merge, &ctf->streams[i].stream);
    return rc;
}

/* ---- ending a scan -------------------------------------------------------------------------- */

static void collect_lane(struct source_ctf *ctf, const struct ctf_lane *lane)
{
    struct trace_input *input = &ctf->base.input;
    const struct ctf_outbox *box = lane->box;

    input->lost += box->lost_events + box->lost_packets;
    input->unknown += box->unknown;
    if (box->lost_packets)
        notes_add(&ctf->scan_notes, "%s lacks %llu packets of events", lane->name,
                  (unsigned long long)box->lost_packets);
    if (box->problem[0])
        notes_add(&ctf->scan_notes, "%s", box->problem);
}

static void collect_reader(struct source_ctf *ctf, struct reader *reader)
{
    char how[64];

    if (reader->pid <= 0)
        return;
    /* One that is killed here, since the scan was stopped early, is no problem. */
    const char *ended = child_stop(reader->pid, how, sizeof(how));
    if (reader->dead && reader->nr_lanes)
        notes_add(&ctf->scan_notes, "a reader of %zu streams (%s, ...) %s: the rest of them is missing",
                  reader->nr_lanes, reader->lanes[0]->name, ended ? ended : "ended early");
}

static void ctf_stop(struct source *source)
{
    struct source_ctf *ctf = (struct source_ctf *)source;

    for (size_t i = 0; i < ctf->nr_readers && ctf->readers; i++)
        collect_reader(ctf, &ctf->readers[i]);
    for (size_t i = 0; i < ctf->nr_streams && ctf->memory; i++)
        collect_lane(ctf, ctf->streams[i].lane);
    uint64_t lost = session_lost(source->input.path, ctf->channels);
    if (lost > source->input.lost)
        source->input.lost = lost;
    source->input.problem = notes_line(&ctf->notes, &ctf->scan_notes);

    for (size_t i = 0; i < ctf->nr_readers && ctf->readers; i++)
        free(ctf->readers[i].lanes);
    free(ctf->readers);
    free(ctf->streams);
    if (ctf->memory)
        (void)munmap(ctf->memory, ctf->memory_size);
    notes_done(&ctf->scan_notes);
    ctf->readers = NULL;
    ctf->streams = NULL;
    ctf->memory = NULL;
    ctf->nr_readers = ctf->nr_streams = 0;
}

static void lane_done(struct ctf_lane *lane)
{
    for (size_t i = 0; i < lane->nr_parts; i++) {
        free(lane->parts[i].dir);
        free(lane->parts[i].port);
    }
    free(lane->parts);
    free(lane->name);
}

static void ctf_free(struct source *source)
{
    struct source_ctf *ctf = (struct source_ctf *)source;

    for (size_t i = 0; i < ctf->nr_lanes; i++)
        lane_done(&ctf->lanes[i]);
    free(ctf->lanes);
    for (size_t i = 0; i < ctf->nr_repaired; i++)
        ctf_repaired_done(&ctf->repaired[i]);
    free(ctf->repaired);
    notes_done(&ctf->notes);
    free((char *)source->input.path);
    free(source->input.problem);
    free(ctf);
}

const struct source_ops source_ctf_ops = {ctf_start, ctf_stop, ctf_free};
