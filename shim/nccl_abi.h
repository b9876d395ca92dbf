/* nccl_abi.h - the few things of NCCL's that are not opaque to us. Compared with the real headers by tests/abi/nccl.c.
 */
#ifndef TRSHIM_NCCL_ABI_H
#define TRSHIM_NCCL_ABI_H

#include <stddef.h>

/* ncclUniqueId: handed by value. */
struct nccl_id {
    char bytes[128];
};

/* ncclConfig_t as far as the communicator's name; it grows at its end from release to release, and says its size. */
struct nccl_config {
    size_t size;
    unsigned magic, version;
    int blocking, cga, min_ctas, max_ctas;
    const char *net;
    int split_share, traffic_class;
    const char *name;
};
#define NCCL_CONFIG_MAGIC_WORD 0xcafebeefu

enum { NCCL_SUCCESS = 0, NCCL_SYSTEM_ERROR = 2, NCCL_IN_PROGRESS = 7 };

#endif
