/* pass_collectives.c - the job's communicators, and its collectives by communicator, operation and size.
 *
 * No events: pass_breakdown has summed up what calls and kernels told (model/coll_stats.h), the survey has joined
 * communicators over ranks (model/communicators.h). Must come after both, and after pass_transport. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/model/coll_stats.h"
#include "analysis/model/comm_roles.h"
#include "analysis/model/communicators.h"
#include "analysis/model/facts.h"
#include "analysis/model/instances.h"
#include "analysis/model/job.h"
#include "analysis/model/link_bus.h"
#include "analysis/model/net_speed.h"
#include "analysis/model/transport.h"
#include "analysis/pass/pass.h"
#include "analysis/pass/thresholds.h"
#include "analysis/report/report.h"
#include "traces/schema.h"

struct pass_collectives {
    struct job *job;
    struct comm_profile *profiles; /* owned; by communicator */
};

static void *new (const struct options *options, struct job *job, struct report *report)
{
    struct pass_collectives *self = calloc(1, sizeof(*self));
    (void)options;
    (void)report;
    if (self)
        self->job = job;
    return self;
}

static void pass_free(void *arg)
{
    struct pass_collectives *self = arg;
    if (self)
        free(self->profiles);
    free(self);
}

/* ---- communicators ------------------------------------------------------------------------ */

/* The global rank of a member; -1 unknown. */
static int global_rank(const struct communicator *comm, int32_t i)
{
    const struct process *process = comm->members[i] ? comm->members[i]->process : NULL;
    return !process ? -1 : process->rank ? process->rank->number : process->rank_env;
}

static int32_t stride_of(const struct communicator *comm)
{
    int32_t stride = 0;
    for (int32_t i = 0; i < comm->nranks; i++)
        if (global_rank(comm, i) < 0)
            return 0;
    for (int32_t i = 1; i < comm->nranks; i++) {
        int32_t step = global_rank(comm, i) - global_rank(comm, i - 1);
        if (step <= 0 || (stride && step != stride))
            return 0;
        stride = step;
    }
    return stride;
}

/* Sends and Recvs apart: a pipeline crosses both those who share a layer and those who share weights only. */
static bool moves_data(const struct comm_profile *profile)
{
    double bytes = 0;
    for (unsigned op = 0; op < TR_coll_op_MAX; op++)
        bytes += op == TR_coll_op_Send ? 0 : profile->bytes[op];
    return bytes > 0;
}

/* Whether some other communicator with collectives that move data, and that is no neighbourhood, has exactly one rank
 * of this one. `is_member`: by global rank. */
static bool is_crossed(const struct pass_collectives *self, const struct communicator *comm, const bool *is_member,
                       int nr_ranks)
{
    for (const struct communicator *other = self->job->communicators.first; other; other = other->next) {
        const struct comm_profile *profile = &self->profiles[other->index];
        int shared = 0;
        if (other == comm || other->nranks < 2 || profile->stride < 2 || !moves_data(profile))
            continue;
        for (int32_t i = 0; i < other->nranks && shared < 2; i++) {
            int rank = global_rank(other, i);
            shared += rank < nr_ranks && is_member[rank];
        }
        if (shared == 1)
            return true;
    }
    return false;
}

static int find_crossed(struct pass_collectives *self)
{
    const struct communicators *all = &self->job->communicators;
    int nr_ranks = 0;
    for (const struct communicator *comm = all->first; comm; comm = comm->next)
        for (int32_t i = 0; i < comm->nranks; i++)
            nr_ranks = global_rank(comm, i) >= nr_ranks ? global_rank(comm, i) + 1 : nr_ranks;
    bool *is_member = calloc((size_t)nr_ranks + 1, sizeof(*is_member));
    if (!is_member)
        return -ENOMEM;
    for (const struct communicator *comm = all->first; comm; comm = comm->next) {
        struct comm_profile *profile = &self->profiles[comm->index];
        if (profile->stride != 1)
            continue;
        for (int32_t i = 0; i < comm->nranks; i++)
            is_member[global_rank(comm, i)] = true;
        profile->crossed = is_crossed(self, comm, is_member, nr_ranks);
        for (int32_t i = 0; i < comm->nranks; i++)
            is_member[global_rank(comm, i)] = false;
    }
    free(is_member);
    return 0;
}

