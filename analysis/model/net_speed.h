/* net_speed.h - how fast the network devices of each host are, and what collectives between hosts should reach by them.
 *
 * Filled by transport.c from what NCCL logs of its InfiniBand devices and from what a watched network plugin says of
 * its own. Interfaces of NET/Socket tell no speed. Memory grows with devices. One thread. */
#ifndef TRSHIM_ANALYSIS_MODEL_NET_SPEED_H
#define TRSHIM_ANALYSIS_MODEL_NET_SPEED_H

#include <stdint.h>

struct communicator;
struct transport;

struct net_speed {
    struct net_speed *next;
    uint32_t host, mbps;
    char *device; /* owned: "mlx5_0:1" of InfiniBand, "NET/<plugin>/<number>" of a plugin */
};

void net_speeds_free(struct net_speed *speeds); /* accepts NULL */

/* `text` is a device and its speed: "mlx5_0:1 400000". 0 or -ENOMEM. */
int net_speed_learn(struct net_speed **speeds, uint32_t host, const char *text);

/* Bytes/s of the devices by which the communicator leaves the host that has least; NAN if one is not known, or none is
 * used. */
double net_speed_between(const struct transport *transport, const struct communicator *comm);

#endif
