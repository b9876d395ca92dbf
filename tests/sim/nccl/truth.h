/* truth.h - what really happened in the simulated NCCL, for whoever judges others by it (simtrain --truth, tests). The
 * functions are exported by libnccl.so.2; a program that opens the library by dlopen finds them by dlsym. */
#ifndef SIM_NCCL_TRUTH_H
#define SIM_NCCL_TRUTH_H

#include <stddef.h>
#include <stdint.h>

/* One kernel of one rank. A fused one (a group's calls on one communicator) is told by its first call and nr_calls. */
struct sim_nccl_truth {
    uint64_t comm;    /* its hash, the same on all ranks */
    const char *op;   /* "AllReduce", ... "Send", "Recv", as the plugin interface spells them; static */
    const char *name; /* of the kernel; static */
    int rank, nranks; /* in the communicator */
    int root_or_peer; /* -1: neither */
    unsigned nr_calls, nr_sends, nr_receives;
    uint64_t launch;  /* number of this kernel in its communicator on this rank */
    uint64_t ordinal; /* of its first call: among the rank's collectives there, or to this peer and this way */
    uint64_t bytes;   /* of all its calls, S of nccl-tests */
    uint64_t start_ns, all_ready_ns, end_ns;      /* began; last start it depends on (its own at the least); ended */
    uint32_t device, stream_id, correlation, tag; /* of the operation in the engine's log */
};

typedef void sim_nccl_truth_start_fn(void);
typedef size_t sim_nccl_truth_take_fn(struct sim_nccl_truth **ret);

/* From now on kernels are kept. */
__attribute__((visibility("default"))) void sim_nccl_truth_start(void);
/* Those decided since, in the order in which their ends became known; *ret is the caller's (free). Wait for the device
 * first: what is undecided is not in it. */
__attribute__((visibility("default"))) size_t sim_nccl_truth_take(struct sim_nccl_truth **ret);

#endif