static int make_profiles(struct pass_collectives *self)
{
    const struct communicators *all = &self->job->communicators;
    const struct coll_stats *stats = self->job->facts->collectives;
    self->profiles = calloc(all->nr + 1, sizeof(*self->profiles));
    if (!self->profiles)
        return -ENOMEM;
    for (const struct communicator *comm = all->first; comm; comm = comm->next)
        self->profiles[comm->index] = (struct comm_profile){.name = comm->name,
                                                            .nranks = comm->nranks,
                                                            .world = self->job->world_size,
                                                            .stride = stride_of(comm),
                                                            .far = comm->nr_far};
    for (size_t i = 0; i < stats->nr; i++) {
        const struct coll_class *class = &stats->classes[i];
        struct comm_profile *profile = &self->profiles[class->comm->index];
        profile->instances[class->op] += class->instances;
        profile->bytes[class->op] += (double)class->bytes;
    }
    return find_crossed(self);
}

static int by_host(const void *a, const void *b)
{
    const struct map_key *x = a, *y = b;
    return x->hi != y->hi ? (x->hi < y->hi ? -1 : 1) : x->lo < y->lo ? -1 : x->lo > y->lo;
}

/* Hosts of the members that are known, as NCCL tells them apart. */
static int count_nodes(const struct communicator *comm, struct report_communicator *row)
{
    struct map_key *hosts = malloc((size_t)comm->nranks * sizeof(*hosts));
    if (!hosts)
        return -ENOMEM;
    for (int32_t i = 0; i < comm->nranks; i++)
        if (comm->members[i])
            hosts[row->nr_known++] = nccl_host(comm->members[i]->process);
    qsort(hosts, row->nr_known, sizeof(*hosts), by_host);
    for (uint64_t i = 0; i < row->nr_known; i++)
        row->nodes += !i || by_host(&hosts[i - 1], &hosts[i]) != 0;
    free(hosts);
    return 0;
}

static int add_communicator(struct pass_collectives *self, struct report *report, const struct communicator *comm)
{
    struct comm_role role = comm_role(&self->profiles[comm->index]);
    struct report_communicator row = {
        .nranks = comm->nranks, .role = role.name, .role_confidence = role.confidence, .nr_ranks = 0};
    int *ranks = calloc((size_t)comm->nranks, sizeof(*ranks));
    char id[32];
    if (!ranks)
        return -ENOMEM;
    int rc = count_nodes(comm, &row);
    communicator_name(comm, id, sizeof(id));
    row.id = id;
    row.ranks = ranks;
    for (int32_t i = 0; i < comm->nranks; i++)
        if (global_rank(comm, i) >= 0)
            ranks[row.nr_ranks++] = global_rank(comm, i);
    rc = rc ? rc : report_add_communicator(report, &row);
    free(ranks);
    return rc;
}

/* ---- collectives -------------------------------------------------------------------------- */

static const char *enum_name(const char *field, unsigned number)
{
    const struct schema_event *event = schema_event(EV_coll);
    for (unsigned i = 0; i < event->nr_fields; i++)
        if (!strcmp(event->fields[i].name, field))
            return schema_enum_name(event->fields[i].en, number);
    return NULL;
}

/* The name of what most instances used, NULL if that is not known. */
static const char *most(const uint64_t *counts, size_t nr, const char *field)
{
    size_t best = 0;
    for (size_t i = 1; i < nr; i++)
        if (counts[i] > (best ? counts[best] : 0))
            best = i;
    return best ? enum_name(field, (unsigned)best) : NULL;
}

/* The slowest kind of connection its ranks have: that sets the pace. */
static const char *slowest_kind(const struct transport *transport, const struct communicator *comm)
{
    static const char *const order[] = {"P2P", "SHM", "NET/"};
    const char *slowest = NULL;
    int worst = -1;
    for (const struct transport_edge *edge = transport ? transport->edges : NULL; edge; edge = edge->next) {
        if (!edge->comm || edge->comm->id != comm->id || edge->comm->nranks != comm->nranks)
            continue;
        for (int i = 0; i < 3; i++) {
            int speed = strcmp(edge->kind, "NET/Socket") == 0 ? 3 : i;
            if (!strncmp(edge->kind, order[i], strlen(order[i])) && speed > worst) {
                worst = speed;
                slowest = edge->kind;
            }
        }
    }
    return slowest;
}

/* The GPU that most is expected of, among those of its ranks: NULL if one is not known. */
static const char *gpu_model(const struct communicator *comm)
{
    const char *model = NULL;
    for (int32_t i = 0; i < comm->nranks; i++) {
        const struct comm_handle *member = comm->members[i];
        const struct gpu_info *gpu =
            member ? process_gpu(member->process, member->device >= 0 ? (uint32_t)member->device : 0) : NULL;
        if (!gpu)
            return NULL;
        model = model ? model : gpu->model;
        if (strcmp(model, gpu->model) != 0)
            return NULL; /* of two models nothing is expected */
    }
    return model;
}

