/* ctf_lane.h - one CPU's stream of one channel through all chunks of a trace: what a reader process decodes in order.
 *
 * LTTng cuts a stream by rotation (a directory per chunk) and by file count (files of one stream in a directory,
 * which babeltrace2 joins). A lane joins the chunks: its events are in order, so lanes are what is merged. */
#ifndef TRSHIM_ANALYSIS_CTF_LANE_H
#define TRSHIM_ANALYSIS_CTF_LANE_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/input/ring.h"

#define CTF_PROBLEM_MAX 256

/* The stream within one trace directory. */
struct ctf_part {
    char *dir;  /* owned */
    char *port; /* owned; as ctf_graph names it */
    uint64_t first_ns;
    uint64_t
        first_packet; /* number of its first packet since the stream began; more than 0: older ones are elsewhere */
};

/* What a reader has to say of a lane, in memory shared with it; the rest is valid once the ring has ended or the
 * reader is dead. */
struct ctf_outbox {
    struct ring ring; /* of struct event */
    uint64_t lost_events, lost_packets, unknown;
    char problem[CTF_PROBLEM_MAX];
};

struct ctf_lane {
    char *name;  /* owned; where it lies below the trace, for messages and as its identity */
    int channel; /* enum tr_channel, or -1 if its name does not tell */
    uint32_t host;
    uint64_t size_bytes;
    struct ctf_part *parts; /* in order of time */
    size_t nr_parts;
    struct ctf_outbox *box; /* during a scan */
};

#endif
