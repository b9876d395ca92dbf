/* model.c - how long calls take from the moment all have come, and by which algorithm: links with a bandwidth and a
 * latency, a ring or a tree over the ranks in their order. All ranks compute the same from what they told each other.
 */
#include <string.h>

#include "tests/sim/nccl/inside.h"

const char *const nccl_func_name[NR_FUNCS] = {"Broadcast", "Reduce",    "AllGather", "ReduceScatter", "AllReduce",
                                              "SendRecv",  "Send",      "Recv",      "AlltoAll",      "Gather",
                                              "Scatter",   "PutSignal", "Signal",    "WaitSignal"};

size_t nccl_type_size(ncclDataType_t type)
{
    static const size_t sizes[ncclNumTypes] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
    return (unsigned)type < ncclNumTypes ? sizes[type] : 0;
}

const char *nccl_type_name(ncclDataType_t type)
{
    /* Sums of signed and unsigned numbers are the same kernel. */
    static const char *const names[ncclNumTypes] = {"u8",  "u8",  "u32", "u32",  "u64",    "u64",
                                                    "f16", "f32", "f64", "bf16", "f8e4m3", "f8e5m2"};
    return (unsigned)type < ncclNumTypes ? names[type] : "?";
}

/* ---- Links ---- */
struct speed {
    double bytes_per_ns, step_ns;
};

enum nccl_link link_between(const struct ncclComm *c, int a, int b)
{
    const struct nccl_peer *p = &c->peers[a], *q = &c->peers[b];
    if (p->host_hash != q->host_hash)
        return (enum nccl_link)p->net_kind;
    if (p->pid == q->pid || (!p->no_p2p && !q->no_p2p))
        return LINK_P2P;
    return !p->no_shm && !q->no_shm ? LINK_SHM : (enum nccl_link)p->net_kind;
}

static double least(double a, double b)
{
    return a < b ? a : b;
}

/* The slower end decides. */
static struct speed slower(double gbs, double other_gbs, double us, double other_us)
{
    return (struct speed){least(gbs, other_gbs), (us > other_us ? us : other_us) * 1000};
}

static struct speed speed_between(const struct ncclComm *c, int a, int b)
{
    const struct nccl_peer *p = &c->peers[a], *q = &c->peers[b];
    switch (link_between(c, a, b)) {
    case LINK_P2P:
        return slower(p->p2p_gbs, q->p2p_gbs, p->p2p_us, q->p2p_us);
    case LINK_SHM:
        return slower(p->shm_gbs, q->shm_gbs, p->shm_us, q->shm_us);
    default:
        return slower(p->net_gbs, q->net_gbs, p->net_us, q->net_us);
    }
}

/* Of a ring: its slowest link; the sum of its steps' latencies, once round. */
struct ring {
    double bytes_per_ns, round_ns;
    bool leaves_host;
};

static struct ring ring_of(const struct ncclComm *c)
{
    struct ring ring = {1e9, 0, false};
    for (int r = 0; r < c->nranks; r++) {
        struct speed s = speed_between(c, r, (r + 1) % c->nranks);
        ring.bytes_per_ns = least(ring.bytes_per_ns, s.bytes_per_ns);
        ring.round_ns += s.step_ns;
        ring.leaves_host |= link_between(c, r, (r + 1) % c->nranks) >= LINK_IB;
    }
    return ring;
}

/* ---- One call ---- */
uint64_t call_bytes(const struct call *call)
{
    uint64_t bytes = call->count * nccl_type_size(call->type);
    switch (call->func) {
    case FUNC_AllGather:
    case FUNC_ReduceScatter:
    case FUNC_AlltoAll:
    case FUNC_Gather:
    case FUNC_Scatter:
        return bytes * (uint64_t)call->comm->nranks;
    default:
        return bytes;
    }
}

/* Bytes over each link of the ring for S bytes of the call, and how often round the ring a byte travels. */
static void factors(const struct call *call, double *ret_share, double *ret_rounds)
{
    double n = call->comm->nranks, part = (n - 1) / n;
    *ret_rounds = call->func == FUNC_AllReduce ? 2 * part : part;
    *ret_share = call->func == FUNC_AllReduce                                ? 2 * part
                 : call->func == FUNC_Broadcast || call->func == FUNC_Reduce ? 1
                                                                             : part;
}

double work_share(const struct ncclComm *c, enum nccl_func func)
{
    double share, rounds;
    factors(&(struct call){.comm = (struct ncclComm *)c, .func = func}, &share, &rounds);
    return share;
}

unsigned call_parts(const struct ncclComm *c, enum nccl_func func, int root, struct call_part *ret)
{
    bool all = func == FUNC_AlltoAll, gather = func == FUNC_Gather, scatter = func == FUNC_Scatter;
    unsigned nr = 0;
    if (func == FUNC_Send || func == FUNC_Recv)
        ret[nr++] = (struct call_part){func == FUNC_Send, root};
    for (int r = 0; r < c->nranks; r++) {
        if (all || (gather && r == root) || (scatter && c->rank == root))
            ret[nr++] = (struct call_part){true, r};
        if (all || (gather && c->rank == root) || (scatter && r == root))
            ret[nr++] = (struct call_part){false, r};
    }
    return nr;
}

