/* chain.c - another profiler plugin behind us: NCCL takes one, and nobody shall have to choose.
 *
 * TRSHIM_NCCL_CHAIN names it as NCCL_PROFILER_PLUGIN would; unset, it is the one that NCCL finds by itself. It gets
 * what NCCL would give it: its own contexts, its own handles as parents, events of the types it asked for and of their
 * ancestors, and no others; in the newest version that it has and NCCL speaks, translated if that is an older one than
 * NCCL's. Its handles are kept in our records; events that we have no use for get a record for that alone. It is called
 * where NCCL would call it: what it does there, and how long it takes, is its own affair. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "plugin/plugin.h"
#include "shim/preload/old_libc.h"

BIND_OLDEST(dlopen);

#define FORGOTTEN_NS (60 * SECOND)

struct other {
    struct record record;
};
struct pool others = {"events of a chained plugin", 16384, sizeof(struct other)};

static struct {
    const struct adapter *adapter; /* NULL: there is none */
    const void *of;
    int mask;                /* the chained plugin writes here, at any time */
    _Atomic(void *) context; /* of a communicator that lives, for work of other processes */
} chain;

static void *open_like_nccl(const char *name)
{
    void *lib = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    size_t n = strlen(name);
    bool is_file = strchr(name, '/') || (strncmp(name, "lib", 3) == 0 && n > 3 && strcmp(name + n - 3, ".so") == 0);
    char path[512];
    if (lib || is_file || snprintf(path, sizeof(path), "libnccl-profiler-%s.so", name) >= (int)sizeof(path))
        return lib;
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

/* A chain to ourselves would have no end. */
static bool is_ours(const void *symbol)
{
    Dl_info theirs, ours;
    return !dladdr(symbol, &theirs) || !dladdr((const void *)chain_open, &ours) || theirs.dli_fbase == ours.dli_fbase;
}

void chain_open(int version)
{
    const struct adapter *const all[] = {adapter_v7, adapter_v6, adapter_v5, adapter_v4,
                                         adapter_v3, adapter_v2, adapter_v1};
    const char *name = getenv("TRSHIM_NCCL_CHAIN");
    bool is_asked_for = name && *name;
    if (is_asked_for && strcasecmp(name, "none") == 0)
        return;
    void *lib = open_like_nccl(is_asked_for ? name : "libnccl-profiler.so");
    for (size_t i = 0; lib && i < sizeof(all) / sizeof(*all); i++) {
        const void *of = all[i]->version <= version ? dlsym(lib, all[i]->symbol) : NULL;
        if (!of || is_ours(of))
            continue;
        chain.of = of;
        chain.adapter = all[i];
        return;
    }
    (void)dlerror();
    if (is_asked_for || lib)
        plugin_warn(is_asked_for ? name : "libnccl-profiler.so",
                    lib ? "it has no version of the interface that this NCCL speaks" : "it cannot be loaded");
}

bool chain_is_open(void)
{
    return chain.adapter != NULL;
}

/* ---- the mask ---------------------------------------------------------------------------------------------------- */

/* Types that a version has; later bits mean nothing to it. */
static int types_of(int version)
{
    static const int types[] = {0, 0x3f, 0x3f, 0xff, 0xff, 0xfff, 0x7fff, 0xffff};
    return types[version];
}

int chain_mask(void)
{
    return chain.adapter ? __atomic_load_n(&chain.mask, __ATOMIC_RELAXED) : 0;
}

/* What NCCL starts for a mask: what was asked for, and ancestors. */
static int with_ancestors(int mask)
{
    if (mask & EV_NET)
        mask |= EV_PROXY_STEP;
    if (mask & EV_PROXY_STEP)
        mask |= EV_PROXY_OP;
    if (mask & EV_PHASE)
        mask |= EV_KERNEL_CH;
    if (mask & (EV_COLL | EV_P2P | EV_PROXY_OP | EV_KERNEL_CH))
        mask |= EV_GROUP | EV_COLL | EV_P2P;
    if (mask & ~EV_PROXY_CTRL)
        mask |= EV_GROUP_API | EV_COLL_API | EV_P2P_API;
    return mask;
}

static bool is_wanted(uint64_t type, int version)
{
    if (version != chain.adapter->version && !(type & (uint64_t)types_of(chain.adapter->version)))
        return false;
    return type & (uint64_t)with_ancestors(chain_mask());
}

/* ---- contexts ---------------------------------------------------------------------------------------------------- */

bool chain_init(const struct told_init *told, void **ret_context)
{
    int before = chain_mask();
    if (!chain.adapter || told->version < chain.adapter->version)
        return false;
    *ret_context = NULL;
    if (chain.adapter->init(chain.of, ret_context, &chain.mask, told) != 0) {
        __atomic_store_n(&chain.mask, before, __ATOMIC_RELAXED);
        return false;
    }
    atomic_store(&chain.context, *ret_context);
    return true;
}

void chain_finalize(void *context)
{
    void *expected = context;
    atomic_compare_exchange_strong(&chain.context, &expected, NULL);
    chain.adapter->finalize(chain.of, context);
}

/* The chained plugin's context for ours. Another process's work names a context of that process. */
static bool context_of(const void *ours, bool is_foreign, void **ret_context)
{
    if (is_foreign) {
        *ret_context = atomic_load(&chain.context);
        return *ret_context != NULL;
    }
    struct comm *c = hold_handle(ours, KIND_COMM);
    if (!c)
        return false;
    bool is_chained = c->is_chained;
    *ret_context = c->record.chained[0];
    slot_let_go(c);
    return is_chained;
}

/* ---- handles ----------------------------------------------------------------------------------------------------- */

/* Where the chained plugin's handle of one of ours is kept, its record held; NULL if that is gone. */
static void **hold_chained(const void *handle, void **ret_record)
{
    struct handle h;
    if (!handle || !handle_read(handle, &h))
        return NULL;
    struct record *r = slot_hold(pool_of(h.kind), h.index, h.generation);
    if (!r)
        return NULL;
    *ret_record = r;
    void **where = h.kind == KIND_STEP ? step_chained(r, h.extra) : &r->chained[h.kind == KIND_CALL];
    if (!where)
        slot_let_go(r);
    return where;
}

static void *chained_of(const void *handle)
{
    void *record, **where = hold_chained(handle, &record), *chained = NULL;
    if (where) {
        chained = *where;
        slot_let_go(record);
    }
    return chained;
}

static void keep(const void *handle, void *chained)
{
    void *record, **where = hold_chained(handle, &record);
    if (!where)
        return;
    *where = chained;
    slot_let_go(record);
}

/* A handle of ours for an event that we have none for ourselves. */
static void *new_handle(void)
{
    struct other *o = new_record(&others, now_ns(), FORGOTTEN_NS);
    if (!o)
        return NULL;
    void *handle = handle_make(KIND_OTHER, &others, &o->record.slot, 0);
    slot_let_go(o);
    return handle;
}

static void give_back(const void *handle)
{
    struct other *o = hold_handle(handle, KIND_OTHER);
    if (o)
        slot_done(o);
}

void chain_start(const struct adapter *a, void *context, void **handle, const struct told *told, const void *raw)
{
    bool is_foreign = told->type == EV_PROXY_OP && told->pid != (pid_t)plugin.pid;
    void *theirs, *chained = NULL, *ours = *handle;
    if (!is_wanted(told->type, a->version) || !context_of(context, is_foreign, &theirs))
        return;
    if (!ours && !(ours = new_handle()))
        return;

    struct told t = *told;
    bool is_launch = t.type == EV_COLL || t.type == EV_P2P;
    /* Before version 5 the parent of a launch was its group. */
    t.parent = chained_of(is_launch && a->version >= 5 && chain.adapter->version < 5 ? t.parent_group : t.parent);
    t.parent_group = is_launch ? chained_of(t.parent_group) : NULL;
    chain.adapter->start(chain.of, theirs, &chained, &t, a->version == chain.adapter->version ? raw : NULL);
    if (chained)
        keep(ours, chained);
    else if (!*handle)
        give_back(ours);
    if (chained || *handle)
        *handle = ours;
}

void chain_state(const struct adapter *a, void *handle, const struct told_state *told, const void *raw)
{
    static const int last_state[] = {
        0, ST_CTRL_LAST, ST_CTRL_LAST, ST_CTRL_LAST, ST_KERNEL_STOP, ST_GROUP_ENDS, ST_CE_LAST, ST_PHASE_STOP};
    void *chained = chained_of(handle);
    bool is_same = a->version == chain.adapter->version;
    if (chained && (is_same || told->state <= last_state[chain.adapter->version]))
        chain.adapter->state(chain.of, chained, told, is_same ? raw : NULL);
}

void chain_stop(void *handle)
{
    void *chained = chained_of(handle);
    if (chained)
        chain.adapter->stop(chain.of, chained);
}
