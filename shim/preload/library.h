/* library.h - the real functions of libraries that come late, out of sight, or twice: CUDA's runtime, PyTorch's c10.
 *
 * RTLD_NEXT does not see what was loaded RTLD_LOCAL, and with two CUDA runtimes in one process it finds the wrong one.
 * So the library is looked for among what is mapped; if several define the function, the one that the caller itself
 * is linked to is taken. If none of that name does, it may be part of another library that exports it (NCCL inside
 * libtorch_cuda): the caller's own, else the next in the loader's order. Found again after each dlopen. */
#ifndef TRSHIM_PRELOAD_LIBRARY_H
#define TRSHIM_PRELOAD_LIBRARY_H

#include <stdatomic.h>

struct library_hook {
    const char *library; /* beginning of the file name: "libcudart.so"; several: "libnccl.so|librccl.so" */
    const char *name;
    void *only;             /* the function, if one library has it; NULL: ask each time */
    atomic_uint generation; /* of `only` */
};

/* Rises when something may have been loaded or unloaded. Starts at 1. */
extern atomic_uint library_generation;

void *library_look(struct library_hook *hook, const void *caller);

/* The function behind `hook` for code at `caller`; NULL if no library has it. */
static inline void *library_real(struct library_hook *hook, const void *caller)
{
    if (__builtin_expect(hook->only && atomic_load_explicit(&hook->generation, memory_order_acquire) ==
                                           atomic_load_explicit(&library_generation, memory_order_relaxed),
                         1))
        return hook->only;
    return library_look(hook, caller);
}

#endif
