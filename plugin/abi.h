/* abi.h - NCCL's profiler interface, versions 1 to 7, as far as a plugin sees it. Our own declarations, from measured
 * offsets (checked by tests/plugin/abi.c); the names are ours too: a field has the same name in every version and in
 * struct told, so that one list per payload makes its layout, its reading and its writing (adapter.h).
 *
 * An event descriptor is: type, parent, rank, then a union of the payloads below. The type is one byte wide up to
 * version 4 and eight from version 5 on. */
#ifndef TRSHIM_PLUGIN_ABI_H
#define TRSHIM_PLUGIN_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Bits of `type`, and of the mask by which a plugin asks for events. */
enum {
    EV_GROUP = 1 << 0,
    EV_COLL = 1 << 1,
    EV_P2P = 1 << 2,
    EV_PROXY_OP = 1 << 3,
    EV_PROXY_STEP = 1 << 4,
    EV_PROXY_CTRL = 1 << 5,
    EV_KERNEL_CH = 1 << 6, /* from v3 */
    EV_NET = 1 << 7,
    EV_GROUP_API = 1 << 8, /* from v5 */
    EV_COLL_API = 1 << 9,
    EV_P2P_API = 1 << 10,
    EV_LAUNCH = 1 << 11,
    EV_CE_COLL = 1 << 12, /* from v6 */
    EV_CE_SYNC = 1 << 13,
    EV_CE_BATCH = 1 << 14,
    EV_PHASE = 1 << 15, /* from v7; RCCL's v6 gives this bit to something else */
};

/* States that somebody looks at; the numbers are the same in every version. */
enum {
    ST_OP_LAST = 7, /* 0 to 7: of proxy operations, versions 1 to 3 */
    ST_STEP_SEND_GPU = 8,
    ST_STEP_SEND = 9,
    ST_STEP_RECV = 10,
    ST_STEP_FLUSH = 11,
    ST_STEP_RECV_GPU = 12,
    ST_CTRL_FIRST = 13,
    ST_CTRL_LAST = 18,
    ST_OP_BEGUN = 19, /* from v4 */
    ST_STEP_SEND_PEER = 20,
    ST_NET_UPDATE = 21,
    ST_KERNEL_STOP = 22,
    ST_GROUP_BEGUN = 23, /* from v5 */
    ST_GROUP_ENDS = 24,
    ST_CE_FIRST = 25, /* from v6 */
    ST_CE_LAST = 30,
    ST_PHASE_STOP = 31, /* from v7; RCCL's v6: something else, with larger arguments */
};

typedef const char *text_t;
typedef const void *source_t;
typedef void *pointer_t;
typedef uint8_t flag_t; /* C++'s bool; what nobody has set may be neither 0 nor 1 */

/* F(type, name) ... in the order of the layout; gaps are the compiler's, as they were there. */
#define COLL_V1(F)                                                                                                     \
    F(text_t, comm_name)                                                                                               \
    F(uint64_t, comm_hash)                                                                                             \
    F(uint64_t, seq)                                                                                                   \
    F(uint8_t, func_nr)                                                                                                \
    F(source_t, send)                                                                                                  \
    F(pointer_t, recv)                                                                                                 \
    F(size_t, count)                                                                                                   \
    F(int, root)                                                                                                       \
    F(uint8_t, type_nr)                                                                                                \
    F(uint32_t, redop)                                                                                                 \
    F(size_t, traffic)                                                                                                 \
    F(uint8_t, channels)                                                                                               \
    F(uint8_t, warps)                                                                                                  \
    F(uint8_t, algo_nr)                                                                                                \
    F(uint8_t, proto_nr)                                                                                               \
    F(int, collnet)                                                                                                    \
    F(int, nvls)
#define COLL_HEAD_V2(F)                                                                                                \
    F(text_t, comm_name)                                                                                               \
    F(uint64_t, comm_hash)                                                                                             \
    F(uint64_t, seq)                                                                                                   \
    F(text_t, func)                                                                                                    \
    F(source_t, send)                                                                                                  \
    F(pointer_t, recv)                                                                                                 \
    F(size_t, count)                                                                                                   \
    F(int, root)                                                                                                       \
    F(text_t, datatype)
#define COLL_TAIL(F)                                                                                                   \
    F(uint8_t, channels)                                                                                               \
    F(uint8_t, warps)                                                                                                  \
    F(text_t, algo)                                                                                                    \
    F(text_t, proto)
#define COLL_V2(F)                                                                                                     \
    COLL_HEAD_V2(F)                                                                                                    \
    F(size_t, traffic)                                                                                                 \
    COLL_TAIL(F)
#define COLL_V3(F)                                                                                                     \
    COLL_HEAD_V2(F)                                                                                                    \
    COLL_TAIL(F)
#define COLL_V4(F)                                                                                                     \
    F(uint64_t, seq)                                                                                                   \
    F(text_t, func)                                                                                                    \
    F(source_t, send)                                                                                                  \
    F(pointer_t, recv)                                                                                                 \
    F(size_t, count)                                                                                                   \
    F(int, root)                                                                                                       \
    F(text_t, datatype)                                                                                                \
    COLL_TAIL(F)
#define COLL_V5(F)                                                                                                     \
    COLL_V4(F)                                                                                                         \
    F(pointer_t, parent_group)
#define COLL_V6(F) COLL_V5(F)
#define COLL_V7(F)                                                                                                     \
    COLL_V5(F)                                                                                                         \
    F(text_t, variant)                                                                                                 \
    F(flag_t, symmetric)                                                                                               \
    F(uint64_t, tag)

