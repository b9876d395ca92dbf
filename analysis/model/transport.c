/* transport.c - see transport.h. */
#include "analysis/model/transport.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALLS_MAX 4096

struct transport_thread {
    struct transport_thread *next;
    struct transport_comm *comm; /* being made, or made last */
    size_t nr_pending;           /* edges whose communicator is not known yet */
};

struct transport_process {
    struct transport_process *next;
    uint64_t comm; /* address */
    bool repeats;  /* says one ordinal twice: it is no count */
    uint64_t ordinal;
    bool called;
    uint64_t key; /* id, or the number of ranks */
};

struct transport_call {
    uint64_t key, ordinal, count;
    uint32_t datatype, host, pid;
    char op[24];
    bool used;
};

static int keep(char **to, const char *text)
{
    if (*to && strcmp(*to, text) == 0)
        return 0;
    char *copy = strdup(text);
    if (!copy)
        return -ENOMEM;
    free(*to);
    *to = copy;
    return 0;
}

static int keep_first(char **to, const char *text)
{
    return *to ? 0 : keep(to, text);
}

static int host_of(struct transport *t, uint32_t index, struct transport_host **ret)
{
    if (index >= t->nr_hosts) {
        struct transport_host *hosts = reallocarray(t->hosts, (size_t)index + 1, sizeof(*hosts));
        if (!hosts)
            return -ENOMEM;
        memset(hosts + t->nr_hosts, 0, (index + 1 - t->nr_hosts) * sizeof(*hosts));
        t->hosts = hosts;
        t->nr_hosts = index + 1;
    }
    *ret = &t->hosts[index];
    return 0;
}

const char *transport_env(const struct transport_host *host, const char *name)
{
    for (const struct transport_env *env = host->env; env; env = env->next)
        if (strcmp(env->name, name) == 0)
            return env->value;
    return NULL;
}

const char *transport_plugin_asked(const struct transport_host *host)
{
    const char *asked = transport_env(host, "NCCL_NET_PLUGIN");
    return asked && *asked && strcmp(asked, "none") != 0 && host->plugin_absent && !host->plugin ? asked : NULL;
}

static int keep_env(struct transport_host *host, const char *name, const char *value)
{
    if (transport_env(host, name))
        return 0;
    struct transport_env *env = calloc(1, sizeof(*env));
    if (!env)
        return -ENOMEM;
    env->next = host->env;
    host->env = env;
    int rc = keep(&env->name, name);
    return rc ? rc : keep(&env->value, value);
}

/* ---- communicators -------------------------------------------------------------------------- */

static struct map_key key_of(const struct event *event, uint64_t last)
{
    return (struct map_key){(uint64_t)event->host << 32 | event->u.who.pid, last};
}

static int thread_of(struct transport *t, const struct event *event, struct transport_thread **ret)
{
    struct map_key key = key_of(event, event->u.who.tid);

    if ((*ret = map_find(&t->by_thread, key)))
        return 0;
    struct transport_thread *thread = calloc(1, sizeof(*thread));
    if (!thread || map_put(&t->by_thread, key, thread)) {
        free(thread);
        return -ENOMEM;
    }
    thread->next = t->threads;
    t->threads = *ret = thread;
    return 0;
}

static int comm_of(struct transport *t, uint64_t id, int32_t nranks, struct transport_comm **ret)
{
    for (struct transport_comm *comm = t->comms; comm; comm = comm->next)
        if (comm->id == id && comm->nranks == nranks) {
            *ret = comm;
            return 0;
        }
    struct transport_comm *comm = calloc(1, sizeof(*comm));
    uint32_t *hosts = malloc(nranks * sizeof(*hosts));
    if (!comm || !hosts) {
        free(comm);
        free(hosts);
        return -ENOMEM;
    }
    for (int32_t i = 0; i < nranks; i++)
        hosts[i] = TRANSPORT_NO_HOST;
    *comm = (struct transport_comm){t->comms, id, nranks, hosts};
    t->comms = *ret = comm;
    return 0;
}

static void know_rank(struct transport_comm *comm, int32_t rank, uint32_t host)
{
    if (comm && rank >= 0 && rank < comm->nranks)
        comm->hosts[rank] = host;
}

