/* cuda.c - makes the wrappers of hooks_cuda.def. */
#include "shim/preload/hook.h"
#include "shim/preload/library.h"

/* Free memory of the calling thread's device, for a request that failed; 0 unknown. */
static uint64_t device_free_bytes(const void *caller)
{
    static struct library_hook hook = {.library = "libcudart.so", .name = "cudaMemGetInfo"};
    int (*get)(size_t *, size_t *) = (int (*)(size_t *, size_t *))library_real(&hook, caller);
    size_t free_bytes = 0, total = 0;
    return get && get(&free_bytes, &total) == 0 ? free_bytes : 0;
}

#define HOOK_LIB(lib, gate, ret, fn, params, args, missing, before, after)                                             \
    PUBLIC ret hook_##fn params __asm__(#fn);                                                                          \
    PUBLIC ret hook_##fn params                                                                                        \
    {                                                                                                                  \
        static struct library_hook hook = {.library = lib, .name = #fn};                                               \
        const void *caller = __builtin_return_address(0);                                                              \
        struct shim_call c;                                                                                            \
        bool open = gate_open(gate); /* first: it notices new libraries */                                             \
        ret(*call) params = (ret(*) params)library_real(&hook, caller);                                                \
        if (unlikely(!call))                                                                                           \
            return missing;                                                                                            \
        if (!open || !hook_enter(&c))                                                                                  \
            return call args;                                                                                          \
        before;                                                                                                        \
        hook_out(&c);                                                                                                  \
        ret rc = call args;                                                                                            \
        hook_leave(&c);                                                                                                \
        after;                                                                                                         \
        hook_done(&c);                                                                                                 \
        return rc;                                                                                                     \
    }

/* Without a result there is nothing to wait for either: told before it is forwarded. */
#define HOOK_LIB_VOID(lib, gate, fn, params, args, when, after)                                                        \
    PUBLIC void hook_##fn params __asm__(#fn);                                                                         \
    PUBLIC void hook_##fn params                                                                                       \
    {                                                                                                                  \
        static struct library_hook hook = {.library = lib, .name = #fn};                                               \
        struct shim_call c;                                                                                            \
        bool open = gate_open(gate) && (when);                                                                         \
        void(*call) params = (void(*) params)library_real(&hook, __builtin_return_address(0));                         \
        if (open && hook_enter(&c)) {                                                                                  \
            c.end_ns = c.start_ns;                                                                                     \
            after;                                                                                                     \
            hook_done(&c);                                                                                             \
        }                                                                                                              \
        if (call)                                                                                                      \
            call args;                                                                                                 \
    }

#include "shim/hooks_cuda.def"
