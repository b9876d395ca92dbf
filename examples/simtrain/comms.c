/* comms.c - the ranks' communicators, made as frameworks make them (a unique id handed over by a store, here files),
 * and what goes over them: gradients in buckets while the backward pass goes on, parts of layers within them,
 * activations between stages. Each communicator has a stream of its own; events order it with the compute stream.
 * Called by the training thread and, while that waits, by the backward thread. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "examples/simtrain/job.h"

#define NON_BLOCKING 1
#define NO_TIMING 2
#define TOKENS 4096
#define WIDTH 2048

static struct {
    void *gradients, *tokens[2]; /* device memory; what is sent of it is not looked at */
    size_t pending;              /* bytes of gradients that are there and not yet sent */
    int pieces;                  /* all-reduces launched in this step */
} own;

static void check(const struct rank *r, ncclResult_t result, const char *what)
{
    if (result != ncclSuccess)
        rank_failed(r, what, ncclGetErrorString(result));
}

/* ---- Communicators
 * ---------------------------------------------------------------------------------------------------------------- */
/* The id appears whole: it is renamed into place. */
static void hand_over(const struct rank *r, const char *path, const ncclUniqueId *id)
{
    char temporary[720];
    snprintf(temporary, sizeof(temporary), "%s.tmp", path);
    FILE *f = fopen(temporary, "we");
    if (!f || fwrite(id, sizeof(*id), 1, f) != 1 || fclose(f) || rename(temporary, path))
        rank_failed(r, "store", path);
}

static void take_over(const struct rank *r, const char *path, ncclUniqueId *ret)
{
    FILE *f;
    while (!(f = fopen(path, "re")))
        nanosleep(&(struct timespec){0, 5000000}, NULL);
    if (fread(ret, sizeof(*ret), 1, f) != 1)
        rank_failed(r, "store", path);
    fclose(f);
}

/* first, stride: the group is ranks first, first + stride, ... */
static void make_group(struct rank *r, struct group *g, const char *name, int first, int stride, int size)
{
    char path[700];
    ncclUniqueId id;
    g->size = size;
    g->rank = (r->rank - first) / stride;
    if (size < 2)
        return;
    snprintf(path, sizeof(path), "%s/store/%s-%d", r->o->dir, name, first);
    if (g->rank == 0) {
        check(r, ncclGetUniqueId(&id), "ncclGetUniqueId");
        hand_over(r, path, &id);
    } else {
        take_over(r, path, &id);
    }
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    check(r, ncclCommInitRankConfig(&g->comm, size, id, g->rank, &config), "ncclCommInitRankConfig");
    cudaStreamCreateWithFlags(&g->stream, NON_BLOCKING);
    cudaEventCreateWithFlags(&g->ready, NO_TIMING);
    cudaEventCreateWithFlags(&g->done, NO_TIMING);
}

void comms_init(struct rank *r)
{
    const struct options *o = r->o;
    int per_stage = o->ranks / o->pp, tp_rank = r->rank % o->tp, stage = r->rank / per_stage;
    if (o->gradient_bytes)
        make_group(r, &r->dp, "dp", stage * per_stage + tp_rank, o->tp, per_stage / o->tp);
    make_group(r, &r->tp, "tp", r->rank - tp_rank, 1, o->tp);
    make_group(r, &r->pp, "pp", r->rank % per_stage, per_stage, o->pp);
    r->layers = o->layers / o->pp;
    if (o->faults[FAULT_STAGE].on && o->faults[FAULT_STAGE].rank / per_stage == stage)
        r->layers = (int)(r->layers * o->faults[FAULT_STAGE].size + 0.5);
    r->share = o->micro > o->pp ? (double)o->pp / o->micro : 1;
    if (!r->dp.comm && !r->tp.comm && !r->pp.comm)
        return;
    own.gradients = c10_cuda_malloc(o->gradient_bytes * (size_t)r->layers + 1);
    own.tokens[0] = c10_cuda_malloc((size_t)TOKENS * WIDTH * 2);
    own.tokens[1] = c10_cuda_malloc((size_t)TOKENS * WIDTH * 2);
    if (!own.gradients || !own.tokens[0] || !own.tokens[1])
        rank_failed(r, "buffers", "out of memory");
}

void comms_drain(struct rank *r)
{
    struct group *groups[] = {&r->dp, &r->tp, &r->pp};
    for (int i = 0; i < 3; i++)
        if (groups[i]->comm)
            cudaStreamSynchronize(groups[i]->stream);
}

void comms_finish(struct rank *r)
{
    struct group *groups[] = {&r->pp, &r->tp, &r->dp};
    for (int i = 0; i < 3; i++)
        if (groups[i]->comm)
            check(r, ncclCommDestroy(groups[i]->comm), "ncclCommDestroy");
}

/* ---- Order between streams
 * ---------------------------------------------------------------------------------------------------------- */
