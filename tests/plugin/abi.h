/* abi.h - NCCL's profiler interface, seen from NCCL's side: declared for the tests from the table of measured offsets,
 * apart from the plugin's own declarations, so that a mistake in one does not hide in the other. test_abi.c checks
 * every offset. Descriptors that differ between versions carry the first version that has them. */
#ifndef TESTS_PLUGIN_ABI_H
#define TESTS_PLUGIN_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    Group = 0x1,
    Coll = 0x2,
    P2p = 0x4,
    ProxyOp = 0x8,
    ProxyStep = 0x10,
    ProxyCtrl = 0x20,
    KernelCh = 0x40,
    NetPlugin = 0x80,
    GroupApi = 0x100,
    CollApi = 0x200,
    P2pApi = 0x400,
    KernelLaunch = 0x800,
    CeColl = 0x1000,
    CeSync = 0x2000,
    CeBatch = 0x4000,
    KernelPhase = 0x8000,
};

enum {
    ProxyOpSendTransmitted = 2,
    ProxyOpSendDone = 3,
    SendGPUWait = 8,
    SendWait = 9,
    RecvWait = 10,
    RecvFlushWait = 11,
    RecvGPUWait = 12,
    CtrlAppend = 17,
    CtrlAppendEnd = 18,
    OpInProgress = 19,
    SendPeerWait = 20,
    NetUpdate = 21,
    KernelChStop = 22,
    GroupStartApiStop = 23,
    GroupEndApiStart = 24,
    KernelPhaseStop = 31,
};

/* Payloads that never changed. */
struct proxy_op {
    pid_t pid;
    uint8_t channelId;
    int peer, nSteps, chunkSize, isSend;
};
struct proxy_step {
    int step;
};
struct kernel_ch_v3 {
    uint8_t channelId;
};
struct kernel_ch {
    uint8_t channelId;
    uint64_t pTimer;
};
struct net_plugin {
    int64_t id;
    void *data;
};
struct group_api {
    bool graphCaptured;
    int groupDepth;
};
struct kernel_launch {
    void *stream;
};

struct descr_v1 {
    uint8_t type;
    void *parentObj;
    int rank;
    union {
        struct {
            const char *name;
            uint64_t commHash, seqNumber;
            uint8_t func;
            void const *sendBuff;
            void *recvBuff;
            size_t count;
            int root;
            uint8_t datatype;
            uint32_t op;
            size_t trafficBytes;
            uint8_t nMaxChannels, nWarps, algo, proto;
            int isCollnet, isNvls;
        } coll;
        struct {
            const char *name;
            uint64_t commHash;
            uint8_t func;
            void *buff;
            uint8_t datatype;
            size_t count;
            int peer;
        } p2p;
        struct proxy_op proxyOp;
        struct proxy_step proxyStep;
    };
};

struct p2p_v2 {
    const char *name;
    uint64_t commHash;
    const char *func;
    void *buff;
    const char *datatype;
    size_t count;
    int peer;
};

struct descr_v2 {
    uint8_t type;
    void *parentObj;
    int rank;
    union {
        struct {
            const char *name;
            uint64_t commHash, seqNumber;
            const char *func;
            void const *sendBuff;
            void *recvBuff;
            size_t count;
            int root;
            const char *datatype;
            size_t trafficBytes;
            uint8_t nMaxChannels, nWarps;
            const char *algo, *proto;
        } coll;
        struct p2p_v2 p2p;
        struct proxy_op proxyOp;
        struct proxy_step proxyStep;
    };
};

struct descr_v3 {
    uint8_t type;
    void *parentObj;
    int rank;
    union {
        struct {
            const char *name;
            uint64_t commHash, seqNumber;
            const char *func;
            void const *sendBuff;
            void *recvBuff;
            size_t count;
            int root;
            const char *datatype;
            uint8_t nMaxChannels, nWarps;
            const char *algo, *proto;
        } coll;
        struct p2p_v2 p2p;
        struct proxy_op proxyOp;
        struct proxy_step proxyStep;
        struct kernel_ch_v3 kernelCh;
        struct net_plugin netPlugin;
    };
};

struct descr_v4 {
    uint8_t type;
    void *parentObj;
    int rank;
    union {
        struct {
            uint64_t seqNumber;
            const char *func;
            void const *sendBuff;
            void *recvBuff;
            size_t count;
            int root;
            const char *datatype;
            uint8_t nChannels, nWarps;
            const char *algo, *proto;
        } coll;
        struct {
            const char *func;
            void *buff;
            const char *datatype;
            size_t count;
            int peer;
            uint8_t nChannels;
        } p2p;
        struct proxy_op proxyOp;
        struct proxy_step proxyStep;
        struct kernel_ch kernelCh;
        struct net_plugin netPlugin;
    };
};

struct coll_v5 {
    uint64_t seqNumber;
    const char *func;
    void const *sendBuff;
    void *recvBuff;
    size_t count;
    int root;
    const char *datatype;
    uint8_t nChannels, nWarps;
    const char *algo, *proto;
    void *parentGroup;
};
struct p2p_v5 {
    const char *func;
    void *buff;
    const char *datatype;
    size_t count;
    int peer;
    uint8_t nChannels;
    void *parentGroup;
};
struct coll_api_v5 {
    const char *func;
    size_t count;
    const char *datatype;
    int root;
    void *stream;
    bool graphCaptured;
};
struct p2p_api_v5 {
    const char *func;
    size_t count;
    const char *datatype;
    void *stream;
    bool graphCaptured;
};

