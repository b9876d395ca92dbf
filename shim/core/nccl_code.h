/* nccl_code.h - where the code of NCCL and of its network plugins lies: bytes that it moves over sockets are NCCL's.
 *
 * Looked up from time to time; a call only compares. What is linked into another library is not known by its name. */
#ifndef TRSHIM_CORE_NCCL_CODE_H
#define TRSHIM_CORE_NCCL_CODE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define NCCL_MAX_CODE 8

struct nccl_code {
    _Atomic uintptr_t begin, end;
};

extern struct nccl_code nccl_code[NCCL_MAX_CODE];
extern atomic_uint nccl_nr_code;

/* By the tender, once a second, and when a communicator is about to be made: its first connections come next. */
void nccl_code_look(void);

static inline bool nccl_has_code(const void *address)
{
    unsigned n = atomic_load_explicit(&nccl_nr_code, memory_order_acquire);
    for (unsigned i = 0; i < n; i++)
        if ((uintptr_t)address - atomic_load_explicit(&nccl_code[i].begin, memory_order_relaxed) <
            atomic_load_explicit(&nccl_code[i].end, memory_order_relaxed) -
                atomic_load_explicit(&nccl_code[i].begin, memory_order_relaxed))
            return true;
    return false;
}

#endif
