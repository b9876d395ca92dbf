/* ctf_graph.h - one CTF trace directory, opened through babeltrace2.
 *
 * babeltrace2's types stop here (ctf_graph.c): it opens the directory, finds the streams (its "ports"), and hands out
 * their messages one by one, stream by stream, without a muxer, so that the caller chooses which to advance. Events
 * are matched to traces/schema.h by name, once per event class: fields a trace lacks are 0, fields it has more are
 * left aside. Not thread-safe. A damaged trace can make babeltrace2 crash: use it in a process of its own. */
#ifndef TRSHIM_ANALYSIS_CTF_GRAPH_H
#define TRSHIM_ANALYSIS_CTF_GRAPH_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/event.h"

/* Longer strings, and sequences of more than TR_SEQ64_MAX, are cut: bounds what one event takes. */
#define CTF_STRING_MAX 8000
/* An event has up to four strings, or up to two sequences, which take less. */
#define CTF_EVENT_MAX (sizeof(struct event) + 4 * (CTF_STRING_MAX + 1))
_Static_assert(2 * TR_SEQ64_MAX * sizeof(uint64_t) <= 4 * (CTF_STRING_MAX + 1), "sequences take less than strings");

struct ctf_graph;

/* Opens `dir` and the streams whose port names are listed, or all of them if `ports` is NULL. Returns 0 or -errno
 * (-EIO: babeltrace2 refused) with the reason in `cause`. */
int ctf_graph_open(const char *dir, const char *const *ports, size_t nr_ports, struct ctf_graph **ret, char *cause,
                   size_t cause_size);
void ctf_graph_free(struct ctf_graph *graph);

/* Ports are numbered in the order of the list given, else in babeltrace2's. A listed one that is not there is at its
 * end at once. */
size_t ctf_graph_nr_ports(const struct ctf_graph *graph);
const char *ctf_graph_port_name(const struct ctf_graph *graph, size_t port);

enum ctf_what {
    CTF_END,         /* nothing more */
    CTF_ERROR,       /* nothing more can be read, see ctf_graph_cause() */
    CTF_STREAM,      /* the stream begins: its name and its trace's facts can be asked for */
    CTF_EVENT,       /* an event this program knows */
    CTF_UNKNOWN,     /* another event */
    CTF_LOST_EVENTS, /* see ctf_graph_count() */
    CTF_LOST_PACKETS,
};

/* The current message of a port; stays until ctf_graph_skip(). */
enum ctf_what ctf_graph_peek(struct ctf_graph *graph, size_t port);
void ctf_graph_skip(struct ctf_graph *graph, size_t port);

/* CTF_EVENT: its time, kind, the bytes it needs, and putting it there: *to with the strings behind it, at most
 * CTF_EVENT_MAX. Sets all but to->host. */
uint64_t ctf_graph_time(struct ctf_graph *graph, size_t port);
enum event_kind ctf_graph_kind(struct ctf_graph *graph, size_t port);
size_t ctf_graph_event_size(struct ctf_graph *graph, size_t port);
void ctf_graph_event_store(struct ctf_graph *graph, size_t port, struct event *to);

uint64_t ctf_graph_count(struct ctf_graph *graph, size_t port);     /* CTF_LOST_*; at least 1 */
const char *ctf_graph_cause(struct ctf_graph *graph, size_t port);  /* CTF_ERROR; one line */
const char *ctf_graph_stream(struct ctf_graph *graph, size_t port); /* CTF_STREAM: name of its (first) file, or "" */

/* CTF_STREAM: what the trace says of itself. Strings are borrowed from the graph, "" if not said. */
struct ctf_facts {
    const char *hostname;
    char clock_uuid[37]; /* LTTng: the boot id */
    int64_t epoch_ns;    /* of the clock; 0 unknown */
    uint64_t nr_classes, nr_known;
};
void ctf_graph_facts(struct ctf_graph *graph, size_t port, struct ctf_facts *ret);

#endif
