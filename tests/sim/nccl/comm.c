/* comm.c - a communicator as such: its memory, its progress thread, exchanges between its ranks, its questions. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "tests/sim/nccl/inside.h"
#include "tests/sim/nccl/log.h"
#include "tests/sim/nccl/proxy.h"
#include "tests/sim/nccl/topology.h"

struct ncclComm *comm_new(void)
{
    struct ncclComm *c = calloc(1, sizeof(*c));
    if (!c)
        return NULL;
    c->magic = COMM_MAGIC;
    c->refs = 1;
    c->blocking = true;
    return c;
}

void comm_ref(struct ncclComm *c)
{
    __atomic_add_fetch(&c->refs, 1, __ATOMIC_RELAXED);
}

/* May be called with the engine's lock held. */
void comm_unref(struct ncclComm *c)
{
    if (__atomic_sub_fetch(&c->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    shared_close(&c->shared);
    sim_op_unref(c->last);
    free(c->peers);
    free(c->nr_sends);
    free(c->nr_receives);
    free(c);
}

ncclResult_t comm_check(struct ncclComm *c)
{
    if (!c || c->magic != COMM_MAGIC)
        return nccl_error(NULL, ncclInvalidArgument, "comm argument is %s", c ? "not a communicator" : "NULL");
    return (ncclResult_t)__atomic_load_n(&c->async_error, __ATOMIC_ACQUIRE);
}

static __thread char last_error[256];

ncclResult_t nccl_error(struct ncclComm *c, ncclResult_t result, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(last_error, sizeof(last_error), format, args);
    va_end(args);
    if (c)
        memcpy(c->error, last_error, sizeof(c->error));
    log_warn("%s", last_error);
    return result;
}

/* ---- Exchanges ---- */
/* Each rank puts
 * its words into its box and rings. A box is used again two exchanges later, when all have read it: nobody begins the
 * exchange in between before having read. */
static bool box_there(struct ncclComm *c, uint64_t round, const bool *members)
{
    for (int r = 0; r < c->nranks; r++)
        if ((!members || members[r]) && __atomic_load_n(&c->shared.ranks[r].round, __ATOMIC_SEQ_CST) < round)
            return false;
    return true;
}

ncclResult_t comm_exchange(struct ncclComm *c, const void *mine, size_t bytes, void *all, const bool *members)
{
    uint64_t round = ++c->nr_exchanges;
    struct shared_rank *own = &c->shared.ranks[c->rank];
    memcpy(own->box[round % 2], mine, bytes);
    __atomic_store_n(&own->round, round, __ATOMIC_SEQ_CST);
    for (int r = 0; r < c->nranks; r++)
        if (r != c->rank)
            shared_ring(&c->shared, r);
    for (;;) {
        uint32_t seen = __atomic_load_n(&own->bell, __ATOMIC_SEQ_CST);
        if (box_there(c, round, members))
            break;
        if (__atomic_load_n(&c->aborted, __ATOMIC_ACQUIRE))
            return ncclInternalError;
        shared_wait(&c->shared, c->rank, seen, 100000000);
    }
    for (int r = 0; r < c->nranks; r++)
        memcpy((char *)all + (size_t)r * bytes, c->shared.ranks[r].box[round % 2], bytes);
    return ncclSuccess;
}

/* ---- The progress thread: woken when another rank told a start that something here may have waited for ---- */
static void name_thread(const struct ncclComm *c)
{
    char name[16];
    snprintf(name, sizeof(name), "NCCL Progress%2d", c->device);
    if (nccl_variable_number("NCCL_SET_THREAD_NAME", 0) == 1)
        prctl(PR_SET_NAME, name);
}

/* Ports that report errors, on request: in step with the kernels, so that nothing depends on the clock. */
static void port_events(struct ncclComm *c, uint64_t *told)
{
    uint64_t every = (uint64_t)nccl_settings()->port_events;
    uint64_t nr = __atomic_load_n(&c->nr_launches, __ATOMIC_RELAXED);
    for (; every && *told < nr / every; ++*told)
        if (topology_uses(c, LINK_IB))
            topology_port_event(c);
}

#define LOOK_NS 50000000u

static void *run_progress(void *arg)
{
    struct ncclComm *c = arg;
    uint64_t told = 0;
    name_thread(c);
    sim_set_current(c->device);
    while (!__atomic_load_n(&c->stopping, __ATOMIC_ACQUIRE)) {
        uint32_t bell = __atomic_load_n(&c->shared.ranks[c->rank].bell, __ATOMIC_SEQ_CST);
        bool open = __atomic_load_n(&c->nr_open, __ATOMIC_ACQUIRE) > 0;
        if (open)
            sim_op_decided();
        port_events(c, &told);
        uint64_t due = proxy_progress(c), now = sim_now();
        /* Should a ring be lost, or a rank be gone that had the last word, it is noticed by looking. */
        uint64_t longest = open ? LOOK_NS : 10 * LOOK_NS;
        if (due > now)
            shared_wait(&c->shared, c->rank, bell, due - now < longest ? due - now : longest);
    }
    port_events(c, &told);
    proxy_end(c);
    comm_unref(c);
    return NULL;
}

void comm_start_progress(struct ncclComm *c)
{
    comm_ref(c);
    c->progress_runs = pthread_create(&c->progress, NULL, run_progress, c) == 0;
    if (!c->progress_runs)
        comm_unref(c);
}

/* Ends the thread; unless it is an abort, after everything launched has its end, as destroying waits for that. */
void comm_stop(struct ncclComm *c, bool abort)
{
    if (abort) {
        __atomic_store_n(&c->aborted, 1, __ATOMIC_RELEASE);
        sim_op_decided();
    }
    while ((__atomic_load_n(&c->nr_open, __ATOMIC_ACQUIRE) > 0 || !proxy_idle(c)) &&
           !__atomic_load_n(&c->aborted, __ATOMIC_ACQUIRE)) {
        uint32_t bell = __atomic_load_n(&c->shared.ranks[c->rank].bell, __ATOMIC_SEQ_CST);
        shared_wait(&c->shared, c->rank, bell, 20000000);
    }
    if (c->shared.ranks)
        __atomic_store_n(&c->shared.ranks[c->rank].gone, 1, __ATOMIC_RELEASE);
    __atomic_store_n(&c->stopping, 1, __ATOMIC_RELEASE);
    if (c->progress_runs) {
        shared_ring(&c->shared, c->rank);
        pthread_join(c->progress, NULL);
        c->progress_runs = false;
    }
}

/* ---- Questions ---- */
#define ASK(name, type, expression)                                                                                    \
    NCCL(ncclResult_t, name, (const ncclComm_t c, type *ret))                                                          \
    {                                                                                                                  \
        ncclResult_t error = comm_check(c);                                                                            \
        if (error)                                                                                                     \
            return error;                                                                                              \
        *ret = expression;                                                                                             \
        return ncclSuccess;                                                                                            \
    }
ASK(CommCount, int, c->nranks)
ASK(CommCuDevice, int, c->device)
ASK(CommUserRank, int, c->rank)

NCCL(ncclResult_t, CommGetAsyncError, (ncclComm_t c, ncclResult_t *error))
{
    if (!c || c->magic != COMM_MAGIC)
        return ncclInvalidArgument;
    *error = (ncclResult_t)__atomic_load_n(&c->async_error, __ATOMIC_ACQUIRE);
    return ncclSuccess;
}

NCCL(const char *, GetLastError, (ncclComm_t comm))
{
    return last_error;
}

NCCL(const char *, GetErrorString, (ncclResult_t result))
{
    static const char *const texts[] = {"no error",
                                        "unhandled cuda error (run with NCCL_DEBUG=INFO for details)",
                                        "unhandled system error (run with NCCL_DEBUG=INFO for details)",
                                        "internal error - please report this issue to the NCCL developers",
                                        "invalid argument (run with NCCL_DEBUG=WARN for details)",
                                        "invalid usage (run with NCCL_DEBUG=WARN for details)",
                                        "remote process exited or there was a network error",
                                        "NCCL operation in progress",
                                        "NCCL operation timed out"};
    return (unsigned)result < sizeof(texts) / sizeof(texts[0]) ? texts[result] : "unknown result code";
}
