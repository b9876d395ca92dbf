/* end.c - ending communicators: finalize, destroy (which waits for what was launched), abort and revoke (which do not).
 */
#include <unistd.h>

#include "tests/sim/nccl/inside.h"
#include "tests/sim/nccl/log.h"
#include "tests/sim/nccl/net_plugin.h"
#include "tests/sim/nccl/profiler.h"

static void say_gone(const struct ncclComm *c, const char *what)
{
    if (c->peers)
        log_info(LOG_INIT, "comm %p rank %d nranks %d cudaDev %d busId %llx - %s COMPLETE", (void *)c, c->rank,
                 c->nranks, c->device, (unsigned long long)c->peers[c->rank].bus, what);
}

static ncclResult_t end(struct ncclComm *c, bool abort)
{
    if (!c)
        return ncclSuccess;
    if (c->magic != COMM_MAGIC)
        return nccl_error(NULL, ncclInvalidArgument, "comm argument is not a communicator");
    if (abort)
        __atomic_store_n(&c->aborted, 1, __ATOMIC_RELEASE);
    while (__atomic_load_n(&c->async_error, __ATOMIC_ACQUIRE) == ncclInProgress)
        usleep(1000); /* still being made: it notices */
    comm_stop(c, abort);
    profiler_comm_end(c);
    net_plugin_comm_end(c);
    say_gone(c, abort ? "Abort" : "Destroy");
    c->magic = 0;
    comm_unref(c);
    return ncclSuccess;
}

NCCL(ncclResult_t, CommFinalize, (ncclComm_t comm))
{
    ncclResult_t error = comm_check(comm);
    if (error)
        return error;
    if (comm->finalized)
        return nccl_error(comm, ncclInvalidUsage, "comm has been finalized already");
    comm->finalized = true;
    return ncclSuccess;
}

NCCL(ncclResult_t, CommDestroy, (ncclComm_t comm))
{
    return end(comm, false);
}

NCCL(ncclResult_t, CommAbort, (ncclComm_t comm))
{
    return end(comm, true);
}

/* What was launched ends; the communicator can only be shrunk or destroyed then. */
NCCL(ncclResult_t, CommRevoke, (ncclComm_t comm, int flags))
{
    ncclResult_t error = comm_check(comm);
    if (error)
        return error;
    launch_forget(comm);
    comm->finalized = true;
    return ncclSuccess;
}
