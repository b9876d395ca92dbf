/* pass_transport.c - which transport NCCL used: connections by host, as its log says, and as its proxies, the bytes on
 * its sockets and those of a wrapped network plugin prove. What is wrong with them is find_nccl.c's question. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/model/communicators.h"
#include "analysis/model/facts.h"
#include "analysis/model/job.h"
#include "analysis/model/moved.h"
#include "analysis/model/proxied.h"
#include "analysis/model/transport.h"
#include "analysis/pass/pass.h"
#include "analysis/pass/thresholds.h"
#include "analysis/report/report.h"
#include "analysis/report/units.h"

struct pass_transport {
    struct job *job;
    struct transport transport;
    struct proxied proxied;
    struct moved moved;
};

/* Edges of one communicator, host, peer and kind. */
struct row {
    const struct transport_comm *comm;
    uint32_t host, peer;
    const char *kind;
    uint64_t channels, edges, gdr, pxn;
    unsigned sources; /* who tells: bits of enum transport_source */
    bool differs;     /* data moved by something else than the log says */
    const char *by;   /* by what; NULL */
    uint64_t socket_bytes, other_bytes;
};

static void *new (const struct options *options, struct job *job, struct report *report)
{
    struct pass_transport *self = calloc(1, sizeof(*self));
    (void)options;
    (void)report;
    if (self)
        self->job = job;
    return self;
}

static bool is_about_nccl(const struct event *event)
{
    switch (event->kind) {
    case EV_sock_io:
        return event->u.sock_io.nccl != 0;
    case EV_attr:
    case EV_nccl_proxy:
    case EV_nccl_net_device:
    case EV_nccl_net_io:
        return true;
    default:
        return event->kind >= EV_nccl_comm && event->kind <= EV_nccl_call;
    }
}

/* Hosts as NCCL tells them apart: processes of one machine may each have a name of their own for theirs (NCCL_HOSTID).
 */
static uint32_t host_of(const struct pass_transport *self, const struct event *event)
{
    const struct process *process = self->job->process;
    const char *id = process && is_about_nccl(event) ? process_attr(process, "env.NCCL_HOSTID") : NULL;
    const struct transport *transport = &self->transport;
    if (!id || !*id)
        return event->host;
    for (size_t i = 0; i < transport->nr_hosts; i++)
        if (transport->hosts[i].name && strcmp(transport->hosts[i].name, id) == 0)
            return (uint32_t)i;
    uint32_t unused = (uint32_t)transport->nr_hosts;
    for (process = self->job->first; process; process = process->next)
        unused = process->host >= unused ? process->host + 1 : unused;
    return unused;
}

static int see_proxy(struct pass_transport *self, uint32_t host, const struct tr_nccl_proxy *told)
{
    const struct comm_handle *handle = communicators_find(&self->job->communicators, self->job->process, told->nr);
    if (!handle || !handle->comm || told->way != TR_nccl_way_send || told->peer < 0)
        return 0;
    return proxied_add(&self->proxied, handle, host, told->peer, told->channels, told->size_bytes);
}

/* What shows by itself that data moved; -ENOENT: there is (also) what NCCL says in it. */
static int see_moved(struct pass_transport *self, uint32_t host, const struct event *event)
{
    const struct name *name = self->job->name;
    switch (event->kind) {
    case EV_nccl_proxy:
        return see_proxy(self, host, &event->u.nccl_proxy);
    case EV_sock_io:
        if (!event->u.sock_io.nccl || event->u.sock_io.op != TR_io_op_write || !name)
            return 0;
        return moved_by_socket(&self->moved, host, name->text, event->u.sock_io.size_bytes);
    case EV_nccl_net_device:
        return moved_plugin(&self->moved, host, event->u.nccl_net_device.net, 0) ? -ENOMEM : -ENOENT; /* its speed */
    case EV_nccl_net_io:
        return event->u.nccl_net_io.way == TR_nccl_way_send
                   ? moved_plugin(&self->moved, host, NULL, event->u.nccl_net_io.size_bytes)
                   : 0;
    default:
        return -ENOENT;
    }
}

static int event(void *arg, const struct event *event)
{
    struct pass_transport *self = arg;
    uint32_t host = host_of(self, event);
    int rc = see_moved(self, host, event);
    if (rc != -ENOENT)
        return rc;
    if (host == event->host)
        return transport_event(&self->transport, event);
    struct event moved = *event;
    moved.host = host;
    rc = transport_event(&self->transport, &moved);
    bool is_new = !rc && host < self->transport.nr_hosts && !self->transport.hosts[host].name;
    if (is_new && !(self->transport.hosts[host].name = strdup(process_attr(self->job->process, "env.NCCL_HOSTID"))))
        return -ENOMEM;
    return rc;
}

