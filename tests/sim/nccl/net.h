/* net.h - which network this process uses between hosts. */
#ifndef SIM_NCCL_NET_H
#define SIM_NCCL_NET_H

#include "tests/sim/nccl/inside.h"

/* Once a process: looks for plugins and devices, says in the log what it finds. Then what peers need to know of it. */
ncclResult_t net_init(struct ncclComm *c);
void net_describe(struct nccl_peer *me);

#endif
