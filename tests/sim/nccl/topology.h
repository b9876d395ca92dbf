/* topology.h - the channels of a communicator. */
#ifndef SIM_NCCL_TOPOLOGY_H
#define SIM_NCCL_TOPOLOGY_H

#include "tests/sim/nccl/inside.h"

/* Chooses a transport for each of the channels of this rank and tells them in the log. */
ncclResult_t topology_connect(struct ncclComm *c);
bool topology_uses(const struct ncclComm *c, enum nccl_link link); /* between neighbours in the ring */
void topology_port_event(const struct ncclComm *c);                /* an InfiniBand port of this host had an error */
unsigned topology_channels(const struct ncclComm *c);

#endif