static bool spans_hosts(const struct communicator *comm)
{
    struct map_key first = {0}, host;
    bool any = false;
    for (int32_t i = 0; i < comm->nranks; i++) {
        if (!comm->members[i])
            continue;
        host = nccl_host(comm->members[i]->process);
        first = any ? first : host;
        any = true;
        if (host.hi != first.hi || host.lo != first.lo)
            return true;
    }
    return comm->nodes > 1;
}

/* What its network devices carry; not more than the connections inside a host. */
static double expected_between(const struct transport *transport, const struct communicator *comm)
{
    double rate = TH_NET_BUS * net_speed_between(transport, comm), inside;
    for (const struct transport_edge *edge = transport->edges; edge && isfinite(rate); edge = edge->next) {
        if (transport_is_net(edge) || !edge->comm || edge->comm->id != comm->id || edge->comm->nranks != comm->nranks)
            continue;
        inside = link_bus(edge->kind, gpu_model(comm));
        rate = inside < rate ? inside : rate;
    }
    return rate;
}

static void describe(struct pass_collectives *self, struct coll_class *class)
{
    class->role = comm_role(&self->profiles[class->comm->index]).name;
    class->transport = slowest_kind(self->job->facts->transport, class->comm);
    class->between_hosts = spans_hosts(class->comm);
    class->expected = class->transport && class->transport[0] == 'N'
                          ? expected_between(self->job->facts->transport, class->comm)
                          : link_bus(class->transport, gpu_model(class->comm));
    /* Where NCCL does not say: boards that are joined by NVLink inside a host, whatever they are. */
    double direct = class->transport || class->between_hosts ? NAN : link_bus("P2P", gpu_model(class->comm));
    if (direct >= TH_BUS_NVLINK)
        class->expected = direct;
}

static int add_collective(struct report *report, const struct coll_class *class)
{
    char id[32];
    struct report_collective row = {.op = enum_name("op", class->op),
                                    .count = class->instances,
                                    .bytes = class->bytes ? (int64_t)(class->bytes / class->instances) : TR_UNKNOWN,
                                    .time_ns = TR_UNKNOWN,
                                    .wait_ns = TR_UNKNOWN,
                                    .algbw = NAN,
                                    .busbw = NAN,
                                    .expected = NAN,
                                    .algo = most(class->algos, TR_coll_algo_MAX, "algo"),
                                    .proto = most(class->protos, TR_coll_proto_MAX, "proto"),
                                    .role = class->role,
                                    .transport = class->transport};
    communicator_name(class->comm, id, sizeof(id));
    row.comm = id;
    if (class->kernels > 0)
        row.time_ns = llround(class->time_ns);
    if (class->known > 0 && class->known * 2 > class->kernels)
        row.wait_ns = llround(class->wait_ns * class->kernels / class->known);
    row.busbw = coll_busbw(class);
    row.algbw = row.busbw / coll_bus_factor(class->op, class->comm->nranks);
    if (row.bytes >= (int64_t)TH_BUS_LARGE_BYTES)
        row.expected = class->expected;
    return report_add_collective(report, &row);
}

static int by_time(const void *a, const void *b)
{
    const struct coll_class *const *x = a, *const *y = b;
    if ((*x)->time_ns != (*y)->time_ns)
        return (*x)->time_ns > (*y)->time_ns ? -1 : 1;
    if ((*x)->bytes != (*y)->bytes)
        return (*x)->bytes > (*y)->bytes ? -1 : 1;
    return *x < *y ? -1 : *x > *y;
}

static int add_collectives(struct pass_collectives *self, struct report *report)
{
    struct coll_stats *stats = self->job->facts->collectives;
    struct coll_class **order = malloc((stats->nr + 1) * sizeof(*order));
    int rc = order ? 0 : -ENOMEM;
    for (size_t i = 0; i < stats->nr && !rc; i++)
        order[i] = &stats->classes[i];
    for (size_t i = 0; i < stats->nr; i++)
        describe(self, &stats->classes[i]);
    if (!rc)
        qsort(order, stats->nr, sizeof(*order), by_time);
    for (size_t i = 0; i < stats->nr && !rc; i++)
        rc = add_collective(report, order[i]);
    free(order);
    return rc;
}

static int finish(void *arg, struct report *report)
{
    struct pass_collectives *self = arg;
    int64_t error_ns = clock_map_error(&self->job->facts->instances->clock);
    int rc = make_profiles(self);
    for (const struct communicator *comm = self->job->communicators.first; comm && !rc; comm = comm->next)
        rc = add_communicator(self, report, comm);
    if (report->nr_machines > 1 && error_ns >= 0)
        report->quality.clock_error_ns = error_ns;
    return rc ? rc : add_collectives(self, report);
}

const struct pass pass_collectives = {"collectives", "communicators, and collectives by size", new, NULL, finish,
                                      pass_free};
