/* net.c - what this host has for a network and what NCCL makes of it: InfiniBand or RoCE if its library, its devices
 * and the user allow, else sockets. The lines are those of the version claimed. */
#include "tests/sim/nccl/net.h"

#include <stdio.h>
#include <string.h>

#include "tests/sim/nccl/log.h"
#include "tests/sim/nccl/net_plugin.h"

static struct {
    enum nccl_link kind;
    char name[32], address[32];
    int nr;
    bool gdr;
    double gbs; /* of a plugin */
    ncclResult_t result;
} net;

static uint64_t hash_of(const char *text)
{
    uint64_t hash = 14695981039346656037ull;
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 1099511628211ull;
    return hash;
}

/* NCCL_IB_HCA: [^][=]name[:port],...  a device is taken by prefix, by its whole name after '='. */
static bool hca_taken(const char *device)
{
    const char *list = nccl_variable("NCCL_IB_HCA");
    if (!list)
        return true;
    bool without = *list == '^', exact;
    list += without;
    exact = *list == '=';
    list += exact;
    for (; *list; list += strcspn(list, ","), list += *list == ',') {
        size_t len = strcspn(list, ",:");
        bool hit = exact ? strlen(device) == len && strncmp(device, list, len) == 0 : strncmp(device, list, len) == 0;
        if (hit)
            return !without;
    }
    return without;
}

static int ib_devices(char *ret_list, size_t size)
{
    const struct nccl_settings *s = nccl_settings();
    int nr = 0;
    size_t len = 0;
    for (int i = 0; i < (int)s->ib && s->ib_up > 0; i++) {
        char name[48];
        snprintf(name, sizeof(name), "%s%d", s->ib_name, (int)s->ib_first + i);
        if (!hca_taken(name) || len >= size)
            continue;
        if (nccl_version() >= 22800)
            log_info(LOG_NET, "NET/IB: [%d] %s:uverbs%d:1/%s provider=Mlx5 speed=%d context=%p pciPath=%s ar=0", i,
                     name, i, s->ib_layer, (int)s->ib_mbps, (void *)s, "/sys/devices/pci0000:0d");
        len += (size_t)snprintf(ret_list + len, size - len, " [%d]%s:1/%s", nr++, name, s->ib_layer);
    }
    return nr;
}

/* Whether there is an InfiniBand network to use. */
static bool find_ib(void)
{
    char devices[1024] = "";
    if (nccl_variable_number("NCCL_IB_DISABLE", 0))
        return false;
    if (nccl_settings()->verbs <= 0) {
        if (nccl_version() < 22100)
            log_warn_at("misc/ibvwrap.cc:63", "Failed to open libibverbs.so[.1]");
        else
            log_info(LOG_INIT | LOG_NET, "Failed to open libibverbs.so[.1]");
        return false;
    }
    net.nr = ib_devices(devices, sizeof(devices));
    if (net.nr == 0) {
        log_info(LOG_INIT | LOG_NET, "NET/IB : No device found.");
        return false;
    }
    log_info(LOG_INIT | LOG_NET, "NET/IB : Using%s [RO]; OOB %s:%s<0>", devices, nccl_settings()->interface,
             net.address);
    net.kind = LINK_IB;
    snprintf(net.name, sizeof(net.name), "IB");
    return true;
}

static bool interface_taken(void)
{
    const char *list = nccl_variable("NCCL_SOCKET_IFNAME"), *name = nccl_settings()->interface;
    if (!list)
        return true;
    bool without = *list == '^', exact;
    list += without;
    exact = *list == '=';
    list += exact;
    for (; *list; list += strcspn(list, ","), list += *list == ',') {
        size_t len = strcspn(list, ",");
        if (exact ? strlen(name) == len && strncmp(name, list, len) == 0 : strncmp(name, list, len) == 0)
            return !without;
    }
    return without;
}

/* NCCL_SOCKET_IFNAME may name the loopback interface or a bridge, which every machine has; asked for by name they win.
 */
static const char *interface_used(void)
{
    static char asked[32];
    const char *list = nccl_variable("NCCL_SOCKET_IFNAME");
    if (interface_taken())
        return nccl_settings()->interface;
    if (list && (strncmp(list, "lo", 2) == 0 || strncmp(list, "docker", 6) == 0 || strncmp(list, "virbr", 5) == 0)) {
        snprintf(asked, sizeof(asked), "%.*s", (int)strcspn(list, ","), list);
        return asked;
    }
    return NULL;
}

static bool find_socket(const char *interface)
{
    log_info(LOG_INIT | LOG_NET, "NET/Socket : Using [0]%s:%s<0>", interface, net.address);
    net.kind = LINK_SOCKET;
    net.nr = 1;
    snprintf(net.name, sizeof(net.name), "Socket");
    return true;
}

