/* net_plugin.c - see net_plugin.h. The interface is a name and functions whose order never changed; what they take did,
 * so each call is made in the form of the plugin's version. */
#include "tests/sim/nccl/net_plugin.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "tests/sim/nccl/log.h"
#include "tests/sim/nccl/profiler.h"

#define MESSAGE_BYTES (128u << 10)
#define HOST_MEMORY 1

enum function { /* place in the structure */
                NAME,
                INIT,
                DEVICES,
                GET_PROPERTIES,
                LISTEN,
                CONNECT,
                ACCEPT,
                REG_MR,
                REG_MR_DMABUF,
                DEREG_MR,
                ISEND,
                IRECV,
                IFLUSH,
                TEST,
                CLOSE_SEND,
                CLOSE_RECV,
                CLOSE_LISTEN,
                GET_DEVICE_MR, /* 7 */
                IRECV_CONSUMED,
                MAKE_VDEVICE, /* 9 */
                FINALIZE,     /* 11 */
                SET_NET_ATTR,
};

static void *library;
static void **plugin;
static int version;
static void *first_context; /* from 11 on: made when it was tried, used by the first communicator */

#define CALL(function, arguments) ((int(*) arguments)plugin[function])

/* ---- Profiling by the plugin: pHandle is ours, it says which step a message belongs to ---- */
struct step_of {
    struct ncclComm *comm;
    void *step;
};

static int on_profile(void **handle, int type, void *of, int64_t id, void *data)
{
    const struct step_of *s = of;
    struct profiler_event e = {
        .type = PROFILE_NetPlugin, .rank = s ? s->comm->rank : 0, .id = (uint64_t)id, .data = data};
    union profiler_args args = {.data = data};
    if (!s || !(profiler_mask(s->comm) & PROFILE_NetPlugin))
        return 0;
    e.parent = s->step;
    if (type == 0)
        profiler_start(s->comm, handle, &e);
    if (type >= 2)
        profiler_state(s->comm, *handle, STATE_NetPluginUpdate, &args);
    if (type == 1 || type == 3)
        profiler_stop(s->comm, *handle);
    return 0;
}

/* ---- Loading ---- */
static int native_version(void)
{
    static const struct {
        int nccl, interface;
    } since[] = {{23000, 12}, {22800, 11}, {22600, 10}, {22400, 9}, {22000, 8}, {21900, 7}};
    for (size_t i = 0; i < sizeof(since) / sizeof(since[0]); i++)
        if (nccl_version() >= since[i].nccl)
            return since[i].interface;
    return 6;
}

static bool try_open(const char *name)
{
    char path[4096];
    library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library || strchr(name, '/'))
        return library != NULL;
    snprintf(path, sizeof(path), "libnccl-net-%s.so", name);
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return library != NULL;
}

static bool find_symbol(void)
{
    for (version = native_version(); version >= 6; version--) {
        char symbol[32];
        snprintf(symbol, sizeof(symbol), "ncclNetPlugin_v%d", version);
        plugin = dlsym(library, symbol);
        if (plugin)
            return true;
        log_info(LOG_INIT | LOG_NET, "NET/Plugin: Failed to find %s symbol.", symbol);
    }
    return false;
}

static int start(struct ncclComm *c, void **ret_context)
{
    int traffic_class = -1;
    *ret_context = NULL;
    if (version >= 11)
        return CALL(INIT, (void **, uint64_t, int *, void *, void *))(ret_context, c->hash, &traffic_class,
                                                                      (void *)log_for_plugins, (void *)on_profile);
    if (version == 10)
        return CALL(INIT, (void *, void *))((void *)log_for_plugins, (void *)on_profile);
    return CALL(INIT, (void *))((void *)log_for_plugins);
}

