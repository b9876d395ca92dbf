/* adapter.h - one version of the profiler interface: included by v1.c to v7.c, each with ADAPTER_VERSION set.
 *
 * Makes the descriptor from the payload lists of abi.h, reads it into struct told and writes it from there (for a
 * chained plugin that knows an older version than NCCL speaks), and defines the exported struct ncclProfiler_vN, which
 * is all that NCCL looks for. Runs on whatever thread NCCL calls from; keeps no state.
 *
 * A type of another version, or of another vendor's idea of this one, has no payload here: nothing of it is read. */
#include "plugin/plugin.h"

#define N ADAPTER_VERSION
#define CAT_(a, b) a##b
#define CAT(a, b) CAT_(a, b)

#define FIELD(type, name) type name;
#define PAYLOAD(list, name)                                                                                            \
    struct {                                                                                                           \
        list(FIELD)                                                                                                    \
    } name;

struct descr {
#if N <= 4
    uint8_t type;
#else
    uint64_t type;
#endif
    void *parent;
    int rank;
    union {
        PAYLOAD(CAT(COLL_V, N), coll)
        PAYLOAD(CAT(P2P_V, N), p2p)
        PAYLOAD(PROXY_OP, op)
        PAYLOAD(PROXY_STEP, step)
#if N == 3
        PAYLOAD(KERNEL_V3, kernel)
#elif N >= 4
        PAYLOAD(KERNEL_V4, kernel)
#endif
#if N >= 3
        PAYLOAD(NET, net)
#endif
#if N >= 5
        PAYLOAD(GROUP_API, group_api)
        PAYLOAD(CAT(COLL_API_V, N), coll_api)
        PAYLOAD(CAT(P2P_API_V, N), p2p_api)
        PAYLOAD(LAUNCH, launch)
#endif
#if N >= 6
        PAYLOAD(CAT(CE_COLL_V, N), ce_coll)
        PAYLOAD(CE_SYNC, ce_sync)
        PAYLOAD(CE_BATCH, ce_batch)
#endif
#if N >= 7
        PAYLOAD(PHASE, phase)
#endif
    };
};

#if N <= 3
typedef union abi_args_old args_t;
#else
typedef union abi_args args_t;
#endif

struct vtable {
    const char *name;
#if N <= 3
    int (*init)(void **context, int *mask);
#elif N == 4
    int (*init)(void **context, int *mask, const char *comm_name, uint64_t comm_hash, int nodes, int nranks, int rank,
                abi_logger log);
#else
    int (*init)(void **context, uint64_t comm_hash, int *mask, const char *comm_name, int nodes, int nranks, int rank,
                abi_logger log);
#endif
    int (*start)(void *context, void **handle, struct descr *descr);
    int (*stop)(void *handle);
    int (*state)(void *handle, int state, args_t *args);
    int (*finalize)(void *context);
};
_Static_assert(sizeof(struct vtable) == 48, "a name and five functions");

/* For each type with a payload: DO(member of struct descr, its list). */
#define PAYLOAD_OF(type_, DO)                                                                                          \
    switch (type_) {                                                                                                   \
    case EV_COLL:                                                                                                      \
        DO(coll, CAT(COLL_V, N));                                                                                      \
        break;                                                                                                         \
    case EV_P2P:                                                                                                       \
        DO(p2p, CAT(P2P_V, N));                                                                                        \
        break;                                                                                                         \
    case EV_PROXY_OP:                                                                                                  \
        DO(op, PROXY_OP);                                                                                              \
        break;                                                                                                         \
    case EV_PROXY_STEP:                                                                                                \
        DO(step, PROXY_STEP);                                                                                          \
        break;                                                                                                         \
        PAYLOADS_FROM_V3(DO)                                                                                           \
        PAYLOADS_FROM_V5(DO)                                                                                           \
        PAYLOADS_FROM_V6(DO)                                                                                           \
        PAYLOADS_FROM_V7(DO)                                                                                           \
    }

#if N == 3
#define PAYLOADS_FROM_V3(DO)                                                                                           \
    case EV_KERNEL_CH:                                                                                                 \
        DO(kernel, KERNEL_V3);                                                                                         \
        break;                                                                                                         \
    case EV_NET:                                                                                                       \
        DO(net, NET);                                                                                                  \
        break;
