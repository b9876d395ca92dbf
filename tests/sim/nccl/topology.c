/* topology.c - rings over the ranks in their order, one for each channel, and by which transport each step goes. */
#include "tests/sim/nccl/topology.h"

#include <stdio.h>

#include "tests/sim/nccl/log.h"

unsigned topology_channels(const struct ncclComm *c)
{
    for (int r = 0; r < c->nranks; r++)
        if (link_between(c, r, (r + 1) % c->nranks) >= LINK_IB)
            return 2;
    return c->nranks > 1 ? 8 : 1;
}

static void say_net(const struct ncclComm *c, unsigned channel, int from, int to, bool send)
{
    const struct nccl_peer *me = &c->peers[c->rank];
    /* Each channel takes a device in turn. */
    unsigned device = me->nr_net > 0 ? channel % (unsigned)me->nr_net : 0;
    log_info(LOG_INIT | LOG_NET, "Channel %02u/0 : %d[%d] -> %d[%d] [%s] via NET/%s/%u%s", channel, from,
             c->peers[from].device, to, c->peers[to].device, send ? "send" : "receive", me->net, device,
             me->gdr ? "/GDRDMA" : "");
}

static void say_send(const struct ncclComm *c, unsigned channel, int from, int to)
{
    int a = c->peers[from].device, b = c->peers[to].device;
    const char *p2p = c->peers[from].pid == c->peers[to].pid ? "direct pointer"
                      : nccl_version() >= 22300              ? "CUMEM"
                                                             : "IPC";
    switch (link_between(c, from, to)) {
    case LINK_P2P:
        log_info(LOG_INIT | LOG_P2P, "Channel %02u/0 : %d[%d] -> %d[%d] via P2P/%s", channel, from, a, to, b, p2p);
        break;
    case LINK_SHM:
        log_info(LOG_INIT | LOG_SHM, "Channel %02u : %d[%d] -> %d[%d] via SHM/direct%s", channel, from, a, to, b,
                 nccl_version() >= 23007 ? "" : "/direct");
        break;
    default:
        say_net(c, channel, from, to, true);
    }
}

bool topology_uses(const struct ncclComm *c, enum nccl_link link)
{
    for (int r = 0; r < c->nranks; r++)
        if (link_between(c, r, (r + 1) % c->nranks) == link)
            return true;
    return false;
}

/* Segments are made by those who use them; a full /dev/shm is found out there. */
static ncclResult_t check_shm(struct ncclComm *c)
{
    if (!topology_uses(c, LINK_SHM) || nccl_settings()->shm > 0)
        return ncclSuccess;
    log_warn_at("misc/shmutils.cc:87",
                "Error: failed to extend /dev/shm/nccl-%06llx to 33030532 bytes, error: No space "
                "left on device (28)",
                (unsigned long long)c->hash & 0xffffff);
    return nccl_error(
        c, ncclSystemError,
        "Error while creating shared memory segment /dev/shm/nccl-%06llx (size 33030528), error: No space "
        "left on device (28)",
        (unsigned long long)c->hash & 0xffffff);
}

static void say_graph(const struct ncclComm *c, unsigned channels)
{
    char line[1024];
    for (unsigned ch = 0; ch < channels && c->rank == 0; ch++) {
        size_t len = 0;
        for (int r = 0; r < c->nranks && len < sizeof(line) - 8; r++)
            len += (size_t)snprintf(line + len, sizeof(line) - len, " %d", r);
        log_info(LOG_INIT, "Channel %02u/%02u :%s", ch, channels, line);
    }
}

/* A warning up to 2.26, then information for those who ask for the subsystem. */
static void say_search(const struct ncclComm *c)
{
    static const char text[] = "Could not find a path for pattern 1, falling back to simple order";
    if (nccl_version() >= 21800 && c->peers[c->rank].nvlink)
        log_info(LOG_INIT | LOG_NVLS, "NVLS multicast support is %savailable on dev %d%s",
                 nccl_settings()->nvls > 0 ? "" : "not ", c->device,
                 nccl_version() >= 22700 ? " (NVLS_NCHANNELS 0)" : "");
    if (nccl_settings()->no_path > 0 && nccl_version() < 22700)
        log_warn_at("graph/search.cc:1127", "%s", text);
    else if (nccl_settings()->no_path > 0)
        log_info(LOG_GRAPH, "%s", text);
}

void topology_port_event(const struct ncclComm *c)
{
    const struct nccl_settings *s = nccl_settings();
    int v = nccl_version(), device = (int)s->ib_first;
    if (v < 22100)
        log_warn_at("transport/net_ib.cc:93", "NET/IB : Got async event : port error");
    else if (v < 22400)
        log_warn_at("transport/net_ib.cc:139", "NET/IB : %s%d:1 Got async event : port error", s->ib_name, device);
    else if (v < 22800)
        log_warn_at("transport/net_ib.cc:154", "NET/IB : %s%d:1 Got async error event: port error", s->ib_name, device);
    else
        log_info(LOG_NET, "NET/IB : %s%d:1 Got non-fatal async event: port error(10)", s->ib_name, device);
}

ncclResult_t topology_connect(struct ncclComm *c)
{
    unsigned channels = topology_channels(c);
    int next = (c->rank + 1) % c->nranks, previous = (c->rank + c->nranks - 1) % c->nranks;
    if (c->nranks == 1)
        return ncclSuccess;
    ncclResult_t error = check_shm(c);
    if (error)
        return error;
    say_search(c);
    say_graph(c, channels);
    for (unsigned ch = 0; ch < channels; ch++) {
        if (link_between(c, previous, c->rank) >= LINK_IB)
            say_net(c, ch, previous, c->rank, false);
        say_send(c, ch, c->rank, next);
    }
    log_info(LOG_INIT, "Connected all rings%s",
             nccl_version() < 22400  ? ""
             : c->peers[c->rank].gdr ? ", use ring PXN 0 GDR 1"
                                     : ", use ring PXN 0 GDR 0");
    log_info(LOG_INIT,
             "%u coll channels, 0 collnet channels, 0 nvls channels, %u p2p channels, %u p2p channels per peer",
             channels, channels, channels > 2 ? 2 : channels);
    return ncclSuccess;
}
