/* comm_rows.c - the report's tables about NCCL: communicators, collectives, what connects hosts. */
#include "analysis/report/report.h"

#include <errno.h>
#include <stdio.h>

#include "analysis/report/private.h"

int report_add_collective(struct report *report, const struct report_collective *row)
{
    if (report_grow(&report->collectives, report->nr_collectives, sizeof *row))
        return -ENOMEM;
    struct report_collective *copy = &report->collectives[report->nr_collectives++];
    *copy = *row;
    copy->comm = report_str(report, row->comm);
    copy->role = report_str(report, row->role);
    copy->op = report_str(report, row->op);
    copy->algo = report_str(report, row->algo);
    copy->proto = report_str(report, row->proto);
    copy->transport = report_str(report, row->transport);
    return report->priv->error;
}

int report_add_communicator(struct report *report, const struct report_communicator *row)
{
    int *ranks = arena_alloc(&report->priv->arena, row->nr_ranks * sizeof *ranks);
    if (!ranks || report_grow(&report->communicators, report->nr_communicators, sizeof *row))
        return -ENOMEM;
    struct report_communicator *copy = &report->communicators[report->nr_communicators++];
    *copy = *row;
    copy->id = report_str(report, row->id);
    copy->role = report_str(report, row->role);
    for (size_t i = 0; i < row->nr_ranks; i++)
        ranks[i] = row->ranks[i];
    copy->ranks = ranks;
    return report->priv->error;
}

const char *const transport_source_names[TRANSPORT_SOURCE_MAX] = {
    [TRANSPORT_LOG] = "log", [TRANSPORT_PROXY] = "proxy", [TRANSPORT_SOCKET] = "socket", [TRANSPORT_NET] = "net"};

static void tell_sources(unsigned sources, char *text, size_t size)
{
    size_t used = 0;
    *text = 0;
    for (int i = 0; i < TRANSPORT_SOURCE_MAX; i++)
        if (sources & 1u << i && used < size)
            used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "", transport_source_names[i]);
}

int report_add_transport(struct report *report, const struct report_transport *row)
{
    if (report_grow(&report->transports, report->nr_transports, sizeof *row))
        return -ENOMEM;
    struct report_transport *copy = &report->transports[report->nr_transports++];
    *copy = *row;
    copy->comm = report_str(report, row->comm);
    copy->host = report_str(report, row->host);
    copy->peer_host = report_str(report, row->peer_host);
    copy->kind = report_str(report, row->kind);
    char told[64];
    tell_sources(row->sources, told, sizeof told);
    copy->told = row->sources == 1u << TRANSPORT_LOG ? NULL : report_str(report, told);
    return report->priv->error;
}
