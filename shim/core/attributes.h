/* attributes.h - facts about the process and its host, sent as `attr` events. */
#ifndef TRSHIM_CORE_ATTRIBUTES_H
#define TRSHIM_CORE_ATTRIBUTES_H

#include <stdint.h>

/* Reads and sends them all: allow-listed variables, versions, CPU affinity, limits. */
void attributes_send(void);

/* The version of NCCL, as ncclGetVersion has it: sent once known, and with the others. */
void attributes_send_nccl(int32_t version);

/* The version of PyTorch, from the directory its library lies in; sent once known. */
void attributes_send_torch(const char *library_path);

#endif