#elif N >= 4
#define PAYLOADS_FROM_V3(DO)                                                                                           \
    case EV_KERNEL_CH:                                                                                                 \
        DO(kernel, KERNEL_V4);                                                                                         \
        break;                                                                                                         \
    case EV_NET:                                                                                                       \
        DO(net, NET);                                                                                                  \
        break;
#else
#define PAYLOADS_FROM_V3(DO)
#endif

#if N >= 5
#define PAYLOADS_FROM_V5(DO)                                                                                           \
    case EV_GROUP_API:                                                                                                 \
        DO(group_api, GROUP_API);                                                                                      \
        break;                                                                                                         \
    case EV_COLL_API:                                                                                                  \
        DO(coll_api, CAT(COLL_API_V, N));                                                                              \
        break;                                                                                                         \
    case EV_P2P_API:                                                                                                   \
        DO(p2p_api, CAT(P2P_API_V, N));                                                                                \
        break;                                                                                                         \
    case EV_LAUNCH:                                                                                                    \
        DO(launch, LAUNCH);                                                                                            \
        break;
#else
#define PAYLOADS_FROM_V5(DO)
#endif

#if N >= 6
#define PAYLOADS_FROM_V6(DO)                                                                                           \
    case EV_CE_COLL:                                                                                                   \
        DO(ce_coll, CAT(CE_COLL_V, N));                                                                                \
        break;                                                                                                         \
    case EV_CE_SYNC:                                                                                                   \
        DO(ce_sync, CE_SYNC);                                                                                          \
        break;                                                                                                         \
    case EV_CE_BATCH:                                                                                                  \
        DO(ce_batch, CE_BATCH);                                                                                        \
        break;
#else
#define PAYLOADS_FROM_V6(DO)
#endif

#if N >= 7
#define PAYLOADS_FROM_V7(DO)                                                                                           \
    case EV_PHASE:                                                                                                     \
        DO(phase, PHASE);                                                                                              \
        break;
#else
#define PAYLOADS_FROM_V7(DO)
#endif

/* ---- what NCCL calls ------------------------------------------------------------------------------------------- */

static const struct adapter adapter;

