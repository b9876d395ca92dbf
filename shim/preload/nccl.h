/* nccl.h - what the rest of the preload and NCCL's hooks know of each other. */
#ifndef TRSHIM_PRELOAD_NCCL_H
#define TRSHIM_PRELOAD_NCCL_H

#include "shim/shim.h"

/* shim_preload.nccl_ask */
bool nccl_ask(const void *comm, const void *caller, struct shim_nccl_asked *ret);

#endif