#define P2P_V1(F)                                                                                                      \
    F(text_t, comm_name)                                                                                               \
    F(uint64_t, comm_hash)                                                                                             \
    F(uint8_t, func_nr)                                                                                                \
    F(pointer_t, buffer)                                                                                               \
    F(uint8_t, type_nr)                                                                                                \
    F(size_t, count)                                                                                                   \
    F(int, peer)
#define P2P_V2(F)                                                                                                      \
    F(text_t, comm_name)                                                                                               \
    F(uint64_t, comm_hash)                                                                                             \
    F(text_t, func)                                                                                                    \
    F(pointer_t, buffer)                                                                                               \
    F(text_t, datatype)                                                                                                \
    F(size_t, count)                                                                                                   \
    F(int, peer)
#define P2P_V3(F) P2P_V2(F)
#define P2P_V4(F)                                                                                                      \
    F(text_t, func)                                                                                                    \
    F(pointer_t, buffer)                                                                                               \
    F(text_t, datatype)                                                                                                \
    F(size_t, count)                                                                                                   \
    F(int, peer)                                                                                                       \
    F(uint8_t, channels) /* not set by the v4 adaptor of NCCL 2.28 and later */
#define P2P_V5(F)                                                                                                      \
    P2P_V4(F)                                                                                                          \
    F(pointer_t, parent_group)
#define P2P_V6(F) P2P_V5(F)
#define P2P_V7(F)                                                                                                      \
    P2P_V5(F)                                                                                                          \
    F(uint64_t, tag)

#define PROXY_OP(F)                                                                                                    \
    F(pid_t, pid)                                                                                                      \
    F(uint8_t, channel)                                                                                                \
    F(int, peer)                                                                                                       \
    F(int, steps)                                                                                                      \
    F(int, chunk_size)                                                                                                 \
    F(int, is_send)
#define PROXY_STEP(F) F(int, step)
#define KERNEL_V3(F) F(uint8_t, channel)
#define KERNEL_V4(F)                                                                                                   \
    F(uint8_t, channel)                                                                                                \
    F(uint64_t, timer)
#define NET(F)                                                                                                         \
    F(int64_t, net_id)                                                                                                 \
    F(pointer_t, net_data)
#define GROUP_API(F)                                                                                                   \
    F(flag_t, captured)                                                                                                \
    F(int, depth)
#define COLL_API_V5(F)                                                                                                 \
    F(text_t, func)                                                                                                    \
    F(size_t, count)                                                                                                   \
    F(text_t, datatype)                                                                                                \
    F(int, root)                                                                                                       \
    F(pointer_t, stream)                                                                                               \
    F(flag_t, captured)
#define COLL_API_V6(F) COLL_API_V5(F)
#define COLL_API_V7(F)                                                                                                 \
    COLL_API_V5(F)                                                                                                     \
    F(uint64_t, tag)
#define P2P_API_V5(F)                                                                                                  \
    F(text_t, func)                                                                                                    \
    F(size_t, count)                                                                                                   \
    F(text_t, datatype)                                                                                                \
    F(pointer_t, stream)                                                                                               \
    F(flag_t, captured)
#define P2P_API_V6(F) P2P_API_V5(F)
#define P2P_API_V7(F)                                                                                                  \
    P2P_API_V5(F)                                                                                                      \
    F(uint64_t, tag)
#define LAUNCH(F) F(pointer_t, stream)
#define CE_COLL_V6(F)                                                                                                  \
    F(uint64_t, seq)                                                                                                   \
    F(text_t, func)                                                                                                    \
    F(source_t, send)                                                                                                  \
    F(pointer_t, recv)                                                                                                 \
    F(size_t, count)                                                                                                   \
    F(int, root)                                                                                                       \
    F(text_t, datatype)                                                                                                \
    F(text_t, ce_strategy)                                                                                             \
    F(flag_t, ce_intra)                                                                                                \
    F(uint32_t, ce_batch_size)                                                                                         \
    F(uint32_t, ce_batches)                                                                                            \
    F(uint32_t, ce_seq)                                                                                                \
    F(pointer_t, stream)
#define CE_COLL_V7(F)                                                                                                  \
    CE_COLL_V6(F)                                                                                                      \
    F(uint64_t, tag)
#define CE_SYNC(F)                                                                                                     \
    F(flag_t, ce_complete)                                                                                             \
    F(int, ce_ranks)
#define CE_BATCH(F)                                                                                                    \
    F(int, ce_ops)                                                                                                     \
    F(size_t, ce_bytes)                                                                                                \
    F(flag_t, ce_intra)
#define PHASE(F)                                                                                                       \
    F(uint8_t, channel)                                                                                                \
    F(uint8_t, phase)                                                                                                  \
    F(text_t, phase_name)                                                                                              \
    F(uint64_t, timer)

/* What states come with. From version 4 on the union is only as large as its first word. */
union abi_args_old {
    struct {
        size_t bytes;
        int steps;
    } op;
    struct {
        int appended;
    } ctrl;
};

union abi_args {
    size_t bytes;   /* of steps */
    int appended;   /* of proxy control */
    void *data;     /* of the network */
    uint64_t timer; /* of kernels: the GPU's clock */
};

typedef void (*abi_logger)(int level, unsigned long flags, const char *file, int line, const char *format, ...);

#endif
