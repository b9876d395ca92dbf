/* receives.h - a receive from a peer together with the wait for it.
 *
 * Programs poll a socket and then read it: the read itself takes no time, the wait is how long the peer took. The two
 * are events of their own, the wait often told after the read; they are put together here. */
#ifndef TRSHIM_ANALYSIS_RECEIVES_H
#define TRSHIM_ANALYSIS_RECEIVES_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/event.h"

struct receive {
    uint32_t name; /* the peer, as in the event; 0 none */
    uint16_t count;
    uint32_t bytes;
    uint64_t start_ns;  /* of the first read */
    uint64_t busy_ns;   /* in the reads */
    uint64_t waited_ns; /* right before the first of them */
};

/* One thread: its latest wait for a socket, and its latest receive, for which the wait may still come. */
struct receives {
    uint64_t wait_end_ns, wait_ns;
    struct receive open;
};

/* Looks at an event of the thread. True if that tells that a receive is complete; it is then in *ret. */
bool receives_learn(struct receives *receives, const struct event *event, struct receive *ret);

#endif
