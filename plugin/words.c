/* words.c - see words.h. Texts are compared, not their addresses: a process may hold two copies of NCCL. */
#include "plugin/words.h"

#include <string.h>

#include "traces/events.h"

/* By the numbers of version 1. */
static const char *const funcs[] = {"Broadcast", "Reduce",   "AllGather", "ReduceScatter",
                                    "AllReduce", "SendRecv", "Send",      "Recv"};
static const char *const algos[] = {"TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT"};
static const char *const protos[] = {"LL", "LL128", "SIMPLE"};
/* By ncclDataType_t. */
static const char *const types[] = {"ncclInt8",    "ncclUint8",    "ncclInt32",      "ncclUint32",
                                    "ncclInt64",   "ncclUint64",   "ncclFloat16",    "ncclFloat32",
                                    "ncclFloat64", "ncclBfloat16", "ncclFloat8e4m3", "ncclFloat8e5m2"};

#define NR(list) (sizeof(list) / sizeof(*(list)))
#define TEXT(list, nr) ((nr) < NR(list) ? (list)[nr] : NULL)

static uint8_t find(const char *const *list, size_t nr, const char *text)
{
    for (size_t i = 0; text && i < nr; i++)
        if (list[i] && strcmp(list[i], text) == 0)
            return (uint8_t)i;
    return 255;
}

void told_texts(struct told *t)
{
    if (t->type != EV_COLL && t->type != EV_P2P)
        return;
    t->func = TEXT(funcs, t->func_nr);
    t->datatype = TEXT(types, t->type_nr);
    if (t->type == EV_COLL) {
        t->algo = TEXT(algos, t->algo_nr);
        t->proto = TEXT(protos, t->proto_nr);
    }
}

void told_numbers(struct told *t)
{
    t->func_nr = find(funcs, NR(funcs), t->func);
    t->type_nr = find(types, NR(types), t->datatype);
    t->algo_nr = find(algos, NR(algos), t->algo);
    t->proto_nr = find(protos, NR(protos), t->proto);
    t->collnet = t->algo && strncmp(t->algo, "COLLNET", 7) == 0;
    t->nvls = t->algo && strncmp(t->algo, "NVLS", 4) == 0;
}

uint8_t op_of(const char *func)
{
    static const char *const ops[TR_coll_op_MAX] = {
        [TR_coll_op_AllReduce] = "AllReduce",
        [TR_coll_op_AllGather] = "AllGather",
        [TR_coll_op_ReduceScatter] = "ReduceScatter",
        [TR_coll_op_Broadcast] = "Broadcast",
        [TR_coll_op_Reduce] = "Reduce",
        [TR_coll_op_AlltoAll] = "AlltoAll",
        [TR_coll_op_Gather] = "Gather",
        [TR_coll_op_Scatter] = "Scatter",
        [TR_coll_op_Send] = "Send",
        [TR_coll_op_Recv] = "Recv",
        [TR_coll_op_PutSignal] = "PutSignal",
        [TR_coll_op_Signal] = "Signal",
        [TR_coll_op_WaitSignal] = "WaitSignal",
    };
    uint8_t op = find(ops, NR(ops), func);
    return op == 255 ? TR_coll_op_other : op;
}

uint8_t algo_of(const struct told *t)
{
    static const char *const names[TR_coll_algo_MAX] = {
        [TR_coll_algo_Tree] = "TREE",
        [TR_coll_algo_Ring] = "RING",
        [TR_coll_algo_CollNetDirect] = "COLLNET_DIRECT",
        [TR_coll_algo_CollNetChain] = "COLLNET_CHAIN",
        [TR_coll_algo_NVLS] = "NVLS",
        [TR_coll_algo_NVLSTree] = "NVLS_TREE",
        [TR_coll_algo_PAT] = "PAT",
    };
    if (t->symmetric)
        return TR_coll_algo_symmetric; /* then the text is a part of the kernel's name */
    uint8_t algo = find(names, NR(names), t->algo);
    return algo == 255 ? TR_coll_algo_unknown : algo;
}

uint8_t proto_of(const char *proto)
{
    uint8_t nr = find(protos, NR(protos), proto);
    static const uint8_t ours[] = {TR_coll_proto_LL, TR_coll_proto_LL128, TR_coll_proto_Simple};
    return nr == 255 ? TR_coll_proto_unknown : ours[nr];
}

uint8_t type_of(const char *datatype)
{
    return find(types, NR(types), datatype);
}
