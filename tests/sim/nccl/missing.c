/* missing.c - what libnccl exports besides and the simulated one does not do: it says so once. */
#include "tests/sim/nccl/inside.h"

#define MISSING(name)                                                                                                  \
    SIM_EXPORT ncclResult_t p##name(void);                                                                             \
    __attribute__((weak, alias("p" #name), visibility("default"))) ncclResult_t name(void);                            \
    ncclResult_t p##name(void)                                                                                         \
    {                                                                                                                  \
        sim_say_missing(#name);                                                                                        \
        return ncclInvalidUsage;                                                                                       \
    }
MISSING(ncclCommSuspend)
MISSING(ncclCommResume)
MISSING(ncclCommMemStats)
MISSING(ncclDevCommCreate)
MISSING(ncclDevCommDestroy)
MISSING(ncclWinGetUserPtr)
MISSING(ncclParamBind)
MISSING(ncclParamGet)

/* Returns nothing: settings of the log are read once here. */
SIM_EXPORT void ncclResetDebugInit(void);
void ncclResetDebugInit(void)
{
    sim_say_missing("ncclResetDebugInit");
}
