/* nccl.c - a stand-in for libnccl.so.2: it moves nothing, checks what it is given, writes communicators at the end of
 * groups, calls itself through its public names, and, if FAKE_NCCL_CORE names the core, tells it what a profiler plugin
 * would, on the threads on which NCCL would. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/nccl_sink.h"

#define PUBLIC __attribute__((visibility("default")))
#define MAX 4096

struct id {
    char bytes[128];
};
struct comm {
    int rank, nranks, device, bad;
    unsigned nr, seq;
    unsigned long long hash;
};
struct call {
    struct comm *comm;
    enum tr_coll_op op;
    const void *send, *recv;
    size_t count;
    int type, peer;
};

static __thread struct call calls[MAX];
static __thread int nr_calls, depth;
static __thread struct {
    struct comm **where, *comm;
} inits[64];
static __thread int nr_inits;
static int next_device;

static const struct nccl_sink *sink(void)
{
    static const struct nccl_sink *s;
    const char *path = getenv("FAKE_NCCL_CORE");
    if (!s && path && *path) {
        void *lib = dlopen(path, RTLD_NOW);
        trshim_nccl_sink_fn get = lib ? (trshim_nccl_sink_fn)dlsym(lib, "trshim_nccl_sink") : NULL;
        s = get ? get(NCCL_SINK_VERSION) : NULL;
    }
    return s;
}

static void *told_of(void *arg)
{
    struct comm *c = arg;
    const struct nccl_told_comm told = {
        .id = c->hash, .name = "told", .rank = c->rank, .nranks = c->nranks, .nodes = 2};
    if (sink())
        c->nr = sink()->comm(&told);
    return NULL;
}

/* Alone: on the caller's thread. Several in one group: each on a thread of its own. */
static void make(void)
{
    for (int i = 0; i < nr_inits; i++) {
        pthread_t thread;
        if (nr_inits == 1)
            told_of(inits[i].comm);
        else if (pthread_create(&thread, NULL, told_of, inits[i].comm) == 0)
            pthread_join(thread, NULL);
        *inits[i].where = inits[i].comm;
    }
    nr_inits = 0;
}

static void tell(const struct call *c)
{
    struct nccl_told_call told = {.nr = c->comm->nr,
                                  .op = (uint8_t)c->op,
                                  .algo = TR_coll_algo_Ring,
                                  .proto = TR_coll_proto_LL128,
                                  .type = (uint8_t)c->type,
                                  .channels = 4,
                                  .ran = true,
                                  .ordinal = c->comm->seq++,
                                  .peer = c->peer,
                                  .count = c->count,
                                  .send = c->send,
                                  .recv = c->recv,
                                  .start_ns = 5,
                                  .end_ns = 7};
    if (!sink())
        return;
    if (c->op == TR_coll_op_AlltoAll) {
        for (int peer = 0; peer < c->comm->nranks; peer++) {
            told.op = peer & 1 ? TR_coll_op_Recv : TR_coll_op_Send;
            told.peer = peer;
            sink()->call(&told);
        }
        return;
    }
    sink()->call(&told);
}

static void launch(void)
{
    for (int i = 0; i < nr_calls; i++)
        tell(&calls[i]);
    nr_calls = 0;
}

PUBLIC int ncclGroupStart(void)
{
    depth++;
    return 0;
}

PUBLIC int ncclGroupEnd(void)
{
    if (depth == 0)
        return 5;
    if (--depth)
        return 0;
    make();
    launch();
    return getenv("FAKE_NCCL_GROUP_FAILS") ? 3 : 0;
}

PUBLIC int ncclGroupSimulateEnd(void *estimate)
{
    depth = nr_calls = 0;
    return 0;
}

static int begin(struct comm **where, int rank, int nranks, int device, const struct id *id)
{
    struct comm *c = calloc(1, sizeof(*c));
    *c = (struct comm){.rank = rank, .nranks = nranks, .device = device};
    if (id)
        memcpy(&c->hash, id->bytes, sizeof(c->hash));
    inits[nr_inits].where = where;
    inits[nr_inits++].comm = c;
    if (!depth)
        make();
    return 0;
}