#if N <= 3
static int init(void **context, int *mask)
{
    struct told_init told = {.version = N, .nranks = -1, .rank = -1};
#elif N == 4
static int init(void **context, int *mask, const char *comm_name, uint64_t comm_hash, int nodes, int nranks, int rank,
                abi_logger log)
{
    struct told_init told = {N, comm_hash, comm_name, nodes, nranks, rank, log};
#else
static int init(void **context, uint64_t comm_hash, int *mask, const char *comm_name, int nodes, int nranks, int rank,
                abi_logger log)
{
    struct told_init told = {N, comm_hash, comm_name, nodes, nranks, rank, log};
#endif
    return plugin_init(&adapter, &told, context, mask);
}

static int start(void *context, void **handle, struct descr *d)
{
    if (!handle)
        return 0;
    *handle = NULL; /* NCCL keeps what was there before if nobody writes it */
    if (!d)
        return 0;
    struct told told = {.type = d->type, .parent = d->parent, .rank = d->rank, .version = N};
#define TAKE_FIELD(type, name) told.name = from->name;
#define TAKE(member, list)                                                                                             \
    do {                                                                                                               \
        const __typeof__(d->member) *from = &d->member;                                                                \
        list(TAKE_FIELD)                                                                                               \
    } while (0)
    PAYLOAD_OF(d->type, TAKE)
#if N == 1
    told_texts(&told);
#elif N == 4
    if (d->type == EV_P2P)
        told.channels = 0; /* not set by newer NCCL's adaptor */
#endif
    plugin_start(&adapter, context, handle, &told, d);
    return 0;
}

static int stop(void *handle)
{
    plugin_stop(handle);
    return 0;
}

static int state(void *handle, int number, args_t *args)
{
    struct told_state told = {.state = number, .has_args = args != NULL};
    if (args) {
#if N <= 3
        if (number >= ST_CTRL_FIRST && number <= ST_CTRL_LAST) {
            told.appended = args->ctrl.appended;
        } else {
            told.bytes = args->op.bytes;
            told.steps = args->op.steps;
        }
#else
        /* One word, whatever it means here: of a state we do not know nothing more is read. */
        if (number == ST_KERNEL_STOP || number == ST_PHASE_STOP)
            told.timer = args->timer;
        else if (number == ST_NET_UPDATE)
            told.data = args->data;
        else if (number >= ST_CTRL_FIRST && number <= ST_CTRL_LAST)
            told.appended = args->appended;
        else if (number != ST_OP_BEGUN)
            told.bytes = args->bytes;
#endif
    }
    plugin_state(&adapter, handle, &told, args);
    return 0;
}

static int finalize(void *context)
{
    plugin_finalize(context);
    return 0;
}

__attribute__((visibility("default"))) extern const struct vtable CAT(ncclProfiler_v, N);
const struct vtable CAT(ncclProfiler_v, N) = {"trshim", init, start, stop, state, finalize};

/* ---- what we call: another plugin of this version --------------------------------------------------------------- */

static int pass_init(const void *of, void **context, int *mask, const struct told_init *t)
{
    const struct vtable *other = of;
#if N <= 3
    return other->init(context, mask);
#elif N == 4
    return other->init(context, mask, t->comm_name, t->comm_hash, t->nodes, t->nranks, t->rank, t->log);
#else
    return other->init(context, t->comm_hash, mask, t->comm_name, t->nodes, t->nranks, t->rank, t->log);
#endif
}

/* raw: the descriptor as NCCL gave it, if it has this version; then what we do not know in it is passed on too. */
static void pass_start(const void *of, void *context, void **handle, const struct told *t, const void *raw)
{
    const struct vtable *other = of;
    struct descr d;
    if (raw) {
        memcpy(&d, raw, sizeof(d));
    } else {
        struct told in_numbers = *t;
        const struct told *from = &in_numbers;
#if N == 1
        told_numbers(&in_numbers);
#endif
        memset(&d, 0, sizeof(d));
        d.type = (__typeof__(d.type))t->type;
        d.rank = t->rank;
#define GIVE_FIELD(type, name) to->name = (type)from->name;
#define GIVE(member, list)                                                                                             \
    do {                                                                                                               \
        __typeof__(d.member) *to = &d.member;                                                                          \
        list(GIVE_FIELD)                                                                                               \
    } while (0)
        PAYLOAD_OF(t->type, GIVE)
    }
    d.parent = t->parent;
#if N >= 5
    if (t->type == EV_COLL)
        d.coll.parent_group = t->parent_group;
    else if (t->type == EV_P2P)
        d.p2p.parent_group = t->parent_group;
#endif
    (void)other->start(context, handle, &d);
}

static void pass_state(const void *of, void *handle, const struct told_state *t, const void *raw)
{
    const struct vtable *other = of;
    args_t args;
    memset(&args, 0, sizeof(args));
#if N <= 3
    if (t->state >= ST_CTRL_FIRST && t->state <= ST_CTRL_LAST)
        args.ctrl.appended = t->appended;
    else
        args.op.bytes = t->bytes;
#else
    if (t->state == ST_KERNEL_STOP || t->state == ST_PHASE_STOP)
        args.timer = t->timer;
    else if (t->state == ST_NET_UPDATE)
        args.data = t->data;
    else if (t->state >= ST_CTRL_FIRST && t->state <= ST_CTRL_LAST)
        args.appended = t->appended;
    else
        args.bytes = t->bytes;
#endif
    /* As NCCL gave them, or of our making; NCCL's own adaptors never pass NULL. */
    (void)other->state(handle, t->state, raw ? (args_t *)(uintptr_t)raw : t->has_args || N < 5 ? &args : NULL);
}

static void pass_stop(const void *of, void *handle)
{
    (void)((const struct vtable *)of)->stop(handle);
}

static void pass_finalize(const void *of, void *context)
{
    (void)((const struct vtable *)of)->finalize(context);
}

#define STRING_(x) #x
#define STRING(x) STRING_(x)
static const struct adapter adapter = {
    N, "ncclProfiler_v" STRING(N), pass_init, pass_start, pass_state, pass_stop, pass_finalize, sizeof(struct descr)};
const struct adapter *const CAT(adapter_v, N) = &adapter;
