/* plugin.c - by kind of event, to whom: the one way from all versions' adapters to the subjects, and the records.
 *
 * NCCL starts ancestors of what was asked for, and newer or other NCCLs start types we have never heard of: those get
 * no handle, unless a chained plugin wants them. */
#include "plugin/plugin.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

struct plugin plugin;

static __thread uint32_t tid_of_thread __attribute__((tls_model("initial-exec")));

uint32_t own_tid(void)
{
    if (unlikely(!tid_of_thread))
        tid_of_thread = (uint32_t)syscall(SYS_gettid);
    return tid_of_thread;
}

void count_dropped(void)
{
    atomic_fetch_add_explicit(&plugin.dropped, 1, memory_order_relaxed);
}

void plugin_warn(const char *what, const char *why)
{
    const char *verbose = getenv("TRSHIM_VERBOSE");
    char line[512];
    if (!verbose || *verbose < '1')
        return;
    int n = snprintf(line, sizeof(line), "trshim[%u]: profiler plugin %s: %s\n", plugin.pid, what, why);
    if (n > 0 && write(STDERR_FILENO, line, (size_t)n < sizeof(line) ? (size_t)n : sizeof(line) - 1) < 0)
        return;
}

struct pool *pool_of(enum handle_kind kind)
{
    static struct pool *const pools[KIND_MAX] = {
        [KIND_COMM] = &comms,     [KIND_GROUP] = &groups, [KIND_CALL_API] = &calls,
        [KIND_CALL] = &calls,     [KIND_OP] = &ops,       [KIND_STEP] = &ops,
        [KIND_KERNEL] = &kernels, [KIND_OTHER] = &others, [KIND_JOIN] = &joins,
    };
    return pools[kind];
}

/* ---- records ----------------------------------------------------------------------------------------------------- */

void *hold_handle(const void *handle, enum handle_kind kind)
{
    struct handle h;
    if (!handle || !handle_read(handle, &h) || h.kind != kind)
        return NULL;
    return slot_hold(pool_of(kind), h.index, h.generation);
}

void *hold_ref(struct pool *pool, struct ref ref)
{
    return ref.generation ? slot_hold(pool, ref.index, ref.generation) : NULL;
}

struct ref ref_of(const struct pool *pool, const void *record)
{
    struct handle h;
    handle_read(handle_make(KIND_OTHER, pool, record, 0), &h);
    return (struct ref){h.index, h.generation};
}

void *new_record(struct pool *pool, uint64_t now, uint64_t max_age_ns)
{
    void *r = slot_take(pool, now, max_age_ns);
    if (!r)
        count_dropped();
    return r;
}

/* ---- the first init ---------------------------------------------------------------------------------------------- */

static atomic_int set_up; /* 0 not, 1 somebody is at it, 2 done */

static void in_child(void)
{
    atomic_store(&plugin.dead, true);
    tid_of_thread = 0;
}

static void tend(uint64_t now, bool last)
{
    static _Atomic uint64_t looked_at_ns;
    if (atomic_load(&plugin.dead))
        return;
    masks_update();
    proxies_tend(now, last);
    uint64_t looked = atomic_load(&looked_at_ns);
    if (!last && now - looked < SECOND)
        return;
    atomic_store(&looked_at_ns, now);
    calls_tend(now, last);
    uint32_t dropped = atomic_exchange(&plugin.dropped, 0);
    if (dropped)
        plugin.sink->dropped(dropped);
}

static void set_up_now(int version)
{
    static const struct nccl_front front = {tend};
    static struct pool *const all[] = {&comms, &groups, &calls, &ops, &joins, &kernels, &others};
    uint64_t now = now_ns();

    plugin.pid = (uint32_t)getpid();
    handles_init((uint32_t)(now ^ now >> 32) * 2654435761u ^ plugin.pid);
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        if (pool_init(all[i]) != 0)
            return; /* pools without memory give no records */
    (void)pthread_atfork(NULL, NULL, in_child);
    const char *told = getenv("TRSHIM_NCCL_KERNELCH");
    plugin.wants_kernels = told && strcmp(told, "1") == 0;
    chain_open(version);
    plugin.sink = core_find();
    if (plugin.sink)
        plugin.sink->front(&front);
}