static const char *host_name(const struct transport *transport, uint32_t host)
{
    return host < transport->nr_hosts ? transport->hosts[host].name : NULL;
}

static void comm_name(const struct transport_comm *comm, char *text, size_t size)
{
    if (comm->id)
        snprintf(text, size, "0x%" PRIx64, comm->id);
    else
        snprintf(text, size, "%d ranks", comm->nranks);
}

static int by_row(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    if (x->comm != y->comm)
        return x->comm < y->comm ? -1 : 1;
    if (x->host != y->host)
        return x->host < y->host ? -1 : 1;
    if (x->peer != y->peer)
        return x->peer < y->peer ? -1 : 1;
    return strcmp(x->kind, y->kind);
}

/* By names of hosts and kinds alone, so that equal inputs give equal reports. */
static int by_place(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    int64_t n = x->comm ? x->comm->nranks : 0, m = y->comm ? y->comm->nranks : 0;
    uint64_t p = x->comm ? x->comm->id : 0, q = y->comm ? y->comm->id : 0;
    if (n != m)
        return n > m ? -1 : 1;
    if (p != q)
        return p < q ? -1 : 1;
    if (x->host != y->host)
        return x->host < y->host ? -1 : 1;
    if (x->peer != y->peer)
        return x->peer < y->peer ? -1 : 1;
    return strcmp(x->kind, y->kind);
}

static int add_transport(struct report *report, const struct transport *transport, const struct row *row)
{
    bool net = row->kind[0] == 'N', logged = row->sources & 1u << TRANSPORT_LOG;
    bool several = (row->sources & (row->sources - 1)) != 0;
    char id[32];

    if (row->comm)
        comm_name(row->comm, id, sizeof(id));
    return report_add_transport(
        report,
        &(struct report_transport){.comm = row->comm ? id : NULL,
                                   .host = host_name(transport, row->host),
                                   .peer_host = host_name(transport, row->peer),
                                   .kind = row->kind,
                                   .channels = (uint64_t)__builtin_popcountll(row->channels),
                                   .connections = row->edges,
                                   .gdr = net && logged ? row->gdr == row->edges : -1,
                                   .pxn = net && logged ? row->pxn > 0 : -1,
                                   .sources = row->sources,
                                   .agree = row->differs ? 0
                                            : several    ? 1
                                                         : -1,
                                   .socket_bytes = row->socket_bytes ? (int64_t)row->socket_bytes : TR_UNKNOWN});
}

static size_t collect(const struct transport *transport, struct row *rows)
{
    size_t nr = 0, kept = 0;

    for (const struct transport_edge *edge = transport->edges; edge; edge = edge->next)
        rows[nr++] = (struct row){.comm = edge->comm,
                                  .host = edge->host,
                                  .peer = transport_peer(edge),
                                  .kind = edge->kind,
                                  .channels = edge->channels,
                                  .edges = 1,
                                  .gdr = edge->gdr,
                                  .pxn = edge->proxy >= 0,
                                  .sources = 1u << TRANSPORT_LOG};
    qsort(rows, nr, sizeof(*rows), by_row);
    for (size_t i = 0; i < nr; i++)
        if (kept && by_row(&rows[kept - 1], &rows[i]) == 0) {
            rows[kept - 1].channels |= rows[i].channels;
            rows[kept - 1].edges += rows[i].edges;
            rows[kept - 1].gdr += rows[i].gdr;
            rows[kept - 1].pxn += rows[i].pxn;
        } else {
            rows[kept++] = rows[i];
        }
    return kept;
}

static const struct transport_comm *find_comm(const struct transport *transport, const struct communicator *comm)
{
    for (const struct transport_comm *other = transport->comms; other; other = other->next)
        if (other->id == comm->id && other->nranks == comm->nranks)
            return other;
    return NULL;
}

/* Marks the rows that a proxy's sends belong to; adds one where the log has none. Returns how many rows there are. */
static size_t add_proxied(const struct transport *transport, const struct proxied_pair *pair, struct row *rows,
                          size_t nr)
{
    const struct transport_comm *comm = find_comm(transport, pair->comm);
    uint32_t peer = comm && pair->to < comm->nranks ? comm->hosts[pair->to] : TRANSPORT_NO_HOST;
    bool found = false;
    for (size_t i = 0; i < nr && comm; i++)
        if (rows[i].comm == comm && rows[i].host == pair->host && rows[i].peer == peer && rows[i].kind[0] == 'N')
            rows[i].sources |= (found = true) << TRANSPORT_PROXY;
    if (found || !comm)
        return nr;
    for (size_t i = 0; i < nr; i++)
        rows[i].differs |= rows[i].comm == comm && rows[i].host == pair->host && rows[i].peer == peer;
    rows[nr] = (struct row){
        .comm = comm, .host = pair->host, .peer = peer, .kind = "NET", .edges = 1, .sources = 1u << TRANSPORT_PROXY};
    return nr + 1;
}

