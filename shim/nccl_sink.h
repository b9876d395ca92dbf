/* nccl_sink.h - what front ends other than the preload's hooks tell the core about NCCL: its profiler plugin and
 * its network plugin.
 *
 * There is one core per process. The plugin finds it (the preload may have loaded it) or loads it from beside itself,
 * and asks it for this struct by the exported function trshim_nccl_sink(); a core that nobody has started yet starts
 * itself then. What hook and plugin say of the same call the core makes into one `coll` event: a call is the same if
 * the communicator, the operation and the buffers are. A front end never emits anything itself.
 *
 * Any function may be called from any thread, also from NCCL's progress thread and from CUDA's callback threads; none
 * waits, allocates, or changes errno. Pointers need be valid during the call only. */
#ifndef TRSHIM_NCCL_SINK_H
#define TRSHIM_NCCL_SINK_H

#include <stdbool.h>
#include <stdint.h>

#include "traces/events.h"

#define NCCL_SINK_VERSION 1

/* A communicator as NCCL describes it to a plugin. Called from inside the call that makes it, on its thread, except
 * where NCCL makes several at once or was asked not to block. */
struct nccl_told_comm {
    uint64_t id;                 /* commHash: the same on all ranks; 0 unknown (profiler ABI v1 to v3) */
    const char *name;            /* as the framework calls it; NULL none */
    int32_t rank, nranks, nodes; /* -1, -1, 0 unknown (v1 to v3: see nccl_sink.comm_is) */
};

/* One collective, Send or Recv, as NCCL ran it. */
struct nccl_told_call {
    uint32_t nr;             /* communicator, as nccl_sink.comm said */
    uint32_t tid;            /* thread that called, 0 unknown */
    uint8_t op, algo, proto; /* enum tr_coll_op, tr_coll_algo, tr_coll_proto */
    uint8_t type;            /* ncclDataType_t, 255 unknown */
    uint8_t channels;        /* 0 unknown */
    bool captured;           /* into a CUDA graph */
    bool called;             /* count and type are those of the call; else NCCL's own (AllGather, Broadcast: bytes) */
    bool ran;                /* NCCL launched it; false: only the call was seen (captured; Broadcast as AllGatherV) */
    uint32_t ordinal;        /* NCCL's count per function; from 2^31: it has none, the plugin's own count */
    int32_t peer;            /* root, or peer of Send and Recv; -1 none or unknown */
    uint32_t group;          /* the same for calls that were launched together, 0 unknown */
    uint64_t count;
    uint64_t start_ns, end_ns; /* of the call to the end of its launch; equal: a moment just after the launch */
    const void *send, *recv;   /* buffers of the call, NULL unknown; Send has send, Recv has recv */
};

/* What the core asks of a front end. */
struct nccl_front {
    /* Four times a second, by the tender; `last`: the process ends, give away what is pending. */
    void (*tend)(uint64_t now_ns, bool last);
    /* In a fork child. */
    void (*after_fork)(void);
};

struct nccl_sink {
    uint32_t version;

    /* Ints that are non-zero while somebody listens to: coll, nccl_proxy, nccl_channel_run. */
    const int *calls, *proxies, *channels;

    /* One more front end, for good. */
    void (*front)(const struct nccl_front *front);

    /* A communicator was made: what later calls name it by; 0 no room. */
    uint32_t (*comm)(const struct nccl_told_comm *told);
    /* v1 to v3 tell id, name and rank by the first call only. */
    void (*comm_is)(uint32_t nr, const struct nccl_told_comm *told);
    void (*comm_gone)(uint32_t nr);

    void (*call)(const struct nccl_told_call *told);
    /* pid is filled in by the core, tid if it is 0. */
    void (*proxy)(const struct tr_nccl_proxy *told);
    void (*channel_run)(const struct tr_nccl_channel_run *told);

    /* Something found no room: counted, told in `self`. */
    void (*dropped)(uint32_t nr_events);

    /* The network plugin. Non-zero while somebody listens to: nccl_net_io, nccl_net_connection. pid is filled in by the
     * core, tid if it is 0. */
    const int *net_ios, *net_states;
    void (*net_device)(const struct tr_nccl_net_device *told);
    void (*net_connection)(const struct tr_nccl_net_connection *told);
    void (*net_io)(const struct tr_nccl_net_io *told);
};

/* Exported by the core. NULL: this process is not recorded. */
typedef const struct nccl_sink *(*trshim_nccl_sink_fn)(uint32_t version);

#endif