static void say_environment(void)
{
    static const char *const names[] = {"NCCL_NET",         "NCCL_IB_DISABLE",  "NCCL_IB_HCA",     "NCCL_SOCKET_IFNAME",
                                        "NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE", "NCCL_NET_PLUGIN", "NCCL_NET_GDR_LEVEL",
                                        "NCCL_ALGO",        "NCCL_PROTO",       "NCCL_HOSTID"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (nccl_variable(names[i]))
            log_info(LOG_ENV, "%s set by environment to %s%s", names[i], nccl_variable(names[i]), i == 3 ? "" : ".");
}

static void find_address(void)
{
    uint64_t hash = hash_of(nccl_host());
    if (*nccl_settings()->address)
        snprintf(net.address, sizeof(net.address), "%s", nccl_settings()->address);
    else
        snprintf(net.address, sizeof(net.address), "10.%u.%u.%u", (unsigned)(hash >> 16) & 255,
                 (unsigned)(hash >> 8) & 255, (unsigned)hash % 250 + 1);
}

static __thread struct ncclComm *first; /* the communicator whose making looks around */

static bool find_plugin(const char *wanted)
{
    struct net_plugin_facts facts;
    if (!net_plugin_find(first, wanted, &facts))
        return false;
    net.kind = LINK_PLUGIN;
    net.nr = facts.nr_devices;
    net.gdr = facts.gdr;
    net.gbs = facts.gbs;
    snprintf(net.name, sizeof(net.name), "%s", facts.name);
    return true;
}

static void choose(void)
{
    const char *wanted = nccl_variable("NCCL_NET"), *interface = interface_used();
    find_address();
    say_environment();
    if (!interface) {
        log_warn_at("bootstrap.cc:62", "Bootstrap : no socket interface found");
        net.result = ncclInternalError;
        return;
    }
    if (strcmp(interface, "lo") == 0)
        snprintf(net.address, sizeof(net.address), "127.0.0.1");
    log_info(LOG_INIT | LOG_BOOTSTRAP, "Bootstrap%s: Using %s:%s<0>", nccl_version() < 22400 ? " " : "", interface,
             net.address);
    log_info(LOG_INIT, "cudaDriverVersion 13000");
    bool any = !wanted || strcasecmp(wanted, "IB") == 0;
    bool socket = !wanted || strcasecmp(wanted, "Socket") == 0;
    if (!find_plugin(wanted) && !(any && find_ib()) && !(socket && find_socket(interface))) {
        log_warn_at("net.cc:579", "Error: network %s not found.", wanted);
        net.result = ncclInvalidUsage;
        return;
    }
    net.gdr = net.kind == LINK_PLUGIN ? net.gdr : net.kind == LINK_IB && nccl_settings()->gdr > 0;
    const char *level = nccl_variable("NCCL_NET_GDR_LEVEL");
    if (level && (strcasecmp(level, "LOC") == 0 || strcmp(level, "0") == 0))
        net.gdr = false;
    if (net.kind == LINK_IB)
        for (int i = 0; i < net.nr; i++)
            log_info(LOG_NET, "NET/IB : GPU Direct RDMA %s for HCA %d '%s%d'", net.gdr ? "Enabled" : "Disabled", i,
                     nccl_settings()->ib_name, (int)nccl_settings()->ib_first + i);
    if (nccl_version() >= 22700)
        log_info(LOG_INIT | LOG_NET, "Initialized NET plugin %s", net.name);
    if (nccl_version() >= 22800)
        log_info(LOG_INIT | LOG_NET, "Assigned NET plugin %s to comm", net.name);
}

ncclResult_t net_init(struct ncclComm *c)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    first = c;
    pthread_once(&once, choose);
    net_plugin_comm_begin(c);
    if (!net.result)
        log_info(LOG_INIT | LOG_NET, "Using network %s", net.name);
    return net.result;
}

void net_describe(struct nccl_peer *me)
{
    const struct nccl_settings *s = nccl_settings();
    me->host_hash = hash_of(nccl_host());
    snprintf(me->host, sizeof(me->host), "%s", nccl_host());
    snprintf(me->address, sizeof(me->address), "%s", net.address);
    snprintf(me->net, sizeof(me->net), "%s", net.name);
    me->net_kind = net.kind;
    me->nr_net = net.nr;
    me->gdr = net.gdr;
    me->no_p2p = nccl_variable_number("NCCL_P2P_DISABLE", 0) == 1 || s->p2p <= 0;
    me->no_shm = nccl_variable_number("NCCL_SHM_DISABLE", 0) == 1;
    me->nvlink = s->nvlink > 0;
    me->p2p_gbs = me->nvlink ? s->nvlink_gbs : s->p2p_gbs;
    me->p2p_us = s->p2p_us;
    me->shm_gbs = s->shm_gbs;
    me->shm_us = s->shm_us;
    me->base_us = s->base_us;
    me->net_us = net.kind == LINK_SOCKET ? s->socket_us : s->ib_us;
    me->net_gbs = net.kind == LINK_PLUGIN   ? net.gbs
                  : net.kind == LINK_SOCKET ? s->socket_gbs
                                            : net.nr * (net.gdr ? s->ib_gbs : s->ib_nogdr_gbs);
}