/* What an edge tells about where ranks are: each end is told by itself, and P2P and SHM do not leave the host. */
static void know_edge(const struct transport_edge *edge)
{
    if (edge->way != TR_nccl_way_receive)
        know_rank(edge->comm, edge->from, edge->host);
    if (edge->way != TR_nccl_way_send)
        know_rank(edge->comm, edge->to, edge->host);
}

static int process_comm(struct transport *t, const struct event *event, uint64_t address,
                        struct transport_process **ret)
{
    struct map_key key = key_of(event, address);

    if ((*ret = map_find(&t->by_process, key)))
        return 0;
    struct transport_process *process = calloc(1, sizeof(*process));
    if (!process || map_put(&t->by_process, key, process)) {
        free(process);
        return -ENOMEM;
    }
    process->comm = address;
    process->next = t->processes;
    t->processes = *ret = process;
    return 0;
}

static int on_comm(struct transport *t, const struct event *event)
{
    const struct tr_nccl_comm *row = &event->u.nccl_comm;
    struct transport_thread *thread;
    struct transport_process *process;
    struct transport_comm *comm;

    if (row->state == TR_nccl_state_gone || row->nranks < 1 || row->nranks > TRANSPORT_RANKS_MAX)
        return 0;
    int rc = thread_of(t, event, &thread);
    rc = rc ? rc : comm_of(t, row->id, row->nranks, &comm);
    rc = rc ? rc : process_comm(t, event, row->comm, &process);
    if (rc)
        return rc;
    process->key = row->id ? row->id : (uint64_t)row->nranks;
    know_rank(comm, row->rank, event->host);
    bool settles = row->state == TR_nccl_state_made && thread->nr_pending;
    for (struct transport_edge *edge = t->edges; settles && edge; edge = edge->next)
        if (!edge->comm && edge->thread == thread) {
            edge->comm = comm;
            know_edge(edge);
        }
    thread->nr_pending = row->state == TR_nccl_state_made ? 0 : thread->nr_pending;
    thread->comm = row->id || row->state == TR_nccl_state_begun ? comm : NULL;
    return 0;
}

static int on_channel(struct transport *t, const struct event *event)
{
    const struct tr_nccl_channel *row = &event->u.nccl_channel;
    struct transport_thread *thread;
    char text[512];
    int rc = thread_of(t, event, &thread);

    if (rc)
        return rc;
    (void)snprintf(text, sizeof(text), "%p %p %d %d %d %d %u %s", (void *)thread, (void *)thread->comm, row->from,
                   row->to, row->way, row->gdr, row->device, row->kind);
    struct map_key key = map_hash(text, 0);
    struct transport_edge *edge = map_find(&t->by_edge, key);
    if (!edge) {
        edge = calloc(1, sizeof(*edge));
        char *kind = strdup(row->kind);
        if (!edge || !kind || map_put(&t->by_edge, key, edge)) {
            free(edge);
            free(kind);
            return -ENOMEM;
        }
        *edge =
            (struct transport_edge){t->edges, thread->comm,  thread,      event->host, row->from, row->to, row->proxy,
                                    row->way, row->gdr != 0, row->device, 0,           0,         kind};
        t->edges = edge;
        thread->nr_pending += !edge->comm;
        know_edge(edge);
    }
    edge->channels |= 1ull << row->channel % 64;
    edge->lines++;
    return 0;
}

uint32_t transport_peer(const struct transport_edge *edge)
{
    if (!transport_is_net(edge))
        return edge->host;
    int32_t peer = edge->way == TR_nccl_way_receive ? edge->from : edge->to;
    return edge->comm && peer < edge->comm->nranks ? edge->comm->hosts[peer] : TRANSPORT_NO_HOST;
}

/* ---- collectives ---------------------------------------------------------------------------- */

static int tell_desync(struct transport *t, const struct transport_call *a, const struct transport_call *b)
{
    struct transport_desync *d = &t->desync;

    if (d->found)
        return 0;
    if (asprintf(&d->first, "%s of %" PRIu64, a->op, a->count) < 0 ||
        asprintf(&d->second, "%s of %" PRIu64, b->op, b->count) < 0)
        return -ENOMEM;
    d->found = true;
    d->ordinal = a->ordinal;
    d->by_size = a->key <= TRANSPORT_RANKS_MAX;
    d->first_host = a->host;
    d->second_host = b->host;
    d->first_pid = a->pid;
    d->second_pid = b->pid;
    return 0;
}

