/* nccl.c - the rows of hooks_nccl.def against the real declarations: each call is made once with our parameters, so a
 * parameter too many, too few or of another class does not compile. Compiled, never run (tests/check-abi.t).
 *
 * ABSENT: a header that makes calls which this release does not have macros. HAS_COMM_NAME: its ncclConfig_t has a
 * name. */
#include <stddef.h>
#include <stdint.h>

#include <nccl.h>

#include "shim/nccl_abi.h"

_Static_assert(sizeof(ncclUniqueId) == sizeof(struct nccl_id), "handed by value");
_Static_assert(ncclSuccess == (int)NCCL_SUCCESS && ncclSystemError == (int)NCCL_SYSTEM_ERROR &&
                   ncclInProgress == (int)NCCL_IN_PROGRESS,
               "results");
_Static_assert(ncclInt8 == 0 && ncclFloat32 == 7 && ncclFloat64 == 8, "types are told by number");
_Static_assert(offsetof(ncclConfig_t, size) == offsetof(struct nccl_config, size) &&
                   offsetof(ncclConfig_t, magic) == offsetof(struct nccl_config, magic) &&
                   offsetof(ncclConfig_t, blocking) == offsetof(struct nccl_config, blocking) &&
                   offsetof(ncclConfig_t, netName) == offsetof(struct nccl_config, net),
               "the beginning of the configuration");
#ifdef HAS_COMM_NAME
_Static_assert(offsetof(ncclConfig_t, commName) == offsetof(struct nccl_config, name), "the communicator's name");
#else
_Static_assert(sizeof(ncclConfig_t) < sizeof(struct nccl_config), "by its size it has no name");
#endif
#include ABSENT

#define NCCL_ID ncclUniqueId
#define HOOK_NCCL(open, fn, params, args, before, after)                                                               \
    int check_##fn params;                                                                                             \
    int check_##fn params                                                                                              \
    {                                                                                                                  \
        return (int)fn args;                                                                                           \
    }
#define HOOK_NCCL_GROUP(fn, params, args, change, dropped) HOOK_NCCL(, fn, params, args, , )
#include "shim/hooks_nccl.def"
