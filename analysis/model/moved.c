/* moved.c - see moved.h. */
#include "analysis/model/moved.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/model/transport.h"

void moved_done(struct moved *moved)
{
    for (struct moved_peer *peer = moved->peers, *next; peer; peer = next) {
        next = peer->next;
        free(peer->address);
        free(peer);
    }
    for (struct moved_net *net = moved->nets, *next; net; net = next) {
        next = net->next;
        free(net->kind);
        free(net);
    }
    *moved = (struct moved){0};
}

static size_t address_length(const char *peer)
{
    const char *port = strrchr(peer, ':');
    return port ? (size_t)(port - peer) : strlen(peer);
}

int moved_by_socket(struct moved *moved, uint32_t host, const char *peer, uint64_t bytes)
{
    size_t len = address_length(peer);
    for (struct moved_peer *known = moved->peers; known; known = known->next)
        if (known->host == host && strlen(known->address) == len && !strncmp(known->address, peer, len)) {
            known->bytes += bytes;
            return 0;
        }
    struct moved_peer *made = calloc(1, sizeof(*made));
    char *address = strndup(peer, len);
    if (!made || !address) {
        free(made);
        free(address);
        return -ENOMEM;
    }
    *made = (struct moved_peer){moved->peers, host, bytes, address};
    moved->peers = made;
    return 0;
}

int moved_plugin(struct moved *moved, uint32_t host, const char *net, uint64_t bytes)
{
    struct moved_net *known = moved->nets;
    while (known && known->host != host)
        known = known->next;
    if (!known) {
        if (!(known = calloc(1, sizeof(*known))))
            return -ENOMEM;
        known->host = host;
        known->next = moved->nets;
        moved->nets = known;
    }
    known->bytes += bytes;
    if (net && !known->kind && asprintf(&known->kind, "NET/%s", net) < 0) {
        known->kind = NULL;
        return -ENOMEM;
    }
    return 0;
}

const struct moved_net *moved_net(const struct moved *moved, uint32_t host)
{
    const struct moved_net *net = moved->nets;
    while (net && net->host != host)
        net = net->next;
    return net;
}

/* Interfaces as NCCL lists them: "[0]eth0:10.0.0.1<0> [1]ib0:...". */
static bool lists(const char *interfaces, const char *address)
{
    size_t len = strlen(address);
    for (const char *at = interfaces; at && (at = strstr(at, address)); at += len)
        if (at > interfaces && at[-1] == ':' && at[len] == '<')
            return true;
    return false;
}

/* The one host that has the address; TRANSPORT_NO_HOST if none is known to, or several. */
static uint32_t host_with(const struct transport *transport, const char *address)
{
    uint32_t found = TRANSPORT_NO_HOST;
    for (size_t i = 0; i < transport->nr_hosts; i++) {
        const struct transport_host *host = &transport->hosts[i];
        if (!lists(host->interfaces, address) && !lists(host->bootstrap, address))
            continue;
        if (found != TRANSPORT_NO_HOST)
            return TRANSPORT_NO_HOST;
        found = (uint32_t)i;
    }
    return found;
}

uint64_t moved_over_sockets(const struct moved *moved, const struct transport *transport, uint32_t host, uint32_t peer,
                            bool only)
{
    uint64_t bytes = 0;
    for (const struct moved_peer *known = moved->peers; known && peer != TRANSPORT_NO_HOST; known = known->next) {
        if (known->host != host)
            continue;
        uint32_t other = host_with(transport, known->address);
        bytes += other == peer || (only && other == TRANSPORT_NO_HOST) ? known->bytes : 0;
    }
    return bytes;
}
