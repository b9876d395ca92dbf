/* wire.h - connections between two ranks over the network, by sockets or by an external plugin. One for each direction;
 * made when first used, without blocking. Used by the progress thread alone. */
#ifndef SIM_NCCL_WIRE_H
#define SIM_NCCL_WIRE_H

#include "tests/sim/nccl/inside.h"

struct wire;

struct wire *wire_find(struct ncclComm *c, struct wire **list, int peer, bool out);
bool wire_lost(const struct wire *w);
/* Moves up to `bytes`; returns how many did, 0: none for now. step: the plugin's event it is for. */
size_t wire_move(struct ncclComm *c, struct wire *w, size_t bytes, void *step);
void wire_free(struct wire *list);

#endif
