/* core_seen.h - a core that only looks: stands where the plugin finds the real one, and keeps what it was told. */
#ifndef TESTS_PLUGIN_CORE_SEEN_H
#define TESTS_PLUGIN_CORE_SEEN_H

#include <stdatomic.h>

#include "shim/nccl_sink.h"

#define NR_SEEN 4096 /* kept; more are counted */

struct seen {
    atomic_uint nr_comms, nr_is, nr_gone, nr_calls, nr_proxies, nr_runs, nr_dropped;
    struct nccl_told_comm comms[NR_SEEN];
    struct nccl_told_comm is[NR_SEEN];
    struct nccl_told_call calls[NR_SEEN];
    struct tr_nccl_proxy proxies[NR_SEEN];
    struct tr_nccl_channel_run runs[NR_SEEN];
};
extern struct seen seen;

/* Switches: what somebody listens to. All on at first. */
extern int seen_calls_on, seen_proxies_on, seen_channels_on;

/* No core: the process is not recorded. To be set before the first init. */
extern bool seen_nothing;

void seen_forget(void);
/* What the core's tender does. */
void seen_tend(uint64_t now_ns, bool last);

#endif