/* The begin of a device's properties is the same in all versions; the speed's place moved twice. */
static void add_device(int device, struct net_plugin_facts *ret)
{
    union {
        struct {
            const char *name, *path;
            uint64_t guid;
            int memory, fields[8];
        };
        char room[1024];
    } p;
    memset(&p, 0, sizeof(p));
    if (CALL(GET_PROPERTIES, (int, void *))(device, &p) != 0)
        return;
    int mbps = p.fields[version >= 9 ? 2 : version >= 8 ? 1 : 0];
    ret->gbs += mbps > 0 ? mbps / 8000.0 : nccl_settings()->ib_gbs;
    ret->gdr |= (p.memory & 2) != 0;
}

static bool usable(struct ncclComm *c, const char *wanted, struct net_plugin_facts *ret)
{
    const char *name = (const char *)plugin[NAME];
    int devices = 0;
    log_info(LOG_INIT | LOG_NET, "NET/Plugin: Loaded net plugin %s (v%d)", name, version);
    if (wanted && strcasecmp(wanted, name) != 0)
        return false;
    if (start(c, &first_context) != 0 || CALL(DEVICES, (int *))(&devices) != 0 || devices <= 0) {
        if (nccl_version() >= 22800)
            log_info(LOG_INIT | LOG_NET, "Failed to initialize NET plugin %s", name);
        return false;
    }
    *ret = (struct net_plugin_facts){.name = name, .nr_devices = devices};
    for (int i = 0; i < devices; i++)
        add_device(i, ret);
    return true;
}

static void say_not_found(const char *name)
{
    int v = nccl_version();
    if (v < 22000)
        log_info(LOG_INIT | LOG_NET, "NET/Plugin : No plugin found (%s), using internal implementation", name);
    else if (v < 22400)
        log_info(LOG_INIT | LOG_NET, "NET/Plugin: No plugin found (%s)", name),
            log_info(LOG_INIT | LOG_NET, "NET/Plugin: Plugin load returned 2 : %s : when loading %s", dlerror(), name),
            log_info(LOG_INIT | LOG_NET, "NET/Plugin: Using internal network plugin.");
    else
        log_info(LOG_INIT | LOG_NET, "NET/Plugin: Could not find: %s%s", name,
                 v < 22800 ? ". Using internal network plugin." : "");
}

bool net_plugin_find(struct ncclComm *c, const char *wanted, struct net_plugin_facts *ret)
{
    const char *list = nccl_variable("NCCL_NET_PLUGIN");
    char *copy = strdup(list ? list : "libnccl-net.so"), *rest = NULL;
    bool found = false;
    if (list && strcasecmp(list, "none") == 0 && nccl_version() >= 22000) {
        free(copy);
        return false;
    }
    /* Several names, tried in turn, since 2.26. */
    const char *separators = nccl_version() >= 22600 ? "," : "";
    for (char *name = strtok_r(copy, separators, &rest); name && !found; name = strtok_r(NULL, separators, &rest)) {
        if (!try_open(name))
            say_not_found(name);
        else
            found = find_symbol() && usable(c, wanted, ret);
    }
    free(copy);
    if (!found)
        plugin = NULL;
    return found;
}

void *net_plugin_library(void)
{
    return library;
}

void net_plugin_comm_begin(struct ncclComm *c)
{
    if (!plugin || version < 11)
        return;
    c->net_context = __atomic_exchange_n(&first_context, NULL, __ATOMIC_ACQ_REL);
    if (!c->net_context)
        start(c, &c->net_context);
}

void net_plugin_comm_end(struct ncclComm *c)
{
    if (plugin && version >= 11 && c->net_context)
        CALL(FINALIZE, (void *))(c->net_context);
    c->net_context = NULL;
}

/* ---- Connections ---- */
int net_plugin_listen(struct ncclComm *c, struct net_plugin_wire *w, void *handle)
{
    if (version >= 11)
        return CALL(LISTEN, (void *, int, void *, void **))(c->net_context, 0, handle, &w->listening);
    return CALL(LISTEN, (int, void *, void **))(0, handle, &w->listening);
}

static int register_memory(struct net_plugin_wire *w)
{
    w->data = calloc(1, MESSAGE_BYTES);
    if (!w->data)
        return -1;
    if (version >= 8)
        return CALL(REG_MR, (void *, void *, size_t, int, void **))(w->comm, w->data, MESSAGE_BYTES, HOST_MEMORY,
                                                                    &w->memory);
    return CALL(REG_MR, (void *, void *, int, int, void **))(w->comm, w->data, MESSAGE_BYTES, HOST_MEMORY, &w->memory);
}

