/* pass_transport.c - which transport NCCL used: connections by host. What is wrong with them is
 * find_nccl.c's question. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/model/facts.h"
#include "analysis/model/job.h"
#include "analysis/model/transport.h"
#include "analysis/pass/pass.h"
#include "analysis/report/report.h"

struct pass_transport {
    struct job *job;
    struct transport transport;
};

/* Edges of one communicator, host, peer and kind. */
struct row {
    const struct transport_comm *comm;
    uint32_t host, peer;
    const char *kind;
    uint64_t channels, edges, gdr, pxn;
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
    return event->kind == EV_attr || (event->kind >= EV_nccl_comm && event->kind <= EV_nccl_call);
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

static int event(void *arg, const struct event *event)
{
    struct pass_transport *self = arg;
    uint32_t host = host_of(self, event);
    if (host == event->host)
        return transport_event(&self->transport, event);
    struct event moved = *event;
    moved.host = host;
    int rc = transport_event(&self->transport, &moved);
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
    bool net = row->kind[0] == 'N';
    char id[32];

    if (row->comm)
        comm_name(row->comm, id, sizeof(id));
    return report_add_transport(report,
                                &(struct report_transport){.comm = row->comm ? id : NULL,
                                                           .host = host_name(transport, row->host),
                                                           .peer_host = host_name(transport, row->peer),
                                                           .kind = row->kind,
                                                           .channels = (uint64_t)__builtin_popcountll(row->channels),
                                                           .connections = row->edges,
                                                           .gdr = net ? row->gdr == row->edges : -1,
                                                           .pxn = net ? row->pxn > 0 : -1,
                                                           .source = "log",
                                                           .agree = -1});
}

static size_t collect(const struct transport *transport, struct row *rows)
{
    size_t nr = 0, kept = 0;

    for (const struct transport_edge *edge = transport->edges; edge; edge = edge->next)
        rows[nr++] = (struct row){edge->comm, edge->host, transport_peer(edge), edge->kind, edge->channels,
                                  1,          edge->gdr,  edge->proxy >= 0};
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
    qsort(rows, kept, sizeof(*rows), by_place);
    return kept;
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
    struct row *rows = malloc(nr * sizeof(*rows));
    if (!rows)
        return -ENOMEM;
    nr = collect(transport, rows);
    for (size_t i = 0; i < nr && !rc; i++)
        rc = add_transport(report, transport, &rows[i]);
    free(rows);
    return rc;
}

static void pass_free(void *arg)
{
    struct pass_transport *self = arg;
    if (self)
        transport_done(&self->transport);
    free(self);
}

const struct pass pass_transport = {"transport", "what connects the ranks of communicators", new, event, finish,
                                    pass_free};