/* The only other host that this one has network connections to. */
static uint32_t only_peer(const struct row *rows, size_t nr, uint32_t host)
{
    uint32_t peer = TRANSPORT_NO_HOST;
    for (size_t i = 0; i < nr; i++) {
        if (rows[i].host != host || rows[i].kind[0] != 'N' || rows[i].peer == peer)
            continue;
        if (peer != TRANSPORT_NO_HOST)
            return TRANSPORT_NO_HOST;
        peer = rows[i].peer;
    }
    return peer;
}

/* Whether data between the row's hosts is known to go by `kind` too: then bytes on it say nothing about the row. */
static bool has_kind(const struct row *rows, size_t nr, const struct row *row, const char *kind)
{
    for (size_t i = 0; i < nr; i++)
        if (rows[i].host == row->host && rows[i].peer == row->peer && !strcmp(rows[i].kind, kind))
            return true;
    return false;
}

/* What moved `bytes` between the row's hosts by `kind`: it is what the row says, or what only proxies told gets a name,
 * or both differ. */
static void prove(struct row *row, const char *kind, const char *by, enum transport_source source, uint64_t bytes,
                  bool elsewhere)
{
    bool same = !strcmp(row->kind, kind), unnamed = !strcmp(row->kind, "NET");
    if (row->kind[0] != 'N' || (!same && elsewhere))
        return;
    row->sources |= 1u << source;
    row->kind = unnamed ? kind : row->kind;
    row->socket_bytes += source == TRANSPORT_SOCKET ? bytes : 0;
    if (same || unnamed)
        return;
    row->differs = true;
    row->by = by;
    row->other_bytes = bytes;
}

static void add_moved(const struct pass_transport *self, struct row *rows, size_t nr)
{
    for (size_t i = 0; i < nr; i++) {
        struct row *row = &rows[i];
        uint64_t bytes = moved_over_sockets(&self->moved, &self->transport, row->host, row->peer,
                                            only_peer(rows, nr, row->host) == row->peer);
        const struct moved_net *net = moved_net(&self->moved, row->host);
        if (bytes >= (uint64_t)TH_SOCKET_BYTES)
            prove(row, "NET/Socket", "NCCL's sockets", TRANSPORT_SOCKET, bytes, has_kind(rows, nr, row, "NET/Socket"));
        if (net && net->kind && net->bytes >= (uint64_t)TH_SOCKET_BYTES)
            prove(row, net->kind, net->kind, TRANSPORT_NET, net->bytes, has_kind(rows, nr, row, net->kind));
    }
}

/* Rows that differ are told of in words. */
static int tell_difference(struct report *report, const struct transport *transport, const struct row *row)
{
    const char *host = host_name(transport, row->host), *peer = host_name(transport, row->peer);
    struct units bytes = units_bytes((double)row->other_bytes);
    return row->by ? report_note(report, "transport-differs", "host", host ? host : "?", "peer", peer ? peer : "?",
                                 "kind", row->kind, "bytes", bytes.text, "by", row->by, NULL)
                   : 0;
}

static int finish(void *arg, struct report *report)
{
    struct pass_transport *self = arg;
    const struct transport *transport = &self->transport;
    size_t nr = 1;
    int rc = 0;

    self->job->facts->transport = transport;
    for (const struct transport_edge *edge = transport->edges; edge; edge = edge->next)
        nr++;
    for (const struct proxied_pair *pair = self->proxied.pairs; pair; pair = pair->next)
        nr++;
    struct row *rows = malloc(nr * sizeof(*rows));
    if (!rows)
        return -ENOMEM;
    nr = collect(transport, rows);
    for (const struct proxied_pair *pair = self->proxied.pairs; pair; pair = pair->next)
        nr = add_proxied(transport, pair, rows, nr);
    add_moved(self, rows, nr);
    qsort(rows, nr, sizeof(*rows), by_place);
    for (size_t i = 0; i < nr && !rc; i++)
        rc = (rc = add_transport(report, transport, &rows[i])) ? rc : tell_difference(report, transport, &rows[i]);
    free(rows);
    return rc;
}

static void pass_free(void *arg)
{
    struct pass_transport *self = arg;
    if (self) {
        transport_done(&self->transport);
        proxied_done(&self->proxied);
        moved_done(&self->moved);
    }
    free(self);
}

const struct pass pass_transport = {"transport", "what connects the ranks of communicators", new, event, finish,
                                    pass_free};
