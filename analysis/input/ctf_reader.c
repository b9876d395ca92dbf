/* ctf_reader.c - see ctf_reader.h. */
#include "analysis/input/ctf_reader.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/input/child.h"
#include "analysis/input/ctf_graph.h"
#include "traces/schema.h"

enum {
    BURST = 64,   /* messages of a lane between two looks at the others */
    BURSTS = 256, /* bursts between two signs of life */
};

/* A trace directory that is open, with the ports of all lanes of this reader that go through it. */
struct open_dir {
    const char *dir;
    struct ctf_graph *graph; /* NULL: cannot be opened */
    const char **ports;      /* their place is their number in the graph */
    size_t nr_ports, nr_users;
    char cause[CTF_PROBLEM_MAX / 2];
    struct open_dir *next;
};

struct cursor {
    struct ctf_lane *lane;
    size_t part;
    struct open_dir *dir; /* of that part; NULL before it is entered */
    size_t port;
    bool blocked, done;
};

struct reader {
    struct cursor *cursors;
    struct ring **rings; /* of the lanes that are not done, else NULL */
    size_t nr;
    struct ring_group *group;
    unsigned channels;
    struct open_dir *dirs;
};

static void problem(struct ctf_lane *lane, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void problem(struct ctf_lane *lane, const char *format, ...)
{
    va_list args;

    if (lane->box->problem[0])
        return;
    va_start(args, format);
    (void)vsnprintf(lane->box->problem, sizeof(lane->box->problem), format, args);
    va_end(args);
}

/* ---- directories ---------------------------------------------------------------------------- */

/* Returns how many there are; puts them into dir->ports if that is there. */
static size_t list_ports(struct reader *reader, struct open_dir *dir)
{
    size_t nr = 0;

    for (size_t i = 0; i < reader->nr; i++) {
        const struct ctf_lane *lane = reader->cursors[i].lane;
        for (size_t p = 0; p < lane->nr_parts; p++) {
            if (strcmp(lane->parts[p].dir, dir->dir) != 0)
                continue;
            if (dir->ports)
                dir->ports[nr] = lane->parts[p].port;
            nr++;
        }
    }
    return nr;
}

static struct open_dir *open_dir(struct reader *reader, const char *path)
{
    struct open_dir *dir = calloc(1, sizeof(*dir));

    if (!dir)
        return NULL;
    dir->dir = path;
    dir->nr_ports = list_ports(reader, dir);
    dir->ports = calloc(dir->nr_ports, sizeof(*dir->ports));
    if (!dir->ports) {
        free(dir);
        return NULL;
    }
    dir->nr_users = list_ports(reader, dir);
    if (ctf_graph_open(path, dir->ports, dir->nr_ports, &dir->graph, dir->cause, sizeof(dir->cause)) < 0)
        dir->graph = NULL;
    dir->next = reader->dirs;
    reader->dirs = dir;
    return dir;
}

/* Each port is left once; with the last the directory is closed, so that few chunks are open at a time. */
static void leave_dir(struct reader *reader, struct open_dir *dir)
{
    if (--dir->nr_users > 0)
        return;
    struct open_dir **link = &reader->dirs;
    while (*link != dir)
        link = &(*link)->next;
    *link = dir->next;
    ctf_graph_free(dir->graph);
    free(dir->ports);
    free(dir);
}

/* ---- lanes ---------------------------------------------------------------------------------- */

static void end_lane(struct reader *reader, struct cursor *cursor)
{
    cursor->done = true;
    reader->rings[cursor - reader->cursors] = NULL;
    ring_end(&cursor->lane->box->ring);
}

static void next_part(struct reader *reader, struct cursor *cursor)
{
    if (cursor->dir)
        leave_dir(reader, cursor->dir);
    cursor->dir = NULL;
    if (++cursor->part == cursor->lane->nr_parts)
        end_lane(reader, cursor);
}

/* Makes cursor->dir and ->port those of its part. Returns false if the part had to be skipped. */
static bool enter_part(struct reader *reader, struct cursor *cursor)
{
    const struct ctf_part *part = &cursor->lane->parts[cursor->part];

    for (cursor->dir = reader->dirs; cursor->dir; cursor->dir = cursor->dir->next)
        if (strcmp(cursor->dir->dir, part->dir) == 0)
            break;
    if (!cursor->dir)
        cursor->dir = open_dir(reader, part->dir);
    if (!cursor->dir || !cursor->dir->graph) {
        problem(cursor->lane, "%s cannot be opened: %s", cursor->lane->name,
                cursor->dir ? cursor->dir->cause : "out of memory");
        next_part(reader, cursor);
        return false;
    }
    cursor->port = 0;
    while (strcmp(cursor->dir->ports[cursor->port], part->port) != 0)
        cursor->port++;
    return true;
}

/* Puts the lane's current event into its ring. Returns false if there is no room. */
static bool pass_on(struct reader *reader, struct cursor *cursor)
{
    struct ctf_graph *graph = cursor->dir->graph;
    struct ring *ring = &cursor->lane->box->ring;

    if (!(reader->channels & 1u << schema_event(ctf_graph_kind(graph, cursor->port))->channel))
        return true;
    struct event *event = ring_reserve(ring, ctf_graph_event_size(graph, cursor->port));
    if (!event)
        return false;
    ctf_graph_event_store(graph, cursor->port, event);
    event->host = cursor->lane->host;
    ring_commit(ring);
    return true;
}

/* Handles one message. Returns false when the lane cannot go on now: no room, or its part or all of it has ended. */
static bool step(struct reader *reader, struct cursor *cursor)
{
    struct ctf_graph *graph = cursor->dir->graph;
    struct ctf_outbox *box = cursor->lane->box;

    switch (ctf_graph_peek(graph, cursor->port)) {
    case CTF_EVENT:
        cursor->blocked = !pass_on(reader, cursor);
        if (cursor->blocked)
            return false;
        break;
    case CTF_UNKNOWN:
        box->unknown++;
        break;
    case CTF_LOST_EVENTS:
        box->lost_events += ctf_graph_count(graph, cursor->port);
        break;
    case CTF_LOST_PACKETS:
        box->lost_packets += ctf_graph_count(graph, cursor->port);
        break;
    case CTF_STREAM:
        break;
    case CTF_ERROR:
        problem(cursor->lane, "%s is readable in part: %s", cursor->lane->name, ctf_graph_cause(graph, cursor->port));
        next_part(reader, cursor);
        return false;
    case CTF_END:
        next_part(reader, cursor);
        return false;
    }
    ctf_graph_skip(graph, cursor->port);
    return true;
}

static void advance(struct reader *reader, struct cursor *cursor)
{
    if (!cursor->dir && !enter_part(reader, cursor))
        return;
    for (int i = 0; i < BURST && step(reader, cursor); i++)
        ;
    if (!cursor->done)
        ring_publish(&cursor->lane->box->ring, false);
}

/* The emptiest of the rings that still have room. NULL: none has; *ret_all_done tells whether any is left. */
static struct cursor *choose(struct reader *reader, bool *ret_all_done)
{
    struct cursor *best = NULL;
    uint64_t least = 0;

    *ret_all_done = true;
    for (size_t i = 0; i < reader->nr; i++) {
        struct cursor *cursor = &reader->cursors[i];
        if (cursor->done)
            continue;
        *ret_all_done = false;
        uint64_t fill = ring_fill(&cursor->lane->box->ring);
        if (!cursor->blocked && (!best || fill < least)) {
            best = cursor;
            least = fill;
        }
    }
    return best;
}

static void wait_for_room(struct reader *reader)
{
    for (size_t i = 0; i < reader->nr; i++)
        if (reader->rings[i])
            ring_publish(reader->rings[i], true);
    ring_wait_room(reader->group, reader->rings, reader->nr);
    for (size_t i = 0; i < reader->nr; i++)
        reader->cursors[i].blocked = false; /* to be tried again */
}

void ctf_reader_run(struct ctf_lane *const *lanes, size_t nr_lanes, struct ring_group *group, unsigned channels)
{
    struct reader reader = {.nr = nr_lanes, .group = group, .channels = channels};
    bool all_done = false;
    unsigned nr_bursts = 0;

    reader.cursors = calloc(nr_lanes, sizeof(*reader.cursors));
    reader.rings = calloc(nr_lanes, sizeof(*reader.rings));
    for (size_t i = 0; reader.cursors && reader.rings && i < nr_lanes; i++) {
        reader.cursors[i].lane = lanes[i];
        reader.rings[i] = &lanes[i]->box->ring;
    }
    while (reader.cursors && reader.rings && !all_done) {
        if (nr_bursts++ % BURSTS == 0)
            child_got_on();
        struct cursor *cursor = choose(&reader, &all_done);
        if (cursor)
            advance(&reader, cursor);
        else if (!all_done)
            wait_for_room(&reader);
    }
    free(reader.cursors);
    free(reader.rings);
}
