/* group.c - groups: what a thread calls between ncclGroupStart and the outermost ncclGroupEnd happens at its end,
 * communicators first, then one kernel for each communicator with all its calls. A call outside is a group of one. */
#include <stdlib.h>
#include <string.h>

#include "tests/sim/nccl/inside.h"
#include "tests/sim/nccl/log.h"
#include "tests/sim/nccl/profiler.h"

static __thread struct {
    int depth;
    struct call *calls, **calls_end;
    struct init_job *jobs, **jobs_end;
    ncclResult_t error;
} group;

ncclResult_t group_start(void)
{
    if (group.depth++ == 0) {
        group.calls_end = &group.calls;
        group.jobs_end = &group.jobs;
        group.error = ncclSuccess;
    }
    return ncclSuccess;
}

bool group_add_job(struct init_job *job)
{
    if (group.depth == 0)
        return false;
    *group.jobs_end = job;
    group.jobs_end = &job->next;
    return true;
}

/* ---- Calls ---- */
static ncclResult_t check(const struct call *call)
{
    struct ncclComm *c = call->comm;
    ncclResult_t error = comm_check(c);
    if (error)
        return error;
    if (c->finalized)
        return nccl_error(c, ncclInvalidUsage, "%s : comm was finalized", call->api);
    if ((unsigned)call->type >= ncclNumTypes)
        return nccl_error(c, ncclInvalidArgument, "%s : invalid type %d", call->api, (int)call->type);
    if (call->op < 0)
        return nccl_error(c, ncclInvalidArgument, "%s : invalid reduction operation %d", call->api, call->op);
    if (call->root < -1 || call->root >= c->nranks)
        return nccl_error(c, ncclInvalidArgument, "%s : invalid root %d (root should be in the 0..%d range)", call->api,
                          call->root, c->nranks);
    if (!call->stream)
        return nccl_error(c, ncclInvalidArgument, "%s : stream is not valid", call->api);
    return ncclSuccess;
}

static void say(const struct call *call)
{
    struct ncclComm *c = call->comm;
    /* Since 2.27 the count stays at 0 where there is one node only. */
    uint64_t count = nccl_version() >= 22700 && c->nr_nodes == 1 ? 0 : c->op_count;
    log_info(
        LOG_COLL,
        "%s: opCount %llx sendbuff %p recvbuff %p count %zu datatype %d op %d root %d comm %p [nranks=%d] stream %p",
        call->api, (unsigned long long)count, call->send, call->recv, call->count, (int)call->type, call->op,
        call->root < 0 ? 0 : call->root, (void *)c, c->nranks, call->stream_handle);
    c->op_count++;
}

ncclResult_t group_add(const struct call *call)
{
    group_start();
    ncclResult_t error = check(call);
    struct call *own = error ? NULL : malloc(sizeof(*own));
    if (own) {
        *own = *call;
        own->next = NULL;
        say(own);
        if (own->count == 0 && own->func <= FUNC_Scatter) { /* nothing to move: nothing happens */
            free(own);
        } else {
            profiler_call(own, group.depth > 2 ? group.depth - 1 : 1);
            *group.calls_end = own;
            group.calls_end = &own->next;
        }
    } else if (!error) {
        error = ncclSystemError;
    }
    if (error && !group.error)
        group.error = error;
    ncclResult_t ended = group_end();
    return error ? error : ended;
}

/* ---- The end ---- */
static struct call *take_calls(void)
{
    struct call *calls = group.calls;
    group.calls = NULL;
    group.calls_end = &group.calls;
    return calls;
}

static void free_calls(struct call *calls)
{
    for (struct call *next; calls; calls = next) {
        next = calls->next;
        free(calls->api_events);
        free(calls);
    }
}

/* The calls of the first one's communicator, taken off the list, in an array. */
static struct call *take_communicator(struct call **list, unsigned *ret_nr)
{
    struct ncclComm *c = (*list)->comm;
    unsigned nr = 0, max = 8;
    struct call *own = malloc(max * sizeof(*own));
    for (struct call **at = list; *at && own;) {
        struct call *call = *at;
        if (call->comm != c) {
            at = &call->next;
            continue;
        }
        if (nr == max)
            own = realloc(own, (max *= 2) * sizeof(*own));
        if (!own)
            abort();
        own[nr++] = *call;
        *at = call->next;
        free(call);
    }
    *ret_nr = nr;
    return own;
}

static ncclResult_t launch_all(struct call *calls)
{
    ncclResult_t result = ncclSuccess;
    while (calls) {
        unsigned nr;
        struct call *own = take_communicator(&calls, &nr);
        ncclResult_t error = launch_calls(own, nr);
        result = result ? result : error;
        for (unsigned i = 0; i < nr; i++)
            free(own[i].api_events);
        free(own);
    }
    return result;
}

ncclResult_t group_end(void)
{
    if (group.depth == 0)
        return nccl_error(NULL, ncclInvalidUsage, "ncclGroupEnd: not in a group call.");
    if (--group.depth > 0)
        return ncclSuccess;
    ncclResult_t result = group.error;
    struct init_job *jobs = group.jobs;
    struct call *calls = take_calls();
    group.jobs = NULL;
    profiler_group_end_begins();
    if (jobs) {
        ncclResult_t error = init_jobs(jobs);
        result = result ? result : error;
    }
    if (result && result != ncclInProgress) {
        free_calls(calls); /* one that failed takes the whole group with it */
    } else {
        ncclResult_t error = launch_all(calls);
        result = error ? error : result;
    }
    profiler_group_end_ends();
    return result;
}

/* What the group would take, in place of doing it. */
ncclResult_t group_simulate(ncclSimInfo_t *info)
{
    if (group.depth == 0)
        return nccl_error(NULL, ncclInvalidUsage, "ncclGroupSimulateEnd: not in a group call.");
    if (group.depth > 1)
        return nccl_error(NULL, ncclInvalidUsage, "ncclGroupSimulateEnd: inside another group");
    group.depth = 0;
    struct call *calls = take_calls();
    uint64_t ns = 0;
    while (calls) {
        unsigned nr;
        struct call *own = take_communicator(&calls, &nr);
        ns += own->comm->nranks > 1 ? plan_calls(own, nr).ns : 0;
        for (unsigned i = 0; i < nr; i++)
            free(own[i].api_events);
        free(own);
    }
    profiler_group_end_ends();
    if (info)
        info->estimatedTime = (float)ns / 1e6f;
    return group.error;
}

NCCL(ncclResult_t, GroupStart, (void))
{
    return group_start();
}

NCCL(ncclResult_t, GroupEnd, (void))
{
    return group_end();
}

NCCL(ncclResult_t, GroupSimulateEnd, (ncclSimInfo_t * info))
{
    return group_simulate(info);
}
