/* moved.h - what NCCL's sockets and a wrapped network plugin moved between hosts, whatever its log says.
 *
 * Filled from sock_io events of NCCL and nccl_net_* events, in any order. Who is behind an address is known from the
 * interfaces that NCCL lists on each host (model/transport.h). Memory grows with hosts and addresses. One thread. */
#ifndef TRSHIM_ANALYSIS_MODEL_MOVED_H
#define TRSHIM_ANALYSIS_MODEL_MOVED_H

#include <stdbool.h>
#include <stdint.h>

struct transport;

/* Bytes that a host wrote to one address; ports do not count. */
struct moved_peer {
    struct moved_peer *next;
    uint32_t host;
    uint64_t bytes;
    char *address; /* owned */
};

/* What the network plugin of a host sent. */
struct moved_net {
    struct moved_net *next;
    uint32_t host;
    char *kind; /* owned: "NET/" and the plugin's name, as NCCL logs it; NULL not told */
    uint64_t bytes;
};

/* Zeroed is empty. */
struct moved {
    struct moved_peer *peers; /* owned */
    struct moved_net *nets;   /* owned */
};

void moved_done(struct moved *moved);

/* `peer` is ADDRESS:PORT. 0 or -ENOMEM. */
int moved_by_socket(struct moved *moved, uint32_t host, const char *peer, uint64_t bytes);
int moved_plugin(struct moved *moved, uint32_t host, const char *net, uint64_t bytes); /* net NULL: as told before */

/* Bytes that `host` wrote to addresses of `peer`. `only`: it has no other peer, so that what went to addresses that
 * nobody is known to have (loopback between containers) went there too. */
uint64_t moved_over_sockets(const struct moved *moved, const struct transport *transport, uint32_t host, uint32_t peer,
                            bool only);
const struct moved_net *moved_net(const struct moved *moved, uint32_t host); /* NULL: no plugin was wrapped */

#endif