#define TREE_BELOW (256u << 10)
#define LL_BELOW (64u << 10)
#define LL128_BELOW (4u << 20)

/* NCCL_ALGO and NCCL_PROTO: a plain name, or none of its tables. */
static bool asked(const char *variable, const char *name)
{
    const char *value = nccl_variable(variable);
    return value && strcasecmp(value, name) == 0;
}

static void choose(const struct call *call, uint64_t bytes, bool leaves_host, struct plan *p)
{
    bool tree = call->func == FUNC_AllReduce && call->comm->nranks > 2 && leaves_host && bytes < TREE_BELOW;
    p->algo = tree ? ALGO_TREE : ALGO_RING;
    if (asked("NCCL_ALGO", "Ring") || (call->func == FUNC_AllReduce && asked("NCCL_ALGO", "Tree")))
        p->algo = asked("NCCL_ALGO", "Tree") ? ALGO_TREE : ALGO_RING;
    p->proto = bytes < LL_BELOW ? PROTO_LL : bytes < LL128_BELOW && !leaves_host ? PROTO_LL128 : PROTO_SIMPLE;
    if (asked("NCCL_PROTO", "LL") || asked("NCCL_PROTO", "LL128") || asked("NCCL_PROTO", "Simple"))
        p->proto = asked("NCCL_PROTO", "LL") ? PROTO_LL : asked("NCCL_PROTO", "LL128") ? PROTO_LL128 : PROTO_SIMPLE;
}

static unsigned log2_up(unsigned n)
{
    unsigned log = 0;
    while ((1u << log) < n)
        log++;
    return log;
}

static double collective_latency(const struct call *call, const struct ring *ring, enum nccl_algo algo)
{
    double share, rounds, n = call->comm->nranks;
    factors(call, &share, &rounds);
    if (algo == ALGO_TREE) /* up and down, a mean step at each level */
        return 2.0 * log2_up((unsigned)n) * ring->round_ns / n;
    return rounds * ring->round_ns;
}

/* What goes to and comes from the peers of a group's Send and Recv: each way of each link by itself, at the same time
 * for all peers; so does the network of a host, which they share. */
static double pair_time(const struct call *calls, unsigned nr)
{
    const struct ncclComm *c = calls[0].comm;
    double longest = 0, net[2] = {0, 0}, latency = 0;
    for (unsigned i = 0; i < nr; i++) {
        bool in = calls[i].func == FUNC_Recv;
        if (calls[i].func != FUNC_Send && !in && calls[i].func != FUNC_PutSignal && calls[i].func != FUNC_Signal &&
            calls[i].func != FUNC_WaitSignal)
            continue;
        struct speed s = speed_between(c, c->rank, calls[i].root);
        double ns = (double)call_bytes(&calls[i]) / s.bytes_per_ns;
        latency = s.step_ns > latency ? s.step_ns : latency;
        if (link_between(c, c->rank, calls[i].root) >= LINK_IB)
            net[in] += ns;
        else if (ns > longest)
            longest = ns;
    }
    longest = net[0] > longest ? net[0] : longest;
    longest = net[1] > longest ? net[1] : longest;
    return longest + latency;
}

static bool is_collective(enum nccl_func f)
{
    return f <= FUNC_AllReduce || (f >= FUNC_AlltoAll && f <= FUNC_Scatter);
}

struct plan plan_calls(const struct call *calls, unsigned nr)
{
    struct ring ring = ring_of(calls[0].comm);
    struct plan p = {.channels = ring.leaves_host ? 2 : 8};
    double moving = 0, latency = 0;
    uint64_t most = 0;
    for (unsigned i = 0; i < nr; i++) {
        uint64_t bytes = call_bytes(&calls[i]);
        double share, rounds;
        most = bytes > most ? bytes : most;
        if (!is_collective(calls[i].func))
            continue;
        struct plan own;
        choose(&calls[i], bytes, ring.leaves_host, &own);
        factors(&calls[i], &share, &rounds);
        moving += share * (double)bytes / ring.bytes_per_ns;
        double l = collective_latency(&calls[i], &ring, own.algo);
        latency = l > latency ? l : latency;
    }
    choose(&calls[0], most, ring.leaves_host, &p);
    if (most < LL_BELOW)
        p.channels = 1;
    p.threads = p.proto == PROTO_SIMPLE ? 544 : p.proto == PROTO_LL128 ? 640 : 512;
    double pairs = pair_time(calls, nr), whole = moving + latency;
    p.ns = (uint64_t)(calls[0].comm->peers[0].base_us * 1000 + (pairs > whole ? pairs : whole));
    return p;
}