int net_plugin_connect(struct ncclComm *c, struct net_plugin_wire *w, void *handle)
{
    void *device = NULL;
    int error, traffic_class = -1;
    if (version >= 11)
        error = CALL(CONNECT, (void *, int, void *, void **, void **))(c->net_context, 0, handle, &w->comm, &device);
    else if (version == 10)
        error = CALL(CONNECT, (int, int *, void *, void **, void **))(0, &traffic_class, handle, &w->comm, &device);
    else if (version >= 7)
        error = CALL(CONNECT, (int, void *, void **, void **))(0, handle, &w->comm, &device);
    else
        error = CALL(CONNECT, (int, void *, void **))(0, handle, &w->comm);
    w->out = true;
    return error || !w->comm ? error : register_memory(w);
}

int net_plugin_accept(struct ncclComm *c, struct net_plugin_wire *w)
{
    void *device = NULL;
    int error = version >= 7 ? CALL(ACCEPT, (void *, void **, void **))(w->listening, &w->comm, &device)
                             : CALL(ACCEPT, (void *, void **))(w->listening, &w->comm);
    if (error || !w->comm)
        return error;
    CALL(CLOSE_LISTEN, (void *))(w->listening);
    w->listening = NULL;
    return register_memory(w);
}

static int post_send(struct net_plugin_wire *w, void *of)
{
    if (version >= 10)
        return CALL(ISEND, (void *, void *, size_t, int, void *, void *, void **))(w->comm, w->data, w->size, 0,
                                                                                   w->memory, of, &w->request);
    if (version == 9)
        return CALL(ISEND, (void *, void *, size_t, int, void *, void **))(w->comm, w->data, w->size, 0, w->memory,
                                                                           &w->request);
    return CALL(ISEND, (void *, void *, int, int, void *, void **))(w->comm, w->data, (int)w->size, 0, w->memory,
                                                                    &w->request);
}

static int post_receive(struct net_plugin_wire *w, void *of)
{
    void *data = w->data, *memory = w->memory;
    int size = (int)w->size, tag = 0;
    if (version >= 10)
        return CALL(IRECV, (void *, int, void **, size_t *, int *, void **, void **, void **))(
            w->comm, 1, &data, &w->size, &tag, &memory, &of, &w->request);
    if (version == 9)
        return CALL(IRECV, (void *, int, void **, size_t *, int *, void **, void **))(w->comm, 1, &data, &w->size, &tag,
                                                                                      &memory, &w->request);
    return CALL(IRECV, (void *, int, void **, int *, int *, void **, void **))(w->comm, 1, &data, &size, &tag, &memory,
                                                                               &w->request);
}

int net_plugin_move(struct ncclComm *c, struct net_plugin_wire *w, size_t size, void *step, size_t *ret_moved)
{
    struct step_of of = {c, step}; /* the plugin uses it inside the call only */
    int done = 0, sizes[8] = {0}, error = 0;
    *ret_moved = 0;
    if (!w->request) {
        w->size = size < MESSAGE_BYTES ? size : MESSAGE_BYTES;
        error = w->out ? post_send(w, &of) : post_receive(w, &of);
    }
    if (!error && w->request)
        error = CALL(TEST, (void *, int *, int *))(w->request, &done, sizes);
    if (error || !done)
        return error;
    w->request = NULL;
    *ret_moved = w->size;
    return 0;
}

void net_plugin_close(struct net_plugin_wire *w)
{
    if (w->comm && w->memory)
        CALL(DEREG_MR, (void *, void *))(w->comm, w->memory);
    if (w->comm)
        CALL(w->out ? CLOSE_SEND : CLOSE_RECV, (void *))(w->comm);
    if (w->listening)
        CALL(CLOSE_LISTEN, (void *))(w->listening);
    free(w->data);
}
