/* misc.c - version, memory, registration, and reductions that users make. */
#include <stdlib.h>

#include "tests/sim/nccl/inside.h"

NCCL(ncclResult_t, GetVersion, (int *version))
{
    if (!version)
        return ncclInvalidArgument;
    *version = nccl_version();
    return ncclSuccess;
}

/* Memory that can be shared with others is mapped by the driver, in its granularity. */
NCCL(ncclResult_t, MemAlloc, (void **ptr, size_t size))
{
    if (!ptr || !size)
        return ncclInvalidArgument;
    return sim_malloc(sim_current(), (size + SIM_GRANULARITY - 1) / SIM_GRANULARITY * SIM_GRANULARITY, ptr)
               ? ncclUnhandledCudaError
               : ncclSuccess;
}

NCCL(ncclResult_t, MemFree, (void *ptr))
{
    return sim_free(ptr) ? ncclUnhandledCudaError : ncclSuccess;
}

static ncclResult_t give_handle(struct ncclComm *c, const void *buff, size_t size, void **ret)
{
    ncclResult_t error = comm_check(c);
    if (error)
        return error;
    if (!buff || !size || !ret)
        return nccl_error(c, ncclInvalidArgument, "registration of %zu bytes at %p", size, buff);
    *ret = malloc(1);
    return *ret ? ncclSuccess : ncclSystemError;
}

static ncclResult_t take_handle(struct ncclComm *c, void *handle)
{
    ncclResult_t error = comm_check(c);
    if (!error)
        free(handle);
    return error;
}

NCCL(ncclResult_t, CommRegister, (const ncclComm_t comm, void *buff, size_t size, void **handle))
{
    return give_handle(comm, buff, size, handle);
}

NCCL(ncclResult_t, CommDeregister, (const ncclComm_t comm, void *handle))
{
    return take_handle(comm, handle);
}

NCCL(ncclResult_t, CommWindowRegister, (ncclComm_t comm, void *buff, size_t size, ncclWindow_t *win, int flags))
{
    return give_handle(comm, buff, size, (void **)win);
}

NCCL(ncclResult_t, CommWindowDeregister, (ncclComm_t comm, ncclWindow_t win))
{
    return take_handle(comm, win);
}

static int last_op = ncclNumOps - 1;

NCCL(ncclResult_t, RedOpCreatePreMulSum,
     (ncclRedOp_t * op, void *scalar, ncclDataType_t type, ncclScalarResidence_t residence, ncclComm_t comm))
{
    ncclResult_t error = comm_check(comm);
    if (!error)
        *op = (ncclRedOp_t)__atomic_add_fetch(&last_op, 1, __ATOMIC_RELAXED);
    return error;
}

NCCL(ncclResult_t, RedOpDestroy, (ncclRedOp_t op, ncclComm_t comm))
{
    return op < ncclNumOps ? nccl_error(comm, ncclInvalidArgument, "ncclRedOpDestroy : operator is builtin")
                           : comm_check(comm);
}
