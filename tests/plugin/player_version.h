/* player_version.h - one version for player.c; N is its number. */
#define CAT_(a, b) a##b
#define CAT(a, b) CAT_(a, b)
#define NAME(x) CAT(CAT(x, _v), N)

static int NAME(init)(const void *of, void **context, int *mask, uint64_t hash, const char *name, int nodes, int nranks,
                      int rank)
{
    const struct NAME(profiler) *p = of;
#if N <= 3
    return p->init(context, mask);
#elif N == 4
    return p->init(context, mask, name, hash, nodes, nranks, rank, NULL);
#else
    return p->init(context, hash, mask, name, nodes, nranks, rank, NULL);
#endif
}

static int NAME(start)(const void *of, void *context, void **handle, const struct play *e)
{
    const struct NAME(profiler) *p = of;
    struct NAME(descr) d;
    memset(&d, 0x5a, sizeof(d)); /* NCCL's is on the stack */
    d.type = (__typeof__(d.type))e->type;
    d.parentObj = e->parent;
    d.rank = e->rank;
    switch (e->type) {
    case Coll:
        d.coll.seqNumber = e->seq;
        d.coll.sendBuff = e->send;
        d.coll.recvBuff = e->recv;
        d.coll.count = e->count;
        d.coll.root = e->peer;
#if N <= 3
        d.coll.name = "by-name";
        d.coll.commHash = 0xc0ffee;
        d.coll.nMaxChannels = e->channels;
#else
        d.coll.nChannels = e->channels;
#endif
#if N == 1
        d.coll.func = number(funcs, e->func);
        d.coll.datatype = number(types, e->datatype);
        d.coll.algo = number(algos, e->algo);
        d.coll.proto = number(protos, e->proto);
        d.coll.op = 0;
#else
        d.coll.func = e->func;
        d.coll.datatype = e->datatype;
        d.coll.algo = e->algo;
        d.coll.proto = e->proto;
#endif
#if N >= 5
        d.coll.parentGroup = e->parent_group;
#endif
#if N >= 7
        d.coll.isSymColl = e->symmetric;
        d.coll.kernelVariant = "variant";
        d.coll.userTag = 7;
#endif
        break;
    case P2p:
        d.p2p.buff = e->recv;
        d.p2p.count = e->count;
        d.p2p.peer = e->peer;
#if N <= 3
        d.p2p.name = "by-name";
        d.p2p.commHash = 0xc0ffee;
#endif
#if N == 1
        d.p2p.func = number(funcs, e->func);
        d.p2p.datatype = number(types, e->datatype);
#else
        d.p2p.func = e->func;
        d.p2p.datatype = e->datatype;
#endif
#if N >= 5
        d.p2p.nChannels = e->channels;
        d.p2p.parentGroup = e->parent_group;
#endif
        break;
    case ProxyOp:
        d.proxyOp = (struct proxy_op){e->pid, (uint8_t)e->channel, e->peer, e->steps, 1 << 17, e->is_send};
        break;
    case ProxyStep:
        d.proxyStep.step = e->step;
        break;
#if N >= 3
    case KernelCh:
        d.kernelCh.channelId = (uint8_t)e->channel;
#if N >= 4
        d.kernelCh.pTimer = e->timer;
#endif
        break;
    case NetPlugin:
        d.netPlugin.id = 1 << 16 | 1;
        d.netPlugin.data = NULL;
        break;
#endif
#if N >= 5
    case GroupApi:
        d.groupApi.graphCaptured = e->captured;
        d.groupApi.groupDepth = 1;
        break;
    case CollApi:
        d.collApi.func = e->func;
        d.collApi.count = e->count;
        d.collApi.datatype = e->datatype;
        d.collApi.root = e->peer;
        d.collApi.stream = NULL;
        d.collApi.graphCaptured = e->captured;
        break;
    case P2pApi:
        d.p2pApi.func = e->func;
        d.p2pApi.count = e->count;
        d.p2pApi.datatype = e->datatype;
        d.p2pApi.stream = NULL;
        d.p2pApi.graphCaptured = e->captured;
        break;
#endif
#if N >= 6
    case CeColl:
        d.ceColl.seqNumber = e->seq;
        d.ceColl.func = e->func;
        d.ceColl.sendBuff = e->send;
        d.ceColl.recvBuff = e->recv;
        d.ceColl.count = e->count;
        d.ceColl.root = e->peer;
        d.ceColl.datatype = e->datatype;
        break;
#endif
    default:
        break;
    }
    return p->startEvent(context, handle, &d);
}

static int NAME(state)(const void *of, void *handle, int state, uint64_t value, bool has_args)
{
    const struct NAME(profiler) *p = of;
#if N <= 3
    union args_v1 args;
    memset(&args, 0x5a, sizeof(args));
    if (state >= 13 && state <= 18)
        args.proxyCtrl.appendedProxyOps = (int)value;
    else
        args.proxyOp.transSize = value;
#else
    union args_v4 args = {.kernelCh = {value}};
#endif
    return p->recordEventState(handle, state, has_args ? &args : NULL);
}

static int NAME(stop)(const void *of, void *handle)
{
    return ((const struct NAME(profiler) *)of)->stopEvent(handle);
}

static int NAME(finalize)(const void *of, void *context)
{
    return ((const struct NAME(profiler) *)of)->finalize(context);
}

#undef NAME
#undef CAT
#undef CAT_
#undef N