/* Without an id a communicator is known by its size, as long as each process has one of that size. */
#define BY_SIZE (1ull << 63)
static int check_size(struct transport *t, const struct event *event)
{
    const struct tr_nccl_call *row = &event->u.nccl_call;
    struct transport_process *first;
    int rc = process_comm(t, event, BY_SIZE | (uint32_t)row->nranks, &first);

    if (rc)
        return rc;
    t->ambiguous |= first->called && first->key != row->comm;
    first->called = true;
    first->key = row->comm;
    return 0;
}

/* Compares what ranks of one communicator say of their n-th call. In a group NCCL gives several calls one number, and
 * from 2.27 on it does not count on one host: such communicators are not judged. */
static int on_call(struct transport *t, const struct event *event)
{
    const struct tr_nccl_call *row = &event->u.nccl_call;
    struct transport_process *process;
    int rc = process_comm(t, event, row->comm, &process);

    if (rc)
        return rc;
    t->nr_calls++;
    t->last_call = t->nr_events;
    t->highest_ordinal = row->ordinal > t->highest_ordinal ? row->ordinal : t->highest_ordinal;
    process->repeats |= process->called && process->ordinal == row->ordinal;
    process->called = true;
    process->ordinal = row->ordinal;
    if (process->repeats || strcmp(row->op, "Send") == 0 || strcmp(row->op, "Recv") == 0)
        return 0;
    if (process->key <= TRANSPORT_RANKS_MAX && (rc = check_size(t, event)))
        return rc;
    if (!t->calls && !(t->calls = calloc(CALLS_MAX, sizeof(*t->calls))))
        return -ENOMEM;
    uint64_t key = process->key ? process->key : (uint64_t)(uint32_t)row->nranks;
    struct transport_call *call = &t->calls[(row->ordinal * 31 + key) % CALLS_MAX];
    struct transport_call now = {.key = key,
                                 .ordinal = row->ordinal,
                                 .count = row->count,
                                 .datatype = row->datatype,
                                 .host = event->host,
                                 .pid = event->u.who.pid,
                                 .used = true};
    (void)snprintf(now.op, sizeof(now.op), "%s", row->op);
    if (call->used && call->key == key && call->ordinal == row->ordinal &&
        (call->host != now.host || call->pid != now.pid)) {
        if (strcmp(call->op, now.op) != 0 || call->count != now.count || call->datatype != now.datatype)
            return tell_desync(t, call, &now);
        return 0;
    }
    *call = now;
    return 0;
}

/* ---- the network ---------------------------------------------------------------------------- */

static int on_net(struct transport *t, struct transport_host *host, const struct tr_nccl_net *net)
{
    switch (net->fact) {
    case TR_nccl_fact_chosen:
        return keep(&host->chosen, net->name);
    case TR_nccl_fact_devices:
        return keep(&host->devices, net->text);
    case TR_nccl_fact_no_device:
        host->no_device = true;
        return 0;
    case TR_nccl_fact_interfaces:
        return keep_first(&host->interfaces, net->text);
    case TR_nccl_fact_bootstrap:
        return keep_first(&host->bootstrap, net->text);
    case TR_nccl_fact_plugin_missing:
        return keep_first(&host->plugin_absent, net->text);
    case TR_nccl_fact_plugin_failed:
        /* That there is no InfiniBand is said so since 2.28. */
        return strcmp(net->name, "IB") == 0 || strcmp(net->name, "Socket") == 0
                   ? 0
                   : keep_first(&host->plugin_error, net->text);
    case TR_nccl_fact_plugin_loaded:
        return keep(&host->plugin, net->name);
    case TR_nccl_fact_gdr_off:
        return keep_first(&host->gdr_reason, net->text);
    case TR_nccl_fact_speed:
        return net_speed_learn(&t->speeds, (uint32_t)(host - t->hosts), net->text);
    case TR_nccl_fact_nvls_off:
        host->nvls_off = true;
        return 0;
    default:
        return 0;
    }
}

static int on_net_device(struct transport *t, uint32_t host, const struct tr_nccl_net_device *device)
{
    char text[256];
    (void)snprintf(text, sizeof(text), "NET/%s/%u %u", device->net, device->device, device->speed_mbps);
    return net_speed_learn(&t->speeds, host, text);
}

static bool has(const char *text, const char *part)
{
    return strstr(text, part) != NULL;
}

