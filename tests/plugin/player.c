/* player.c - see player.h. */
#include "tests/plugin/player.h"

#include <string.h>
#include <unistd.h>

static const char *const funcs[] = {"Broadcast", "Reduce",   "AllGather", "ReduceScatter",
                                    "AllReduce", "SendRecv", "Send",      "Recv"};
static const char *const algos[] = {"TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT"};
static const char *const protos[] = {"LL", "LL128", "SIMPLE"};
static const char *const types[] = {"ncclInt8",   "ncclUint8",   "ncclInt32",   "ncclUint32", "ncclInt64",
                                    "ncclUint64", "ncclFloat16", "ncclFloat32", "ncclFloat64"};

#define number(list, text) number_in(list, sizeof(list) / sizeof(*(list)), text)
static uint8_t number_in(const char *const *list, size_t nr, const char *text)
{
    for (size_t i = 0; i < nr; i++)
        if (text && strcmp(list[i], text) == 0)
            return (uint8_t)i;
    return 99;
}

#define N 1
#include "tests/plugin/player_version.h"
#define N 2
#include "tests/plugin/player_version.h"
#define N 3
#include "tests/plugin/player_version.h"
#define N 4
#include "tests/plugin/player_version.h"
#define N 5
#include "tests/plugin/player_version.h"
#define N 6
#include "tests/plugin/player_version.h"
#define N 7
#include "tests/plugin/player_version.h"

struct player player_of(int version, const void *profiler)
{
#define PLAYER(v)                                                                                                      \
    {                                                                                                                  \
        v, NULL, init_v##v, start_v##v, state_v##v, stop_v##v, finalize_v##v                                           \
    }
    static const struct player all[] = {PLAYER(1), PLAYER(2), PLAYER(3), PLAYER(4), PLAYER(5), PLAYER(6), PLAYER(7)};
    struct player p = all[version - 1];
    p.profiler = profiler;
    return p;
}

void *play_start(const struct player *p, void *context, struct play play)
{
    void *handle = UNWRITTEN;
    if (p->start(p->profiler, context, &handle, &play) != 0)
        return UNWRITTEN;
    return handle;
}

static void play_proxies(const struct player *p, void *context, void *launch, int rank, int channels, int peer)
{
    void *op[64];
    int nr = 0;
    for (int c = 0; c < channels; c++)
        for (int is_send = 0; is_send < 2; is_send++)
            op[nr++] = START(p, context, .type = ProxyOp, .parent = launch, .rank = rank, .pid = getpid(), .channel = c,
                             .peer = peer, .steps = 4, .is_send = is_send);
    for (int i = 0; i < nr; i++) {
        if (p->version <= 3) {
            p->state(p->profiler, op[i], ProxyOpSendTransmitted, 500, true);
            p->state(p->profiler, op[i], ProxyOpSendDone, 1000, true);
        } else {
            p->state(p->profiler, op[i], OpInProgress, 0, true);
        }
        p->stop(p->profiler, op[i]);
    }
}

void *play_allreduce(const struct player *p, void *context, int rank, uint64_t seq, uint64_t count, int channels,
                     int peer)
{
    static char send, recv;
    void *api_group = NULL, *api = NULL;
    if (p->version >= 5) { /* rank is 0 here whoever calls */
        api_group = START(p, context, .type = GroupApi);
        p->state(p->profiler, api_group, GroupStartApiStop, 0, false);
        api = START(p, context, .type = CollApi, .parent = api_group, .func = "AllReduce", .count = count,
                    .datatype = "ncclFloat32");
        p->stop(p->profiler, api);
        p->state(p->profiler, api_group, GroupEndApiStart, 0, false);
        void *kernel = START(p, context, .type = KernelLaunch, .parent = api_group);
        p->stop(p->profiler, kernel);
    }
    void *group = START(p, context, .type = Group);
    void *launch =
        START(p, context, .type = Coll, .parent = p->version >= 5 ? api : group, .parent_group = group, .rank = rank,
              .seq = seq, .func = "AllReduce", .count = count, .datatype = "ncclFloat32", .send = &send, .recv = &recv,
              .channels = (uint8_t)channels, .algo = "RING", .proto = "SIMPLE");
    p->stop(p->profiler, launch);
    p->stop(p->profiler, group);
    if (api_group)
        p->stop(p->profiler, api_group);
    if (peer >= 0)
        play_proxies(p, context, launch, rank, channels, peer);
    return launch;
}
