/* told.h - what NCCL tells a plugin, in one form for all versions of its interface: what adapters fill and read. */
#ifndef TRSHIM_PLUGIN_TOLD_H
#define TRSHIM_PLUGIN_TOLD_H

#include "plugin/abi.h"

/* The arguments of init, as far as the version has them. */
struct told_init {
    int version;
    uint64_t comm_hash;      /* 0 unknown: versions 1 to 3 */
    const char *comm_name;   /* borrowed; NULL none */
    int nodes, nranks, rank; /* 0, -1, -1 unknown */
    abi_logger log;
};

/* The descriptor of startEvent. Only what belongs to `type` means something; the rest is 0. */
struct told {
    uint64_t type;
    void *parent;
    int rank;
    int version;

    text_t comm_name;
    uint64_t comm_hash;
    uint64_t seq;
    text_t func, datatype, algo, proto;
    uint8_t func_nr, type_nr, algo_nr, proto_nr; /* version 1 */
    source_t send;
    pointer_t recv, buffer;
    size_t count, traffic;
    int root, peer;
    uint32_t redop;
    uint8_t channels, warps;
    int collnet, nvls;
    pointer_t parent_group;
    text_t variant;
    bool symmetric;
    uint64_t tag;

    pid_t pid;
    uint8_t channel;
    int steps, chunk_size, is_send;
    int step;
    uint64_t timer;
    int64_t net_id;
    pointer_t net_data;

    bool captured;
    int depth;
    pointer_t stream;

    text_t ce_strategy;
    bool ce_intra, ce_complete;
    uint32_t ce_batch_size, ce_batches, ce_seq;
    int ce_ranks, ce_ops;
    size_t ce_bytes;

    uint8_t phase;
    text_t phase_name;
};

/* recordEventState. The values are 0 where NCCL gave no arguments. */
struct told_state {
    int state;
    bool has_args;
    size_t bytes;
    int steps, appended;
    void *data;
    uint64_t timer;
};

#endif
