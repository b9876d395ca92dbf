/* player.h - plays NCCL to a profiler plugin: one form of call for all versions of the interface, so that a test can
 * say once what NCCL does and try it on each. Fills the descriptors of abi.h; nothing of the plugin's own is used. */
#ifndef TESTS_PLUGIN_PLAYER_H
#define TESTS_PLUGIN_PLAYER_H

#include "tests/plugin/abi.h"

#define UNWRITTEN ((void *)0xdead0000beefull) /* what NCCL's handle holds before startEvent */

/* An event, with what it has of these. */
struct play {
    uint64_t type;
    void *parent, *parent_group;
    int rank;
    uint64_t seq, count;
    const char *func, *datatype, *algo, *proto;
    const void *send;
    void *recv; /* also the buffer of a P2p */
    int peer;   /* or root */
    uint8_t channels;
    bool captured, symmetric;
    pid_t pid;
    int channel, steps, is_send, step;
    uint64_t timer;
};

/* One version, to one plugin. */
struct player {
    int version;
    const void *profiler; /* its struct ncclProfiler_vN */
    int (*init)(const void *profiler, void **context, int *mask, uint64_t hash, const char *name, int nodes, int nranks,
                int rank);
    int (*start)(const void *profiler, void *context, void **handle, const struct play *play);
    int (*state)(const void *profiler, void *handle, int state, uint64_t value, bool args);
    int (*stop)(const void *profiler, void *handle);
    int (*finalize)(const void *profiler, void *context);
};

/* The version's functions. 1 to 7. */
struct player player_of(int version, const void *profiler);

/* start, from a handle that nobody has written. */
void *play_start(const struct player *p, void *context, struct play play);
#define START(p, context, ...) play_start(p, context, (struct play){__VA_ARGS__})

/* One AllReduce as NCCL tells it: its calls if the version has them, its launch, and `channels` proxy operations each
 * way with peer `peer` (negative: none). Returns the launch's handle. */
void *play_allreduce(const struct player *p, void *context, int rank, uint64_t seq, uint64_t count, int channels,
                     int peer);

#endif