/* NCCL makes communicators on several threads at once; the others must not go on without a core. */
static void set_up_once(int version)
{
    int before = 0;
    if (atomic_compare_exchange_strong(&set_up, &before, 1)) {
        set_up_now(version);
        atomic_store_explicit(&set_up, 2, memory_order_release);
        return;
    }
    while (atomic_load_explicit(&set_up, memory_order_acquire) != 2) {
        struct timespec ms = {0, 1000000};
        nanosleep(&ms, NULL);
    }
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

/* Never fails: NCCL would go on with whatever the context is, or unload us under other communicators. */
int plugin_init(const struct adapter *a, const struct told_init *told, void **context, int *mask)
{
    int saved_errno = errno;
    void *handle = NULL;
    if (context && !atomic_load(&plugin.dead)) {
        set_up_once(told->version);
        handle = comm_start(told, mask);
    } else if (mask) {
        *mask = 0;
    }
    if (context)
        *context = handle;
    errno = saved_errno;
    return 0;
}

static void *start_of(void *context, const struct told *t)
{
    switch (t->type) {
    case EV_GROUP:
        return t->version < 5 ? group_start(t) : NULL; /* later ones have the calls' own groups */
    case EV_GROUP_API:
        return group_start(t);
    case EV_COLL_API:
    case EV_P2P_API:
        return call_api_start(context, t);
    case EV_COLL:
    case EV_P2P:
    case EV_CE_COLL:
        return call_start(context, t);
    case EV_PROXY_OP:
        return op_start(context, t);
    case EV_PROXY_STEP:
        return step_start(t);
    case EV_KERNEL_CH:
        return kernel_start(context, t);
    default:
        return NULL;
    }
}

void plugin_start(const struct adapter *a, void *context, void **handle, const struct told *t, const void *raw)
{
    if (unlikely(atomic_load_explicit(&plugin.dead, memory_order_relaxed)))
        return;
    int saved_errno = errno;
    void *own = plugin.sink ? start_of(context, t) : NULL;
    if (unlikely(chain_is_open()))
        chain_start(a, context, &own, t, raw);
    *handle = own;
    errno = saved_errno;
}

void plugin_state(const struct adapter *a, void *handle, const struct told_state *t, const void *raw)
{
    struct handle h;
    if (!handle || atomic_load_explicit(&plugin.dead, memory_order_relaxed) || !handle_read(handle, &h))
        return;
    int saved_errno = errno;
    if (unlikely(chain_is_open()))
        chain_state(a, handle, t, raw);
    if (h.kind == KIND_STEP)
        step_state(h, t);
    else if (h.kind == KIND_OP && a->version <= 3)
        op_state(h, t);
    else if (h.kind == KIND_KERNEL)
        kernel_state(h, t);
    errno = saved_errno;
}

static void other_stop(struct handle h)
{
    void *r = slot_hold(&others, h.index, h.generation);
    if (r)
        slot_done(r);
}

void plugin_stop(void *handle)
{
    struct handle h;
    if (!handle || atomic_load_explicit(&plugin.dead, memory_order_relaxed) || !handle_read(handle, &h))
        return;
    int saved_errno = errno;
    if (unlikely(chain_is_open()))
        chain_stop(handle);
    switch (h.kind) {
    case KIND_GROUP:
        group_stop(h);
        break;
    case KIND_CALL:
        call_stop(h);
        break;
    case KIND_OP:
        op_stop(h);
        break;
    case KIND_STEP:
        step_stop(h);
        break;
    case KIND_KERNEL:
        kernel_stop(h);
        break;
    case KIND_OTHER:
        other_stop(h);
        break;
    default: /* KIND_CALL_API: the call is queued, no more */
        break;
    }
    errno = saved_errno;
}

void plugin_finalize(void *context)
{
    int saved_errno = errno;
    if (context && !atomic_load(&plugin.dead))
        comm_stop(context);
    errno = saved_errno;
}
