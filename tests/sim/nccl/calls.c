/* calls.c - the public calls that move data: each is queued in the thread's group as it is. AlltoAll, Gather and
 * Scatter are told as what they are; the real ones take them apart into Send and Recv, which is what plugins see. */
#include "tests/sim/nccl/inside.h"

/* CALL(name, arguments, what of them goes into the call): with its *Config twin, which adds a tag. */
#define CALL_ONE(name, func_, arguments, config, ...)                                                                  \
    NCCL(ncclResult_t, name, arguments)                                                                                \
    {                                                                                                                  \
        struct call call = {.func = FUNC_##func_,                                                                      \
                            .api = #func_,                                                                             \
                            .comm = comm,                                                                              \
                            .stream = stream_of(comm, stream),                                                         \
                            .stream_handle = stream,                                                                   \
                            .tag = tag_of(config),                                                                     \
                            __VA_ARGS__};                                                                              \
        return group_add(&call);                                                                                       \
    }
#define PASS(...) __VA_ARGS__
#define CALL(name, arguments, ...)                                                                                     \
    CALL_ONE(name, name, (PASS arguments), NULL, __VA_ARGS__)                                                          \
    CALL_ONE(name##Config, name, (PASS arguments, const ncclCollConfig_t *config), config, __VA_ARGS__)

/* The default stream is that of the communicator's device. */
static struct sim_stream *stream_of(struct ncclComm *c, void *handle)
{
    if (!c || c->magic != COMM_MAGIC)
        return NULL;
    int current = sim_current();
    sim_set_current(c->device);
    struct sim_stream *s = sim_stream_of(handle);
    sim_set_current(current);
    return s;
}

static uint64_t tag_of(const ncclCollConfig_t *config)
{
    size_t end = offsetof(ncclCollConfig_t, userProfilerTag) + sizeof(config->userProfilerTag);
    return config && config->size >= end ? config->userProfilerTag : 0;
}

#define BUFFERS .send = send, .recv = recv, .count = count, .type = type

CALL(AllReduce, (NCCL_BUFFERS, ncclRedOp_t op, NCCL_END), BUFFERS, .op = (int)op, .root = -1)
CALL(Reduce, (NCCL_BUFFERS, ncclRedOp_t op, int root, NCCL_END), BUFFERS, .op = (int)op, .root = root)
CALL(Broadcast, (NCCL_BUFFERS, int root, NCCL_END), BUFFERS, .root = root)
CALL(AllGather, (NCCL_BUFFERS, NCCL_END), BUFFERS, .root = -1)
CALL(ReduceScatter, (NCCL_BUFFERS, ncclRedOp_t op, NCCL_END), BUFFERS, .op = (int)op, .root = -1)
CALL(AlltoAll, (NCCL_BUFFERS, NCCL_END), BUFFERS, .root = -1)
CALL(Gather, (NCCL_BUFFERS, int root, NCCL_END), BUFFERS, .root = root)
CALL(Scatter, (NCCL_BUFFERS, int root, NCCL_END), BUFFERS, .root = root)

CALL_ONE(Send, Send, (const void *buff, size_t count, ncclDataType_t type, int peer, NCCL_END), NULL, .send = buff,
         .count = count, .type = type, .root = peer)
CALL_ONE(Recv, Recv, (void *buff, size_t count, ncclDataType_t type, int peer, NCCL_END), NULL, .recv = buff,
         .count = count, .type = type, .root = peer)

/* One-sided: a signal is waited for as the next one from that peer; the window's memory is not touched. */
CALL_ONE(PutSignal, PutSignal,
         (const void *buff, size_t count, ncclDataType_t type, int peer, ncclWindow_t win, size_t offset, int signal,
          int ctx, unsigned flags, NCCL_END),
         NULL, .send = buff, .count = count, .type = type, .root = peer)
CALL_ONE(Signal, Signal, (int peer, int signal, int ctx, unsigned flags, NCCL_END), NULL, .count = 0, .root = peer)

NCCL(ncclResult_t, WaitSignal, (int nr, ncclWaitSignalDesc_t *signals, NCCL_END))
{
    ncclResult_t result = group_start();
    for (int i = 0; i < nr && !result; i++)
        for (int n = 0; n < signals[i].opCnt && !result; n++) {
            struct call call = {.func = FUNC_WaitSignal,
                                .api = "WaitSignal",
                                .comm = comm,
                                .stream = stream_of(comm, stream),
                                .stream_handle = stream,
                                .root = signals[i].peer};
            result = group_add(&call);
        }
    ncclResult_t ended = group_end();
    return result ? result : ended;
}
