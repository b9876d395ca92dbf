/* net_plugin.h - external network plugins, interface 6 to 12: found as NCCL finds them; the first that initialises and
 * has devices replaces what is built in. */
#ifndef SIM_NCCL_NET_PLUGIN_H
#define SIM_NCCL_NET_PLUGIN_H

#include "tests/sim/nccl/inside.h"

struct net_plugin_facts {
    const char *name;
    int nr_devices;
    bool gdr;
    double gbs; /* of all devices */
};

/* Once a process, in the first communicator's making. `wanted`: NCCL_NET, NULL any. */
bool net_plugin_find(struct ncclComm *c, const char *wanted, struct net_plugin_facts *ret);
void *net_plugin_library(void);                 /* of NCCL_NET_PLUGIN, NULL: none was loaded */
void net_plugin_comm_begin(struct ncclComm *c); /* from interface 11 on each communicator has a context */
void net_plugin_comm_end(struct ncclComm *c);

/* One direction of a connection; handle is what the receiver's listen gave out. 0, or the connection is lost. */
struct net_plugin_wire {
    void *listening, *comm, *memory, *request;
    char *data;
    size_t size;
    bool out;
};
int net_plugin_listen(struct ncclComm *c, struct net_plugin_wire *w, void *handle);
int net_plugin_connect(struct ncclComm *c, struct net_plugin_wire *w, void *handle); /* w->comm NULL: not yet */
int net_plugin_accept(struct ncclComm *c, struct net_plugin_wire *w);
/* Begins or goes on with a message of that size; *ret_moved is its size when it has passed, else 0. */
int net_plugin_move(struct ncclComm *c, struct net_plugin_wire *w, size_t size, void *step, size_t *ret_moved);
void net_plugin_close(struct net_plugin_wire *w);

#endif
