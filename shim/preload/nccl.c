/* nccl.c - makes the wrappers of hooks_nccl.def. Runs on every thread that calls NCCL; must only observe.
 *
 * NCCL calls itself through its own public names (ncclBcast is ncclBroadcast): inside a call that is recorded the hooks
 * forward, by shim_tls.in_nccl. */
#include "shim/preload/nccl.h"

#include "shim/nccl_abi.h"
#include "shim/preload/cuda_graph.h"
#include "shim/preload/hook.h"
#include "shim/preload/library.h"

#define LIBRARIES "libnccl.so|librccl.so"
#define NO_NCCL NCCL_SYSTEM_ERROR
#define NCCL_ID struct nccl_id

#define COMM_OPEN gate_open(GATE_LIFE) /* rare, and later sessions need them */
#define CALL_OPEN gate_open(GATE_NCCL)
#define MEMORY_OPEN gate_open(GATE_SEGMENT)

static const char *config_name(const void *config)
{
    const struct nccl_config *c = config;
    return c && c->magic == NCCL_CONFIG_MAGIC_WORD && c->size >= sizeof(*c) ? c->name : NULL;
}

/* ---- asking NCCL ------------------------------------------------------------------------------------------------ */

typedef int (*ask_int)(const void *comm, int *ret);

static bool ask(struct library_hook *hook, const void *comm, const void *caller, int32_t *ret)
{
    ask_int fn = (ask_int)library_real(hook, caller);
    int value = -1;
    if (!fn || fn(comm, &value) != 0)
        return false;
    *ret = value;
    return true;
}

/* A communicator that is still being made, or has failed, would print a warning when asked for its rank. */
bool nccl_ask(const void *comm, const void *caller, struct shim_nccl_asked *ret)
{
    static struct library_hook error = {.library = LIBRARIES, .name = "ncclCommGetAsyncError"};
    static struct library_hook rank = {.library = LIBRARIES, .name = "ncclCommUserRank"};
    static struct library_hook count = {.library = LIBRARIES, .name = "ncclCommCount"};
    static struct library_hook device = {.library = LIBRARIES, .name = "ncclCommCuDevice"};
    static struct library_hook version = {.library = LIBRARIES, .name = "ncclGetVersion"};
    int (*get_version)(int *) = (int (*)(int *))library_real(&version, caller);
    int32_t is_wrong = 0;
    ret->version = 0;
    if (get_version && get_version(&ret->version) != 0)
        ret->version = 0;
    return ask(&error, comm, caller, &is_wrong) && !is_wrong && ask(&rank, comm, caller, &ret->rank) &&
           ask(&count, comm, caller, &ret->nranks) && ask(&device, comm, caller, &ret->device);
}

/* ---- the wrappers ----------------------------------------------------------------------------------------------- */

#define HOOK_NCCL(open_, fn, params, args, before, after)                                                              \
    PUBLIC int hook_##fn params __asm__(#fn);                                                                          \
    PUBLIC int hook_##fn params                                                                                        \
    {                                                                                                                  \
        static struct library_hook hook = {.library = LIBRARIES, .name = #fn};                                         \
        const void *caller = __builtin_return_address(0), *library;                                                    \
        struct shim_call c;                                                                                            \
        bool open = open_ && !shim_tls.in_nccl; /* first: it notices new libraries */                                  \
        int(*call) params = (int(*) params)library_real(&hook, caller);                                                \
        if (unlikely(!call))                                                                                           \
            return NO_NCCL;                                                                                            \
        if (!open || !hook_enter(&c))                                                                                  \
            return call args;                                                                                          \
        library = (const void *)call;                                                                                  \
        (void)library;                                                                                                 \
        before;                                                                                                        \
        shim_tls.in_nccl = 1;                                                                                          \
        core->blocking(c.tls, TR_wait_kind_nccl, 0, c.start_ns);                                                       \
        hook_out(&c);                                                                                                  \
        int rc = call args;                                                                                            \
        hook_leave(&c);                                                                                                \
        shim_tls.in_nccl = 0;                                                                                          \
        core->blocking(c.tls, TR_wait_kind_nccl, 0, 0);                                                                \
        after;                                                                                                         \
        hook_done(&c);                                                                                                 \
        return rc;                                                                                                     \
    }

/* The depth is counted whether somebody listens or not: a session may begin in a group. */
#define HOOK_NCCL_GROUP(fn, params, args, change, dropped)                                                             \
    PUBLIC int hook_##fn params __asm__(#fn);                                                                          \
    PUBLIC int hook_##fn params                                                                                        \
    {                                                                                                                  \
        static struct library_hook hook = {.library = LIBRARIES, .name = #fn};                                         \
        struct shim_tls *tls = &shim_tls;                                                                              \
        struct shim_call c;                                                                                            \
        int(*call) params = (int(*) params)library_real(&hook, __builtin_return_address(0));                           \
        if (unlikely(!call))                                                                                           \
            return NO_NCCL;                                                                                            \
        if (unlikely(tls->in_nccl))                                                                                    \
            return call args;                                                                                          \
        bool ends = (change) < 0 && tls->nccl_depth == 1 && tls->nccl_pending && core && hook_enter(&c);               \
        if (ends) {                                                                                                    \
            tls->in_nccl = 1;                                                                                          \
            core->blocking(tls, TR_wait_kind_nccl, 0, c.start_ns);                                                     \
            hook_out(&c);                                                                                              \
        }                                                                                                              \
        int rc = call args;                                                                                            \
        if ((change) < 0 ? tls->nccl_depth > 0 : rc == 0)                                                              \
            tls->nccl_depth = (uint16_t)(tls->nccl_depth + (change));                                                  \
        if (ends) {                                                                                                    \
            hook_leave(&c);                                                                                            \
            tls->in_nccl = 0;                                                                                          \
            core->blocking(tls, TR_wait_kind_nccl, 0, 0);                                                              \
            core->nccl_group_end(&c, dropped, rc);                                                                     \
            hook_done(&c);                                                                                             \
        }                                                                                                              \
        return rc;                                                                                                     \
    }

#include "shim/hooks_nccl.def"
