/* session_buffers.h - how large the ring buffers and the trace files are made, from what there is.
 *
 * Arithmetic only. LTTng takes buffers per possible CPU and per channel, zeroes them when the first process
 * registers, and silently records nothing if /dev/shm is too small: so the sizes are decided here, by a cap. */
#ifndef TRSHIM_TRACES_SESSION_BUFFERS_H
#define TRSHIM_TRACES_SESSION_BUFFERS_H

#include <stdbool.h>
#include <stdint.h>

#include "traces/events.h"

struct buffer_limits {
    uint64_t shm_free;      /* free bytes of /dev/shm */
    uint64_t buffers;       /* asked for by the user, 0: not */
    uint64_t max_size;      /* of the node's trace, 0: no limit */
    unsigned cpus_possible; /* LTTng makes buffers for these ... */
    unsigned cpus_online;   /* ... and only these fill theirs */
    bool ring;              /* nothing is written out: the buffers are all that is kept (flight recorder) */
};

struct buffer_plan {
    struct {
        uint64_t subbuf_size; /* bytes, a power of 2; an event larger than this is lost */
        uint64_t nr_subbuf;   /* a power of 2 */
    } channel[CH_MAX];
    uint64_t tracefile_size; /* of CH_DATA; 0: one file per CPU. What is too much is removed by files */
    uint64_t total;          /* bytes of /dev/shm that one uid's buffers take */
    uint64_t cap;            /* what they were to stay below */
    bool ring;               /* the newest overwrites the oldest */
};

#define BUFFERS_DEFAULT_CAP (256ull << 20)

/* Fills *ret. When even the smallest buffers exceed the cap, total > cap says so. */
void buffers_plan(const struct buffer_limits *limits, struct buffer_plan *ret);

/* What this machine has: /dev/shm and the CPUs. The user's wishes are left 0. */
int buffers_measure(struct buffer_limits *ret);

#endif
