/* test_abi.c - the offsets of NCCL's profiler descriptors, measured on its headers. The compiler does the checking; the
 * program says that it compiled.
 *
 * NCCL_PROFILER_H="profiler.h" checks NCCL's own headers against the same table (tests/check-abi.t does, with a source
 * tree); NEWEST is the newest version that they have. */
#include <stddef.h>
#include <stdio.h>

#ifdef NCCL_PROFILER_H
#include NCCL_PROFILER_H
#define DESCR(v) ncclProfilerEventDescr_v##v##_t
#define ARGS(v) ncclProfilerEventStateArgs_v##v##_t
#define TABLE(v) ncclProfiler_v##v##_t
#else
#include "tests/plugin/abi.h"
#define DESCR(v) struct descr_v##v
#define ARGS(v) union args_v##v
#define TABLE(v) struct profiler_v##v
#define NEWEST 7
#endif

#define SIZE(v, size) _Static_assert(sizeof(DESCR(v)) == (size), "size of descriptor " #v)
#define AT(v, member, offset) _Static_assert(offsetof(DESCR(v), member) == (offset), #v " " #member)

SIZE(1, 120);
SIZE(2, 128);
SIZE(3, 120);
SIZE(4, 104);
SIZE(5, 112);
SIZE(6, 112);
#if NEWEST >= 7
SIZE(7, 136);
#endif

#define COMMON(v)                                                                                                      \
    AT(v, type, 0);                                                                                                    \
    AT(v, parentObj, 8);                                                                                               \
    AT(v, rank, 16);                                                                                                   \
    AT(v, coll, 24);                                                                                                   \
    AT(v, proxyOp.pid, 24);                                                                                            \
    AT(v, proxyOp.channelId, 28);                                                                                      \
    AT(v, proxyOp.peer, 32);                                                                                           \
    AT(v, proxyOp.nSteps, 36);                                                                                         \
    AT(v, proxyOp.chunkSize, 40);                                                                                      \
    AT(v, proxyOp.isSend, 44);                                                                                         \
    AT(v, proxyStep.step, 24)
COMMON(1);
COMMON(2);
COMMON(3);
COMMON(4);
COMMON(5);
COMMON(6);
#if NEWEST >= 7
COMMON(7);
#endif

#define NAMED(v)                                                                                                       \
    AT(v, coll.name, 24);                                                                                              \
    AT(v, coll.commHash, 32);                                                                                          \
    AT(v, coll.seqNumber, 40);                                                                                         \
    AT(v, coll.func, 48);                                                                                              \
    AT(v, coll.sendBuff, 56);                                                                                          \
    AT(v, coll.recvBuff, 64);                                                                                          \
    AT(v, coll.count, 72);                                                                                             \
    AT(v, coll.root, 80);                                                                                              \
    AT(v, p2p.name, 24);                                                                                               \
    AT(v, p2p.commHash, 32);                                                                                           \
    AT(v, p2p.func, 40);                                                                                               \
    AT(v, p2p.buff, 48);                                                                                               \
    AT(v, p2p.datatype, 56);                                                                                           \
    AT(v, p2p.count, 64);                                                                                              \
    AT(v, p2p.peer, 72)
NAMED(1);
NAMED(2);
NAMED(3);
AT(1, coll.datatype, 84);
AT(1, coll.op, 88);
AT(1, coll.trafficBytes, 96);
AT(1, coll.nMaxChannels, 104);
AT(1, coll.nWarps, 105);
AT(1, coll.algo, 106);
AT(1, coll.proto, 107);
AT(1, coll.isCollnet, 108);
AT(1, coll.isNvls, 112);
AT(2, coll.datatype, 88);
AT(2, coll.trafficBytes, 96);
AT(2, coll.nMaxChannels, 104);
AT(2, coll.algo, 112);
AT(2, coll.proto, 120);
AT(3, coll.datatype, 88);
AT(3, coll.nMaxChannels, 96);
AT(3, coll.nWarps, 97);
AT(3, coll.algo, 104);
AT(3, coll.proto, 112);
AT(3, kernelCh.channelId, 24);
AT(3, netPlugin.data, 32);

#define FROM_V4(v)                                                                                                     \
    AT(v, coll.seqNumber, 24);                                                                                         \
    AT(v, coll.func, 32);                                                                                              \
    AT(v, coll.sendBuff, 40);                                                                                          \
    AT(v, coll.recvBuff, 48);                                                                                          \
    AT(v, coll.count, 56);                                                                                             \
    AT(v, coll.root, 64);                                                                                              \
    AT(v, coll.datatype, 72);                                                                                          \
    AT(v, coll.nChannels, 80);                                                                                         \
    AT(v, coll.nWarps, 81);                                                                                            \
    AT(v, coll.algo, 88);                                                                                              \
    AT(v, coll.proto, 96);                                                                                             \
    AT(v, p2p.func, 24);                                                                                               \
    AT(v, p2p.buff, 32);                                                                                               \
    AT(v, p2p.datatype, 40);                                                                                           \
    AT(v, p2p.count, 48);                                                                                              \
    AT(v, p2p.peer, 56);                                                                                               \
    AT(v, p2p.nChannels, 60);                                                                                          \
    AT(v, kernelCh.channelId, 24);                                                                                     \
    AT(v, kernelCh.pTimer, 32);                                                                                        \
    AT(v, netPlugin.id, 24);                                                                                           \
    AT(v, netPlugin.data, 32)