static int on_warn(struct transport_host *host, const struct tr_nccl_warn *warn)
{
    const char *text = warn->text;

    if (has(text, "libibverbs"))
        host->no_verbs = true;
    if (has(text, "Could not find a path for pattern")) {
        host->path_warnings++;
        return keep_first(&host->path_warning, text);
    }
    if (has(text, "Got async") || has(text, "async event")) {
        host->port_events++;
        return keep_first(&host->ib_error, text);
    }
    if (has(text, "Got completion") && (has(text, "error") || has(text, "status"))) {
        host->completions++;
        return keep_first(&host->ib_error, text);
    }
    if (has(text, "message truncated") || has(text, "Message truncated"))
        return keep_first(&host->truncated, text);
    if (has(text, "shared memory segment") || (has(warn->place, "shm") && has(text, "No space left")))
        return keep(&host->shm_error, text);
    if (has(text, "Error: network ") && has(text, "not found"))
        return keep_first(&host->wanted_net, text);
    return 0;
}

bool transport_same_version(const char *a, const char *b)
{
    size_t len = strcspn(a, "+");
    return len == strcspn(b, "+") && strncmp(a, b, len) == 0;
}

static int on_attr(struct transport_host *host, const struct tr_attr *attr)
{
    if (strncmp(attr->key, "env.NCCL_", 9) == 0 || strcmp(attr->key, "env.CUDA_LAUNCH_BLOCKING") == 0)
        return keep_env(host, attr->key + 4, attr->value);
    if (strcmp(attr->key, "version.nccl") != 0)
        return 0;
    if (host->version && !transport_same_version(host->version, attr->value))
        return keep(&host->other_version, attr->value);
    return keep(&host->version, attr->value);
}

int transport_event(struct transport *t, const struct event *event)
{
    struct transport_host *host;
    int rc = host_of(t, event->host, &host);

    if (rc)
        return rc;
    t->nr_events++;
    switch (event->kind) {
    case EV_proc:
        return *event->u.proc.host ? keep(&host->name, event->u.proc.host) : 0;
    case EV_attr:
        return on_attr(host, &event->u.attr);
    case EV_nccl_env:
        return keep_env(host, event->u.nccl_env.name, event->u.nccl_env.value);
    case EV_nccl_comm:
        return on_comm(t, event);
    case EV_nccl_channel:
        host->several |= host->last_pid && host->last_pid != event->u.who.pid;
        host->last_pid = event->u.who.pid;
        return on_channel(t, event);
    case EV_nccl_net:
        return on_net(t, host, &event->u.nccl_net);
    case EV_nccl_net_device:
        return on_net_device(t, event->host, &event->u.nccl_net_device);
    case EV_nccl_warn:
        return on_warn(host, &event->u.nccl_warn);
    case EV_nccl_call:
        return on_call(t, event);
    default:
        t->nr_events--; /* not NCCL's */
        return 0;
    }
}

/* ---- the end -------------------------------------------------------------------------------- */

static void host_done(struct transport_host *h)
{
    char *texts[] = {h->name,          h->devices,  h->interfaces,   h->bootstrap,     h->chosen,     h->version,
                     h->other_version, h->plugin,   h->plugin_error, h->plugin_absent, h->wanted_net, h->gdr_reason,
                     h->shm_error,     h->ib_error, h->path_warning, h->truncated};

    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        free(texts[i]);
    for (struct transport_env *env = h->env, *next; env; env = next) {
        next = env->next;
        free(env->name);
        free(env->value);
        free(env);
    }
}

void transport_done(struct transport *t)
{
    for (size_t i = 0; i < t->nr_hosts; i++)
        host_done(&t->hosts[i]);
    free(t->hosts);
    for (struct transport_comm *comm = t->comms, *next; comm; comm = next) {
        next = comm->next;
        free(comm->hosts);
        free(comm);
    }
    for (struct transport_edge *edge = t->edges, *next; edge; edge = next) {
        next = edge->next;
        free(edge->kind);
        free(edge);
    }
    for (struct transport_thread *thread = t->threads, *next; thread; thread = next) {
        next = thread->next;
        free(thread);
    }
    for (struct transport_process *process = t->processes, *next; process; process = next) {
        next = process->next;
        free(process);
    }
    net_speeds_free(t->speeds);
    free(t->calls);
    free(t->desync.first);
    free(t->desync.second);
    map_done(&t->by_edge);
    map_done(&t->by_thread);
    map_done(&t->by_process);
    *t = (struct transport){0};
}