struct descr_v5 {
    uint64_t type;
    void *parentObj;
    int rank;
    union {
        struct group_api groupApi;
        struct coll_api_v5 collApi;
        struct p2p_api_v5 p2pApi;
        struct kernel_launch kernelLaunch;
        struct coll_v5 coll;
        struct p2p_v5 p2p;
        struct proxy_op proxyOp;
        struct proxy_step proxyStep;
        struct kernel_ch kernelCh;
        struct net_plugin netPlugin;
    };
};

struct ce_coll_v6 {
    uint64_t seqNumber;
    const char *func;
    void const *sendBuff;
    void *recvBuff;
    size_t count;
    int root;
    const char *datatype, *syncStrategy;
    bool intraBatchSync;
    uint32_t batchSize, numBatches, ceSeqNum;
    void *stream;
};

/* RCCL's version 6 has more behind the operation's payload, and larger arguments of states. */
struct proxy_op_rccl {
    struct proxy_op op;
    uint64_t commHash;
    int64_t opCount;
    int32_t trace[3];
    uint32_t bytes[2];
    int rawSteps;
};

struct descr_v6 {
    uint64_t type;
    void *parentObj;
    int rank;
    union {
        struct group_api groupApi;
        struct coll_api_v5 collApi;
        struct p2p_api_v5 p2pApi;
        struct kernel_launch kernelLaunch;
        struct coll_v5 coll;
        struct p2p_v5 p2p;
        struct proxy_op proxyOp;
        struct proxy_op_rccl proxyOpRccl;
        struct proxy_step proxyStep;
        struct kernel_ch kernelCh;
        struct net_plugin netPlugin;
        struct ce_coll_v6 ceColl;
        struct {
            bool isComplete;
            int nRanks;
        } ceCollSync;
        struct {
            int numOps;
            size_t totalBytes;
            bool useIntraSync;
        } ceCollBatch;
    };
};

struct descr_v7 {
    uint64_t type;
    void *parentObj;
    int rank;
    union {
        struct group_api groupApi;
        struct {
            const char *func;
            size_t count;
            const char *datatype;
            int root;
            void *stream;
            bool graphCaptured;
            uint64_t userTag;
        } collApi;
        struct {
            const char *func;
            size_t count;
            const char *datatype;
            void *stream;
            bool graphCaptured;
            uint64_t userTag;
        } p2pApi;
        struct kernel_launch kernelLaunch;
        struct {
            uint64_t seqNumber;
            const char *func;
            void const *sendBuff;
            void *recvBuff;
            size_t count;
            int root;
            const char *datatype;
            uint8_t nChannels, nWarps;
            const char *algo, *proto;
            void *parentGroup;
            const char *kernelVariant;
            bool isSymColl;
            uint64_t userTag;
        } coll;
        struct {
            const char *func;
            void *buff;
            const char *datatype;
            size_t count;
            int peer;
            uint8_t nChannels;
            void *parentGroup;
            uint64_t userTag;
        } p2p;
        struct proxy_op proxyOp;
        struct proxy_step proxyStep;
        struct kernel_ch kernelCh;
        struct net_plugin netPlugin;
        struct {
            uint64_t seqNumber;
            const char *func;
            void const *sendBuff;
            void *recvBuff;
            size_t count;
            int root;
            const char *datatype, *syncStrategy;
            bool intraBatchSync;
            uint32_t batchSize, numBatches, ceSeqNum;
            void *stream;
            uint64_t userTag;
        } ceColl;
        struct {
            uint8_t channelId, phaseId;
            const char *phaseName;
            uint64_t pTimer;
        } kernelPhase;
    };
};

/* Versions 1 to 3. */
union args_v1 {
    struct {
        size_t transSize;
        int steps;
    } proxyOp;
    struct {
        int appendedProxyOps;
    } proxyCtrl;
};
/* Versions 4 to 7. */
union args_v4 {
    struct {
        size_t transSize;
    } proxyStep;
    struct {
        int appendedProxyOps;
    } proxyCtrl;
    struct {
        void *data;
    } netPlugin;
    struct {
        uint64_t pTimer;
    } kernelCh;
};

typedef void (*logger_t)(int level, unsigned long flags, const char *file, int line, const char *format, ...);

/* What a version's symbol is: name and functions, in this order. args: of states. */
#define PROFILER(version, args, ...)                                                                                   \
    struct profiler_v##version {                                                                                       \
        const char *name;                                                                                              \
        int (*init)(__VA_ARGS__);                                                                                      \
        int (*startEvent)(void *context, void **eHandle, struct descr_v##version *descr);                              \
        int (*stopEvent)(void *eHandle);                                                                               \
        int (*recordEventState)(void *eHandle, int state, args *arguments);                                            \
        int (*finalize)(void *context);                                                                                \
    }

#define INIT_V1 void **context, int *mask
#define INIT_V4                                                                                                        \
    void **context, int *mask, const char *commName, uint64_t commHash, int nNodes, int nranks, int rank, logger_t log
#define INIT_V5                                                                                                        \
    void **context, uint64_t commId, int *mask, const char *commName, int nNodes, int nranks, int rank, logger_t log

PROFILER(1, union args_v1, INIT_V1);
PROFILER(2, union args_v1, INIT_V1);
PROFILER(3, union args_v1, INIT_V1);
PROFILER(4, union args_v4, INIT_V4);
PROFILER(5, union args_v4, INIT_V5);
PROFILER(6, union args_v4, INIT_V5);
PROFILER(7, union args_v4, INIT_V5);

#endif
