/* watch.c - what the wrapped plugin has and holds: devices, listeners, connections, memory of GPUs. From the calls that
 * pass; told to the core when it happens, and again every 10 s and when somebody begins to listen. */
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "plugin/net/net.h"
#include "plugin/net/table.h"
#include "plugin/plugin.h"

#define MAX_DEVICES 128
#define MAX_CONNECTIONS 4096
#define RESEND_NS (10 * SECOND)
#define OWNERS_TRIES 200

struct device {
    bool used;
    uint32_t speed_mbps;
    int memory;
    char net[64], name[64], pci[256];
};

static struct {
    const struct nccl_sink *_Atomic sink;
    atomic_bool looked;
    atomic_int devices_lock;
    struct device devices[MAX_DEVICES];
    struct connection connections[MAX_CONNECTIONS];
    atomic_uint nr_used, nr_made; /* places touched so far; connections so far */
    uint64_t sent_at_ns;
    bool was_on;
} watch;

static struct table_entry attempt_entries[1024], listener_entries[1024], comm_entries[2 * MAX_CONNECTIONS],
    memory_entries[16384];
static const struct table attempts = {attempt_entries, 1024}, listeners = {listener_entries, 1024},
                          comms_by_address = {comm_entries, 2 * MAX_CONNECTIONS}, memories = {memory_entries, 16384};

uint32_t net_tid(void)
{
    static __thread uint32_t tid __attribute__((tls_model("initial-exec")));
    if (!tid)
        tid = (uint32_t)syscall(SYS_gettid);
    return tid;
}

const struct nccl_sink *watch_sink(void)
{
    return atomic_load_explicit(&watch.sink, memory_order_acquire);
}

/* ---- Connections --------------------------------------------------------------------------------------------------
 */

bool connection_lock(struct connection *c, unsigned tries)
{
    for (; tries; tries--)
        if (!atomic_load_explicit(&c->lock, memory_order_relaxed) &&
            !atomic_exchange_explicit(&c->lock, 1, memory_order_acquire))
            return true;
    return false;
}

void connection_unlock(struct connection *c)
{
    atomic_store_explicit(&c->lock, 0, memory_order_release);
}

struct connection *connection_at(uint32_t index)
{
    return &watch.connections[index % MAX_CONNECTIONS];
}

uint32_t connection_index(const struct connection *c)
{
    return (uint32_t)(c - watch.connections);
}

struct connection *connection_of(const void *comm)
{
    struct table_found found;
    return table_get(&comms_by_address, comm, &found) ? connection_at((uint32_t)found.what) : NULL;
}

static void tell_connection(const struct connection *c, uint8_t state)
{
    const struct nccl_sink *sink = watch_sink();
    if (sink)
        sink->net_connection(&(struct tr_nccl_net_connection){.tid = c->tid,
                                                              .connection = c->number,
                                                              .device = c->device,
                                                              .way = c->way,
                                                              .state = state,
                                                              .start_ns = c->start_ns,
                                                              .dur_ns = c->dur_ns});
}

/* A free place, locked. */
static struct connection *new_connection(void)
{
    for (uint32_t i = 0; i < MAX_CONNECTIONS; i++) {
        struct connection *c = &watch.connections[i];
        unsigned used = atomic_load(&watch.nr_used);
        if (!connection_lock(c, 1))
            continue;
        while (used <= i && !atomic_compare_exchange_weak(&watch.nr_used, &used, i + 1))
            ;
        if (!c->used)
            return c;
        connection_unlock(c);
    }
    return NULL;
}

static void made(const void *comm, uint32_t device, uint8_t way, uint64_t begin_ns, uint64_t end_ns)
{
    struct connection *c = new_connection(), copy;
    if (!c) {
        watch_sink()->dropped(1);
        return;
    }
    c->number = atomic_fetch_add(&watch.nr_made, 1) + 1;
    c->device = device;
    c->way = way;
    c->tid = net_tid();
    c->start_ns = begin_ns;
    c->dur_ns = end_ns - begin_ns;
    memset(c->bursts, 0, sizeof(c->bursts));
    atomic_store(&c->unseen[0], 0);
    atomic_store(&c->unseen[1], 0);
    c->used = table_put(&comms_by_address, comm, (struct table_found){.at_ns = begin_ns, .what = connection_index(c)});
    copy.number = c->number, copy.device = device, copy.way = way, copy.tid = c->tid;
    copy.start_ns = begin_ns, copy.dur_ns = c->dur_ns;
    connection_unlock(c);
    tell_connection(&copy, TR_nccl_state_made);
}

void watch_connect(const void *handle, int device, const void *comm, int result, uint64_t begin_ns)
{
    struct table_found first = {.at_ns = begin_ns};
    int error = errno;
    if (!comm && !result) {
        if (!table_get(&attempts, handle, &first))
            (void)table_put(&attempts, handle, first);
    } else {
        (void)table_take(&attempts, handle, &first);
    }
    if (comm)
        made(comm, (uint32_t)device, TR_nccl_way_send, first.at_ns, now_ns());
    errno = error;
}

void watch_listen(const void *listening, int device)
{
    (void)table_put(&listeners, listening, (struct table_found){.what = (uint32_t)device});
}

void watch_listen_gone(const void *listening)
{
    struct table_found gone;
    (void)table_take(&listeners, listening, &gone);
    (void)table_take(&attempts, listening, &gone);
}

