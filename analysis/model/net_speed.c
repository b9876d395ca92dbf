/* net_speed.c - see net_speed.h. */
#include "analysis/model/net_speed.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/model/communicators.h"
#include "analysis/model/transport.h"

void net_speeds_free(struct net_speed *speeds)
{
    for (struct net_speed *next; speeds; speeds = next) {
        next = speeds->next;
        free(speeds->device);
        free(speeds);
    }
}

static struct net_speed *find(struct net_speed *speeds, uint32_t host, const char *device, size_t len)
{
    for (; speeds; speeds = speeds->next)
        if (speeds->host == host && strlen(speeds->device) == len && !strncmp(speeds->device, device, len))
            return speeds;
    return NULL;
}

int net_speed_learn(struct net_speed **speeds, uint32_t host, const char *text)
{
    const char *number = strrchr(text, ' ');
    long mbps = number ? strtol(number, NULL, 10) : 0;
    if (mbps <= 0 || mbps > INT32_MAX || number == text)
        return 0;
    struct net_speed *speed = find(*speeds, host, text, (size_t)(number - text));
    if (!speed) {
        char *device = strndup(text, (size_t)(number - text));
        if (!device || !(speed = calloc(1, sizeof(*speed)))) {
            free(device);
            return -ENOMEM;
        }
        *speed = (struct net_speed){.next = *speeds, .host = host, .device = device};
        *speeds = speed;
    }
    speed->mbps = (uint32_t)mbps;
    return 0;
}

/* The device that the connection uses; 0 unknown. Of InfiniBand the log numbers those it uses in a list of their own:
 * "[0]mlx5_0:1/IB [1]mlx5_1:1/RoCE". */
static uint32_t speed_of(const struct transport *transport, const struct transport_edge *edge)
{
    const char *list = edge->host < transport->nr_hosts ? transport->hosts[edge->host].devices : NULL;
    char text[128];
    if (strcmp(edge->kind, "NET/IB") == 0 && list) {
        (void)snprintf(text, sizeof(text), "[%u]", edge->device);
        const char *name = strstr(list, text);
        name = name ? name + strlen(text) : "";
        const struct net_speed *speed = find(transport->speeds, edge->host, name, strcspn(name, "/ "));
        if (speed)
            return speed->mbps;
    }
    (void)snprintf(text, sizeof(text), "%s/%u", edge->kind, edge->device);
    const struct net_speed *speed = find(transport->speeds, edge->host, text, strlen(text));
    return speed ? speed->mbps : 0;
}

struct use {
    uint32_t host, device, mbps;
};

static int by_use(const void *a, const void *b)
{
    const struct use *x = a, *y = b;
    if (x->host != y->host)
        return x->host < y->host ? -1 : 1;
    return x->device < y->device ? -1 : x->device > y->device;
}

static double least_of_hosts(struct use *uses, size_t nr)
{
    double least = NAN, sum = 0;
    qsort(uses, nr, sizeof(*uses), by_use);
    for (size_t i = 0; i < nr; i++) {
        if (!uses[i].mbps)
            return NAN;
        sum += i && by_use(&uses[i - 1], &uses[i]) == 0 ? 0 : uses[i].mbps * 1e6 / 8;
        if (i + 1 < nr && uses[i + 1].host == uses[i].host)
            continue;
        least = fmin(least, sum);
        sum = 0;
    }
    return least;
}

static bool sends_out(const struct transport_edge *edge, const struct communicator *comm)
{
    return edge->comm && edge->comm->id == comm->id && edge->comm->nranks == comm->nranks && transport_is_net(edge) &&
           edge->way != TR_nccl_way_receive && transport_peer(edge) != edge->host;
}

double net_speed_between(const struct transport *transport, const struct communicator *comm)
{
    size_t nr = 0;
    for (const struct transport_edge *edge = transport ? transport->edges : NULL; edge; edge = edge->next)
        nr += sends_out(edge, comm);
    struct use *uses = nr ? malloc(nr * sizeof(*uses)) : NULL;
    if (!uses)
        return NAN;
    nr = 0;
    for (const struct transport_edge *edge = transport->edges; edge; edge = edge->next)
        if (sends_out(edge, comm))
            uses[nr++] = (struct use){edge->host, edge->device, speed_of(transport, edge)};
    double least = least_of_hosts(uses, nr);
    free(uses);
    return least;
}