FROM_V4(4);
FROM_V4(5);
FROM_V4(6);
#if NEWEST >= 7
FROM_V4(7);
#endif

#define FROM_V5(v)                                                                                                     \
    AT(v, coll.parentGroup, 104);                                                                                      \
    AT(v, p2p.parentGroup, 64);                                                                                        \
    AT(v, groupApi.graphCaptured, 24);                                                                                 \
    AT(v, groupApi.groupDepth, 28);                                                                                    \
    AT(v, collApi.func, 24);                                                                                           \
    AT(v, collApi.count, 32);                                                                                          \
    AT(v, collApi.datatype, 40);                                                                                       \
    AT(v, collApi.root, 48);                                                                                           \
    AT(v, collApi.stream, 56);                                                                                         \
    AT(v, collApi.graphCaptured, 64);                                                                                  \
    AT(v, p2pApi.func, 24);                                                                                            \
    AT(v, p2pApi.count, 32);                                                                                           \
    AT(v, p2pApi.datatype, 40);                                                                                        \
    AT(v, p2pApi.stream, 48);                                                                                          \
    AT(v, p2pApi.graphCaptured, 56);                                                                                   \
    AT(v, kernelLaunch.stream, 24)
FROM_V5(5);
FROM_V5(6);
#if NEWEST >= 7
FROM_V5(7);
#endif

#define FROM_V6(v)                                                                                                     \
    AT(v, ceColl.seqNumber, 24);                                                                                       \
    AT(v, ceColl.func, 32);                                                                                            \
    AT(v, ceColl.count, 56);                                                                                           \
    AT(v, ceColl.root, 64);                                                                                            \
    AT(v, ceColl.datatype, 72);                                                                                        \
    AT(v, ceColl.syncStrategy, 80);                                                                                    \
    AT(v, ceColl.intraBatchSync, 88);                                                                                  \
    AT(v, ceColl.batchSize, 92);                                                                                       \
    AT(v, ceColl.numBatches, 96);                                                                                      \
    AT(v, ceColl.ceSeqNum, 100);                                                                                       \
    AT(v, ceColl.stream, 104)
FROM_V6(6);
#if NEWEST >= 7
FROM_V6(7);
#endif
AT(6, ceCollSync.nRanks, 28);
AT(6, ceCollBatch.totalBytes, 32);
AT(6, ceCollBatch.useIntraSync, 40);
#ifndef NCCL_PROFILER_H
AT(6, proxyOpRccl.commHash, 48);
AT(6, proxyOpRccl.opCount, 56);
AT(6, proxyOpRccl.rawSteps, 84);
#endif

#if NEWEST >= 7
AT(7, coll.kernelVariant, 112);
AT(7, coll.isSymColl, 120);
AT(7, coll.userTag, 128);
AT(7, p2p.userTag, 72);
AT(7, collApi.userTag, 72);
AT(7, p2pApi.userTag, 64);
AT(7, ceColl.userTag, 112);
AT(7, kernelPhase.phaseId, 25);
AT(7, kernelPhase.phaseName, 32);
AT(7, kernelPhase.pTimer, 40);
#endif

_Static_assert(sizeof(((DESCR(1) *)0)->type) == 1 && sizeof(((DESCR(4) *)0)->type) == 1, "");
_Static_assert(sizeof(((DESCR(5) *)0)->type) == 8 && sizeof(((DESCR(6) *)0)->type) == 8, "");
_Static_assert(sizeof(ARGS(1)) == 16 && sizeof(ARGS(4)) == 8, "");
_Static_assert(sizeof(TABLE(1)) == 48 && sizeof(TABLE(6)) == 48, "");
#define FUNCTIONS(v)                                                                                                   \
    _Static_assert(offsetof(TABLE(v), init) == 8 && offsetof(TABLE(v), startEvent) == 16 &&                            \
                       offsetof(TABLE(v), stopEvent) == 24 && offsetof(TABLE(v), recordEventState) == 32 &&            \
                       offsetof(TABLE(v), finalize) == 40,                                                             \
                   "order of functions " #v)
FUNCTIONS(1);
FUNCTIONS(2);
FUNCTIONS(3);
FUNCTIONS(4);
FUNCTIONS(5);
FUNCTIONS(6);

int main(void)
{
    puts("ok 1 - the offsets of the descriptors of versions 1 to 7 are those of NCCL\n1..1");
    return 0;
}