PUBLIC int ncclCommInitRank(struct comm **comm, int nranks, struct id id, int rank)
{
    for (size_t i = 8; i < sizeof(id.bytes); i++)
        if (id.bytes[i] != (char)i)
            return 4; /* what was handed by value did not arrive */
    if (nranks > 1000)
        return 1;
    return begin(comm, rank, nranks, next_device++, &id);
}

PUBLIC int ncclCommInitRankConfig(struct comm **comm, int nranks, struct id id, int rank, void *config)
{
    return ncclCommInitRank(comm, nranks, id, rank); /* by its public name */
}

PUBLIC int ncclCommInitAll(struct comm **comms, int ndev, const int *devices)
{
    struct id id = {"all"};
    depth++;
    for (int i = 0; i < ndev; i++)
        begin(&comms[i], i, ndev, devices ? devices[i] : i, &id);
    return ncclGroupEnd();
}

PUBLIC int ncclCommSplit(struct comm *parent, int color, int key, struct comm **comm, void *config)
{
    struct id id = {{(char)color, 7}};
    if (color < 0) {
        *comm = NULL;
        return 0;
    }
    return begin(comm, parent->rank / 2, parent->nranks / 2, parent->device, &id);
}

PUBLIC int ncclCommDestroy(struct comm *comm)
{
    if (sink())
        sink()->comm_gone(comm->nr);
    free(comm);
    return 0;
}

#define GETTER(name, what)                                                                                             \
    PUBLIC int name(struct comm *comm, int *ret)                                                                       \
    {                                                                                                                  \
        *ret = what;                                                                                                   \
        return 0;                                                                                                      \
    }
GETTER(ncclCommGetAsyncError, 0)
GETTER(ncclCommUserRank, comm->rank)
GETTER(ncclCommCount, comm->nranks)
GETTER(ncclCommCuDevice, comm->device)

static int called(struct comm *comm, enum tr_coll_op op, const void *send, const void *recv, size_t count, int type,
                  int peer)
{
    if (type > 11)
        return 4;
    if (nr_calls < MAX)
        calls[nr_calls++] = (struct call){comm, op, send, recv, count, type, peer};
    if (!depth)
        launch();
    return 0;
}

PUBLIC int ncclAllReduce(const void *send, void *recv, size_t n, int type, int redop, struct comm *comm, void *stream)
{
    return redop == 2 && stream == (void *)7 ? called(comm, TR_coll_op_AllReduce, send, recv, n, type, -1) : 4;
}

PUBLIC int ncclReduce(const void *send, void *recv, size_t n, int type, int redop, int root, struct comm *comm,
                      void *stream)
{
    return redop == 2 && stream == (void *)7 ? called(comm, TR_coll_op_Reduce, send, recv, n, type, root) : 4;
}

PUBLIC int ncclBroadcast(const void *send, void *recv, size_t n, int type, int root, struct comm *comm, void *stream)
{
    return stream == (void *)7 ? called(comm, TR_coll_op_Broadcast, send, recv, n, type, root) : 4;
}

PUBLIC int ncclBcast(void *buffer, size_t n, int type, int root, struct comm *comm, void *stream)
{
    return ncclBroadcast(buffer, buffer, n, type, root, comm, stream);
}

PUBLIC int ncclAlltoAll(const void *send, void *recv, size_t n, int type, struct comm *comm, void *stream)
{
    return stream == (void *)7 ? called(comm, TR_coll_op_AlltoAll, send, recv, n, type, -1) : 4;
}

PUBLIC int ncclSend(const void *send, size_t n, int type, int peer, struct comm *comm, void *stream)
{
    return stream == (void *)7 ? called(comm, TR_coll_op_Send, send, NULL, n, type, peer) : 4;
}

PUBLIC int ncclRecv(void *recv, size_t n, int type, int peer, struct comm *comm, void *stream)
{
    return stream == (void *)7 ? called(comm, TR_coll_op_Recv, NULL, recv, n, type, peer) : 4;
}

PUBLIC int ncclMemAlloc(void **ptr, size_t n)
{
    *ptr = malloc(n);
    return 0;
}

PUBLIC int ncclMemFree(void *ptr)
{
    free(ptr);
    return 0;
}
