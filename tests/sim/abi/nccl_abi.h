/* nccl_abi.h - the part of nccl.h that the simulated NCCL offers, written out: types, numbers and functions as of NCCL
 * 2.32. Programs that run on it may include this file instead of NVIDIA's. */
#ifndef SIM_NCCL_ABI_H
#define SIM_NCCL_ABI_H

#include <stddef.h>
#include <stdint.h>

typedef struct ncclComm *ncclComm_t;
typedef struct ncclWindow_vidmem *ncclWindow_t;
typedef struct CUstream_st *nccl_stream_t; /* cudaStream_t */

typedef enum {
    ncclSuccess,
    ncclUnhandledCudaError,
    ncclSystemError,
    ncclInternalError,
    ncclInvalidArgument,
    ncclInvalidUsage,
    ncclRemoteError,
    ncclInProgress,
    ncclTimeout, /* 2.30 */
    ncclNumResults
} ncclResult_t;

typedef enum {
    ncclInt8,
    ncclUint8,
    ncclInt32,
    ncclUint32,
    ncclInt64,
    ncclUint64,
    ncclFloat16,
    ncclFloat32,
    ncclFloat64,
    ncclBfloat16,
    ncclFloat8e4m3,
    ncclFloat8e5m2,
    ncclNumTypes
} ncclDataType_t;

typedef enum { ncclSum, ncclProd, ncclMax, ncclMin, ncclAvg, ncclNumOps } ncclRedOp_t; /* from ncclNumOps on: made */
typedef enum { ncclScalarDevice, ncclScalarHostImmediate } ncclScalarResidence_t;

typedef struct {
    char internal[128];
} ncclUniqueId;

#define NCCL_CONFIG_UNDEF_INT INT32_MIN
#define NCCL_CONFIG_MAGIC 0xcafebeefu
#define NCCL_SPLIT_NOCOLOR -1
#define NCCL_SHRINK_ABORT 1

/* A caller that knows fewer members says so by `size`. */
typedef struct {
    size_t size;
    unsigned magic, version;
    int blocking, cgaClusterSize, minCTAs, maxCTAs;
    const char *netName;
    int splitShare, trafficClass;
    const char *commName;
    int collnetEnable, CTAPolicy, shrinkShare, nvlsCTAs, nChannelsPerNetPeer, nvlinkCentricSched;
} ncclConfig_t;

#define NCCL_CONFIG_INITIALIZER                                                                                        \
    {                                                                                                                  \
        .size = sizeof(ncclConfig_t), .magic = NCCL_CONFIG_MAGIC, .version = 22809, .blocking = NCCL_CONFIG_UNDEF_INT, \
        .cgaClusterSize = NCCL_CONFIG_UNDEF_INT, .minCTAs = NCCL_CONFIG_UNDEF_INT, .maxCTAs = NCCL_CONFIG_UNDEF_INT,   \
        .netName = NULL, .splitShare = NCCL_CONFIG_UNDEF_INT, .trafficClass = NCCL_CONFIG_UNDEF_INT, .commName = NULL, \
        .collnetEnable = NCCL_CONFIG_UNDEF_INT, .CTAPolicy = NCCL_CONFIG_UNDEF_INT,                                    \
        .shrinkShare = NCCL_CONFIG_UNDEF_INT, .nvlsCTAs = NCCL_CONFIG_UNDEF_INT,                                       \
        .nChannelsPerNetPeer = NCCL_CONFIG_UNDEF_INT, .nvlinkCentricSched = NCCL_CONFIG_UNDEF_INT,                     \
    }

typedef struct {
    size_t size;
    unsigned magic, version;
    float estimatedTime; /* ms */
} ncclSimInfo_t;

typedef struct ncclWaitSignalDesc {
    int opCnt, peer, sigIdx, ctx;
} ncclWaitSignalDesc_t;

