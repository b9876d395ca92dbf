/* bcast.c - ncclBcast calls ncclBroadcast by its public name, as the real one: who interposes both is called twice. In
 * a file of its own, or the compiler would take a shorter way. */
#include "tests/sim/nccl/inside.h"

NCCL(ncclResult_t, Bcast, (void *buff, size_t count, ncclDataType_t type, int root, NCCL_END))
{
    return ncclBroadcast(buff, buff, count, type, root, comm, stream);
}
