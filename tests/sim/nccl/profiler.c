/* profiler.c - a communicator's use of the plugin, and one event: the values are laid out as the plugin's version has
 * them. Older plugins are served through what NCCL calls adaptors: they lose what they do not know. */
#include "tests/sim/nccl/profiler.h"

#include <stdlib.h>
#include <string.h>

#include "tests/sim/nccl/log.h"

struct plugin_comm {
    const struct profiler_plugin *plugin;
    int version;
    void *context;
};

static int event_mask; /* one for the process: the last communicator's init decides; plugins may keep its address */

static int init(struct ncclComm *c, struct plugin_comm *p)
{
    const char *name = *c->name ? c->name : NULL;
    profiler_logger *log = (profiler_logger *)log_for_plugins;
    if (p->version < 4)
        return p->plugin->init_1(&p->context, &event_mask);
    if (p->version == 4)
        return p->plugin->init_4(&p->context, &event_mask, name, c->hash, c->nr_nodes, c->nranks, c->rank, log);
    return p->plugin->init_5(&p->context, c->hash, &event_mask, name, c->nr_nodes, c->nranks, c->rank, log);
}

void profiler_comm_begin(struct ncclComm *c)
{
    struct plugin_comm *p = calloc(1, sizeof(*p));
    if (!p || !(p->plugin = profiler_open(&p->version))) {
        free(p);
        return;
    }
    int error = init(c, p);
    if (error && nccl_version() < 22800) { /* newer ones keep using it with whatever the context is */
        log_warn_at("plugin/profiler.cc:203", "Profiler init failed with error %d, disabling profiler.", error);
        profiler_close();
        free(p);
        return;
    }
    if (error)
        log_info(LOG_INIT, "Profiler init failed with error %d", error);
    if (nccl_version() >= 22900)
        log_info(LOG_INIT, "Profiler event mask: 0x%x (%d)", event_mask, event_mask);
    c->plugin = p;
}

void profiler_comm_end(struct ncclComm *c)
{
    struct plugin_comm *p = c->plugin;
    if (!p)
        return;
    c->plugin = NULL;
    if (p->context || nccl_version() < 22800)
        p->plugin->finalize(p->context);
    profiler_close();
    free(p);
}

int profiler_version(const struct ncclComm *c)
{
    return c->plugin ? c->plugin->version : 0;
}

bool profiler_adapted(const struct ncclComm *c)
{
    return profiler_version(c) != profiler_native_version();
}

unsigned profiler_mask(const struct ncclComm *c)
{
    return c->plugin ? (unsigned)__atomic_load_n(&event_mask, __ATOMIC_RELAXED) : 0;
}

/* ---- Descriptors ---- */
static void put(unsigned char *to, int offset, const void *value, size_t bytes)
{
    if (offset >= 0)
        memcpy(to + offset, value, bytes);
}

#define OFFSET(...) ((const int[]){__VA_ARGS__})[v - 1]
#define WRITE_u8(field, at) put(d, at, &(uint8_t){(uint8_t)e->field}, 1)
#define WRITE_i32(field, at) put(d, at, &(int32_t){e->field}, 4)
#define WRITE_u64(field, at) put(d, at, &(uint64_t){e->field}, 8)
#define WRITE_ptr(field, at) put(d, at, &(const void *){e->field}, 8)
#define WRITE_cstr(field, at) put(d, at, &(const char *){e->field}, 8)
#define func_text func
#define type_text type_name
#define algo_text algo
#define proto_text proto
#define NAMED_SELECT(field, at)                                                                                        \
    if (v == 1)                                                                                                        \
        WRITE_u8(field##_number, at);                                                                                  \
    else                                                                                                               \
        WRITE_cstr(field##_text, at)

static void fill(unsigned char *d, int v, const struct profiler_event *e)
{
    memset(d, 0, PROFILER_DESCRIPTOR_BYTES);
    if (v < 5)
        d[0] = (unsigned char)e->type;
    else
        put(d, 0, &(uint64_t){e->type}, 8);
    put(d, 8, &e->parent, 8);
    put(d, 16, &e->rank, 4);
#define FIELD(event, field, type_, ...)                                                                                \
    if (e->type == PROFILE_##event)                                                                                    \
        WRITE_##type_(field, OFFSET(__VA_ARGS__));
#define NAMED(event, field, ...)                                                                                       \
    if (e->type == PROFILE_##event) {                                                                                  \
        NAMED_SELECT(field, OFFSET(__VA_ARGS__));                                                                      \
    }
#include "tests/sim/abi/nccl_profiler_fields.def"
#undef FIELD
#undef NAMED
    /* The adaptor for 4 forgets the channels of a P2p: what was on the stack stays. */
    if (v == 4 && nccl_version() >= 22800 && e->type == PROFILE_P2p)
        d[60] = 0xa5;
}

static bool known(int v, enum profiler_type type)
{
    return type < PROFILE_KernelCh || (v >= 3 && type <= PROFILE_NetPlugin) || v >= 5;
}

void profiler_start(struct ncclComm *c, void **handle, const struct profiler_event *e)
{
    const struct plugin_comm *p = c->plugin;
    unsigned char descriptor[PROFILER_DESCRIPTOR_BYTES] __attribute__((aligned(8)));
    if (!p || !known(p->version, e->type))
        return;
    if (p->version < 4)
        *handle = NULL; /* those adaptors clear it */
    fill(descriptor, p->version, e);
    p->plugin->start(e->context ? e->context : p->context, handle, descriptor);
}

void profiler_stop(struct ncclComm *c, void *handle)
{
    if (c->plugin && handle)
        c->plugin->plugin->stop(handle);
}

void profiler_state(struct ncclComm *c, void *handle, enum profiler_state state, const union profiler_args *args)
{
    const struct plugin_comm *p = c->plugin;
    union profiler_args copy = args ? *args : (union profiler_args){0};
    bool is_new = state >= STATE_OpInProgress, native = nccl_version() < 22700;
    if (!p || !handle || (p->version < 4 && is_new) || (p->version < 5 && state >= STATE_GroupStartApiStop) ||
        (p->version >= 4 && state <= STATE_RecvDone) || (!native && state <= STATE_RecvDone))
        return;
    p->plugin->state(handle, (int)state, args ? &copy : NULL);
}