void watch_accept(const void *listening, const void *comm, int result, uint64_t begin_ns)
{
    struct table_found on = {.what = 0}, first = {.at_ns = begin_ns};
    int error = errno;
    if (!comm && !result) {
        if (!table_get(&attempts, listening, &first))
            (void)table_put(&attempts, listening, first);
    } else {
        (void)table_take(&attempts, listening, &first);
    }
    if (comm) {
        (void)table_get(&listeners, listening, &on);
        made(comm, (uint32_t)on.what, TR_nccl_way_receive, first.at_ns, now_ns());
    }
    errno = error;
}

void watch_close(const void *comm)
{
    struct table_found found;
    struct connection *c, copy;
    int error = errno;
    if (!table_take(&comms_by_address, comm, &found))
        return;
    c = connection_at((uint32_t)found.what);
    requests_forget(c);
    requests_flush(c, now_ns(), UINT64_MAX, OWNERS_TRIES);
    while (!connection_lock(c, OWNERS_TRIES))
        sched_yield(); /* the tender, in the middle of a few stores */
    copy.number = c->number, copy.device = c->device, copy.way = c->way, copy.tid = net_tid();
    copy.start_ns = c->start_ns, copy.dur_ns = c->dur_ns;
    c->used = false;
    connection_unlock(c);
    tell_connection(&copy, TR_nccl_state_gone);
    errno = error;
}

/* ---- Memory: only that of GPUs is kept ----------------------------------------------------------------------------
 */

void watch_memory(const void *handle, int type)
{
    if (type & NET_MEMORY_GPU)
        (void)table_put(&memories, handle, (struct table_found){0});
}

void watch_memory_gone(const void *handle)
{
    struct table_found gone;
    (void)table_take(&memories, handle, &gone);
}

bool watch_is_gpu(const void *handle)
{
    struct table_found found;
    return table_get(&memories, handle, &found);
}

/* ---- Devices ------------------------------------------------------------------------------------------------------
 */

static void tell_device(uint32_t number, const struct device *d)
{
    struct tr_nccl_net_device told = {.device = number,
                                      .speed_mbps = d->speed_mbps,
                                      .gdr = (d->memory & NET_MEMORY_GPU) != 0,
                                      .dmabuf = (d->memory & NET_MEMORY_DMABUF) != 0,
                                      .net = d->net,
                                      .name = d->name,
                                      .pci = d->pci};
    watch_sink()->net_device(&told);
}

static void copy_text(char *to, size_t size, const char *text)
{
    if (text)
        snprintf(to, size, "%s", text);
}

void watch_device(int device, const struct watch_device *told)
{
    struct device now, *known;
    int error = errno, none = 0;
    if (device < 0 || device >= MAX_DEVICES || !atomic_compare_exchange_strong(&watch.devices_lock, &none, 1))
        return; /* NCCL asks again for each communicator */
    known = &watch.devices[device];
    now = *known;
    now.used = true;
    now.speed_mbps = told->speed_mbps;
    now.memory = told->memory;
    copy_text(now.net, sizeof(now.net), told->net);
    copy_text(now.name, sizeof(now.name), told->name);
    copy_text(now.pci, sizeof(now.pci), told->pci);
    bool is_new = !known->used || known->speed_mbps != now.speed_mbps || known->memory != now.memory ||
                  strcmp(known->name, now.name) != 0 || strcmp(known->net, now.net) != 0;
    *known = now;
    atomic_store(&watch.devices_lock, 0);
    if (is_new)
        tell_device((uint32_t)device, &now);
    errno = error;
}

static void resend_devices(void)
{
    int none = 0;
    if (!atomic_compare_exchange_strong(&watch.devices_lock, &none, 1))
        return;
    for (uint32_t i = 0; i < MAX_DEVICES; i++)
        if (watch.devices[i].used)
            tell_device(i, &watch.devices[i]);
    atomic_store(&watch.devices_lock, 0);
}

/* ---- The core's tender --------------------------------------------------------------------------------------------
 */

static void tend(uint64_t now, bool last)
{
    const struct nccl_sink *sink = watch_sink();
    bool on = sink && is_on(sink->net_states);
    bool again = on && (!watch.was_on || now - watch.sent_at_ns >= RESEND_NS);
    watch.was_on = on;
    if (again) {
        watch.sent_at_ns = now;
        resend_devices();
    }
    for (uint32_t i = 0; sink && i < atomic_load(&watch.nr_used); i++) {
        struct connection *c = &watch.connections[i], copy = {0};
        requests_flush(c, now, last ? UINT64_MAX : now - SECOND / 5, 1);
        if (!again || !connection_lock(c, 1))
            continue;
        copy.used = c->used, copy.number = c->number, copy.device = c->device, copy.way = c->way, copy.tid = c->tid;
        copy.start_ns = c->start_ns, copy.dur_ns = c->dur_ns;
        connection_unlock(c);
        if (copy.used)
            tell_connection(&copy, TR_nccl_state_made);
    }
}

/* NCCL does not live in fork children. */
static void after_fork(void)
{
    atomic_store(&watch.sink, NULL);
}

void watch_begin(void)
{
    static const struct nccl_front front = {tend, after_fork};
    int error = errno;
    if (!atomic_exchange(&watch.looked, true)) {
        const struct nccl_sink *sink = core_find();
        if (sink)
            sink->front(&front);
        atomic_store_explicit(&watch.sink, sink, memory_order_release);
    }
    errno = error;
}