static void after_compute(struct rank *r, struct group *g)
{
    cudaEventRecord(g->ready, r->compute);
    cudaStreamWaitEvent(g->stream, g->ready, 0);
}

static void before_compute(struct rank *r, struct group *g)
{
    cudaEventRecord(g->done, g->stream);
    cudaStreamWaitEvent(r->compute, g->done, 0);
}

/* ---- Within layers
 * ------------------------------------------------------------------------------------------------------------------ */
void comms_tensor(struct rank *r, enum tensor_call what)
{
    struct group *g = &r->tp;
    if (!g->comm)
        return;
    size_t count = (size_t)(TOKENS * WIDTH * r->share), part = count / (size_t)g->size;
    void *from = own.tokens[0], *to = own.tokens[1];
    ncclResult_t result;
    after_compute(r, g);
    if (what == TENSOR_GATHER)
        result = ncclAllGather(from, to, part, ncclBfloat16, g->comm, g->stream);
    else if (what == TENSOR_SCATTER)
        result = ncclReduceScatter(from, to, part, ncclBfloat16, ncclSum, g->comm, g->stream);
    else
        result = ncclAllReduce(to, to, count, ncclBfloat16, ncclSum, g->comm, g->stream);
    check(r, result, "collective within a layer");
    before_compute(r, g);
}

/* ---- Gradients
 * ----------------------------------------------------------------------------------------------------------------------
 */
static void reduce(struct rank *r, size_t bytes)
{
    check(r, ncclAllReduce(own.gradients, own.gradients, bytes / 2, ncclBfloat16, ncclAvg, r->dp.comm, r->dp.stream),
          "ncclAllReduce");
}

/* In so many pieces, `together` of them as one launch. */
static void reduce_pieces(struct rank *r, size_t bytes, int pieces, int together)
{
    for (int i = 0; i < pieces; i += together) {
        int end = i + together < pieces ? i + together : pieces;
        if (together > 1)
            check(r, ncclGroupStart(), "ncclGroupStart");
        for (int j = i; j < end; j++)
            reduce(r, bytes / (size_t)pieces);
        if (together > 1)
            check(r, ncclGroupEnd(), "ncclGroupEnd");
    }
}

static void send_bucket(struct rank *r)
{
    if (!own.pending)
        return;
    after_compute(r, &r->dp);
    if (fault_here(r, FAULT_SMALL_MESSAGES))
        reduce_pieces(r, own.pending, (int)fault_size(r, FAULT_SMALL_MESSAGES), 1);
    else
        reduce_pieces(r, own.pending, r->o->coalesce, r->o->coalesce);
    own.pending = 0;
}

static double gradients_factor(const struct rank *r)
{
    double times = fault_here(r, FAULT_COMM_BOUND) ? fault_size(r, FAULT_COMM_BOUND) : 1;
    return fault_here(r, FAULT_NO_OVERLAP) ? times * fault_size(r, FAULT_NO_OVERLAP) : times;
}

void comms_gradients(struct rank *r, int layer)
{
    if (!r->dp.comm)
        return;
    own.pending += (size_t)((double)r->o->gradient_bytes * gradients_factor(r));
    bool full = own.pending >= r->o->bucket_bytes || layer == 0;
    if (full && !fault_here(r, FAULT_NO_OVERLAP))
        send_bucket(r);
}

void comms_wait_for_gradients(struct rank *r)
{
    if (!r->dp.comm)
        return;
    send_bucket(r); /* what the backward pass has left */
    before_compute(r, &r->dp);
}

/* ---- Between stages
 * ----------------------------------------------------------------------------------------------------------------- */
static void exchange(struct rank *r, unsigned what)
{
    struct group *g = &r->pp;
    size_t count = (size_t)(TOKENS * WIDTH * r->share);
    int next = g->rank + 1, previous = g->rank - 1;
    ncclDataType_t type = ncclBfloat16;
    if (what & TO_PREVIOUS)
        check(r, ncclSend(own.tokens[0], count, type, previous, g->comm, g->stream), "ncclSend");
    if (what & FROM_PREVIOUS)
        check(r, ncclRecv(own.tokens[1], count, type, previous, g->comm, g->stream), "ncclRecv");
    if (what & TO_NEXT)
        check(r, ncclSend(own.tokens[0], count, type, next, g->comm, g->stream), "ncclSend");
    if (what & FROM_NEXT)
        check(r, ncclRecv(own.tokens[1], count, type, next, g->comm, g->stream), "ncclRecv");
}

void comms_stages(struct rank *r, unsigned what)
{
    struct group *g = &r->pp;
    if (g->rank == 0)
        what &= ~(TO_PREVIOUS | FROM_PREVIOUS);
    if (g->rank == g->size - 1)
        what &= ~(TO_NEXT | FROM_NEXT);
    if (!what)
        return;
    after_compute(r, g);
    check(r, ncclGroupStart(), "ncclGroupStart");
    exchange(r, what);
    check(r, ncclGroupEnd(), "ncclGroupEnd");
    before_compute(r, g);
}
