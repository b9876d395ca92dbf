/* nccl_profiler_abi.h - NCCL's profiler plugin interface, versions 1 to 7, as a caller needs it: an event's descriptor
 * is written field by field at the offsets of its version (nccl_profiler_fields.def). */
#ifndef SIM_NCCL_PROFILER_ABI_H
#define SIM_NCCL_PROFILER_ABI_H

#include <stdint.h>

#define PROFILER_VERSIONS 7
#define PROFILER_DESCRIPTOR_BYTES 136

enum profiler_type {
    PROFILE_Group = 0x1,
    PROFILE_Coll = 0x2,
    PROFILE_P2p = 0x4,
    PROFILE_ProxyOp = 0x8,
    PROFILE_ProxyStep = 0x10,
    PROFILE_ProxyCtrl = 0x20,
    PROFILE_KernelCh = 0x40,
    PROFILE_NetPlugin = 0x80,
    PROFILE_GroupApi = 0x100,
    PROFILE_CollApi = 0x200,
    PROFILE_P2pApi = 0x400,
    PROFILE_KernelLaunch = 0x800,
};

enum profiler_state {
    STATE_SendPosted,
    STATE_SendRemFifoWait,
    STATE_SendTransmitted,
    STATE_SendDone,
    STATE_RecvPosted,
    STATE_RecvReceived,
    STATE_RecvTransmitted,
    STATE_RecvDone,
    STATE_StepSendGPUWait,
    STATE_StepSendWait,
    STATE_StepRecvWait,
    STATE_StepRecvFlushWait,
    STATE_StepRecvGPUWait,
    STATE_CtrlIdle,
    STATE_CtrlActive,
    STATE_CtrlSleep,
    STATE_CtrlWakeup,
    STATE_CtrlAppend,
    STATE_CtrlAppendEnd,
    STATE_OpInProgress, /* 4 on */
    STATE_StepSendPeerWait,
    STATE_NetPluginUpdate,
    STATE_KernelChStop,
    STATE_GroupStartApiStop, /* 5 on */
    STATE_GroupEndApiStart,
};

typedef void profiler_logger(int level, unsigned long flags, const char *file, int line, const char *format, ...);

struct profiler_plugin { /* what the symbol ncclProfiler_vN is */
    const char *name;
    union {
        int (*init_1)(void **context, int *mask); /* 1 to 3 */
        int (*init_4)(void **context, int *mask, const char *name, uint64_t hash, int nodes, int nranks, int rank,
                      profiler_logger *log);
        int (*init_5)(void **context, uint64_t hash, int *mask, const char *name, int nodes, int nranks, int rank,
                      profiler_logger *log); /* 5 to 7 */
    };
    int (*start)(void *context, void **handle, void *descriptor);
    int (*stop)(void *handle);
    int (*state)(void *handle, int state, void *args);
    int (*finalize)(void *context);
};

union profiler_args {
    struct {
        uint64_t trans_size;
        int steps; /* 1 to 3 */
    };
    int appended;
    uint64_t ptimer;
    void *data;
    uint64_t room[2];
};

#endif