/* 2.31: per call; only the tag means anything here. */
typedef struct ncclCollConfig {
    size_t size;
    unsigned magic, version;
    void *ext;
    int minCTAs, maxCTAs, nvlsCTAs, cgaClusterSize;
    const char *algSelection;
    int forceAlgSelection, CTAPolicy;
    uint64_t userProfilerTag;
    void *launchCompletionEvent;
} ncclCollConfig_t;

/* Every function, as FUNCTION(result, name, arguments): declared here with its pnccl twin. */
#define NCCL_BUFFERS const void *send, void *recv, size_t count, ncclDataType_t type
#define NCCL_END ncclComm_t comm, nccl_stream_t stream
#define NCCL_FUNCTIONS(F)                                                                                              \
    F(ncclResult_t, GetVersion, (int *version))                                                                        \
    F(ncclResult_t, GetUniqueId, (ncclUniqueId * id))                                                                  \
    F(ncclResult_t, CommInitRank, (ncclComm_t * comm, int nranks, ncclUniqueId id, int rank))                          \
    F(ncclResult_t, CommInitRankConfig,                                                                                \
      (ncclComm_t * comm, int nranks, ncclUniqueId id, int rank, ncclConfig_t *config))                                \
    F(ncclResult_t, CommInitRankScalable,                                                                              \
      (ncclComm_t * comm, int nranks, int rank, int nr_ids, ncclUniqueId *ids, ncclConfig_t *config))                  \
    F(ncclResult_t, CommInitAll, (ncclComm_t * comms, int nr_devices, const int *devices))                             \
    F(ncclResult_t, CommSplit, (ncclComm_t comm, int color, int key, ncclComm_t *ret, ncclConfig_t *config))           \
    F(ncclResult_t, CommShrink,                                                                                        \
      (ncclComm_t comm, int *excluded, int nr_excluded, ncclComm_t *ret, ncclConfig_t *config, int flags))             \
    F(ncclResult_t, CommGrow,                                                                                          \
      (ncclComm_t comm, int nranks, const ncclUniqueId *id, int rank, ncclComm_t *ret, ncclConfig_t *config))          \
    F(ncclResult_t, CommGetUniqueId, (ncclComm_t comm, ncclUniqueId * id))                                             \
    F(ncclResult_t, CommFinalize, (ncclComm_t comm))                                                                   \
    F(ncclResult_t, CommDestroy, (ncclComm_t comm))                                                                    \
    F(ncclResult_t, CommAbort, (ncclComm_t comm))                                                                      \
    F(ncclResult_t, CommRevoke, (ncclComm_t comm, int flags))                                                          \
    F(ncclResult_t, CommCount, (const ncclComm_t comm, int *count))                                                    \
    F(ncclResult_t, CommCuDevice, (const ncclComm_t comm, int *device))                                                \
    F(ncclResult_t, CommUserRank, (const ncclComm_t comm, int *rank))                                                  \
    F(ncclResult_t, CommGetAsyncError, (ncclComm_t comm, ncclResult_t * error))                                        \
    F(const char *, GetErrorString, (ncclResult_t result))                                                             \
    F(const char *, GetLastError, (ncclComm_t comm))                                                                   \
    F(ncclResult_t, MemAlloc, (void **ptr, size_t size))                                                               \
    F(ncclResult_t, MemFree, (void *ptr))                                                                              \
    F(ncclResult_t, CommRegister, (const ncclComm_t comm, void *buff, size_t size, void **handle))                     \
    F(ncclResult_t, CommDeregister, (const ncclComm_t comm, void *handle))                                             \
    F(ncclResult_t, CommWindowRegister, (ncclComm_t comm, void *buff, size_t size, ncclWindow_t *win, int flags))      \
    F(ncclResult_t, CommWindowDeregister, (ncclComm_t comm, ncclWindow_t win))                                         \
    F(ncclResult_t, RedOpCreatePreMulSum,                                                                              \
      (ncclRedOp_t * op, void *scalar, ncclDataType_t type, ncclScalarResidence_t residence, ncclComm_t comm))         \
    F(ncclResult_t, RedOpDestroy, (ncclRedOp_t op, ncclComm_t comm))                                                   \
    F(ncclResult_t, GroupStart, (void))                                                                                \
    F(ncclResult_t, GroupEnd, (void))                                                                                  \
    F(ncclResult_t, GroupSimulateEnd, (ncclSimInfo_t * info))                                                          \
    F(ncclResult_t, AllReduce, (NCCL_BUFFERS, ncclRedOp_t op, NCCL_END))                                               \
    F(ncclResult_t, Reduce, (NCCL_BUFFERS, ncclRedOp_t op, int root, NCCL_END))                                        \
    F(ncclResult_t, Bcast, (void *buff, size_t count, ncclDataType_t type, int root, NCCL_END))                        \
    F(ncclResult_t, Broadcast, (NCCL_BUFFERS, int root, NCCL_END))                                                     \
    F(ncclResult_t, AllGather, (NCCL_BUFFERS, NCCL_END))                                                               \
    F(ncclResult_t, ReduceScatter, (NCCL_BUFFERS, ncclRedOp_t op, NCCL_END))                                           \
    F(ncclResult_t, AlltoAll, (NCCL_BUFFERS, NCCL_END))                                                                \
    F(ncclResult_t, Gather, (NCCL_BUFFERS, int root, NCCL_END))                                                        \
    F(ncclResult_t, Scatter, (NCCL_BUFFERS, int root, NCCL_END))                                                       \
    F(ncclResult_t, AllReduceConfig, (NCCL_BUFFERS, ncclRedOp_t op, NCCL_END, const ncclCollConfig_t *config))         \
    F(ncclResult_t, ReduceConfig, (NCCL_BUFFERS, ncclRedOp_t op, int root, NCCL_END, const ncclCollConfig_t *config))  \
    F(ncclResult_t, BroadcastConfig, (NCCL_BUFFERS, int root, NCCL_END, const ncclCollConfig_t *config))               \
    F(ncclResult_t, AllGatherConfig, (NCCL_BUFFERS, NCCL_END, const ncclCollConfig_t *config))                         \
    F(ncclResult_t, ReduceScatterConfig, (NCCL_BUFFERS, ncclRedOp_t op, NCCL_END, const ncclCollConfig_t *config))     \
    F(ncclResult_t, AlltoAllConfig, (NCCL_BUFFERS, NCCL_END, const ncclCollConfig_t *config))                          \
    F(ncclResult_t, GatherConfig, (NCCL_BUFFERS, int root, NCCL_END, const ncclCollConfig_t *config))                  \
    F(ncclResult_t, ScatterConfig, (NCCL_BUFFERS, int root, NCCL_END, const ncclCollConfig_t *config))                 \
    F(ncclResult_t, Send, (const void *buff, size_t count, ncclDataType_t type, int peer, NCCL_END))                   \
    F(ncclResult_t, Recv, (void *buff, size_t count, ncclDataType_t type, int peer, NCCL_END))                         \
    F(ncclResult_t, PutSignal,                                                                                         \
      (const void *buff, size_t count, ncclDataType_t type, int peer, ncclWindow_t win, size_t offset, int signal,     \
       int ctx, unsigned flags, NCCL_END))                                                                             \
    F(ncclResult_t, Signal, (int peer, int signal, int ctx, unsigned flags, NCCL_END))                                 \
    F(ncclResult_t, WaitSignal, (int nr, ncclWaitSignalDesc_t *signals, NCCL_END))

#define NCCL_DECLARE(result, name, arguments)                                                                          \
    __attribute__((visibility("default"))) result nccl##name arguments;                                                \
    __attribute__((visibility("default"))) result pnccl##name arguments;
NCCL_FUNCTIONS(NCCL_DECLARE)

#endif
