/* pass_io.c - what was read and written, by directory group, large file and peer.
 *
 * Sums every burst of every thread into its group (model/groups.h) for the table; and, apart, what loaders did while
 * steps ran, for the findings: start-up, imports and the trainers' own files are no data loading. A burst tells the
 * time of its calls together, so a call is taken to be of average length. */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/model/facts.h"
#include "analysis/model/job.h"
#include "analysis/pass/pass.h"
#include "analysis/pass/thresholds.h"
#include "analysis/report/report.h"

struct io_sums {
    uint64_t opens, reads, writes, failed, bytes_read, bytes_written, read_ns, write_ns, meta_ns;
    uint64_t device_bytes, known_bytes; /* read; of those known to come from device or cache */
    uint64_t random_bytes;
    struct histogram reads_ns;
};

struct start_sums {
    uint64_t ns, calls, failed, bytes;
};

struct pass_io {
    struct job *job;
    struct io_sums **groups;      /* owned; by group index; NULL until touched */
    struct group_facts **loaders; /* owned; as groups, by loaders while steps ran */
    struct start_sums *starts;    /* owned; by group index: by the first rank before its first step */
    uint64_t *steady_ns;          /* owned; by host: begin and end of the steps */
    size_t nr_hosts;
};

static void pass_free(void *arg)
{
    struct pass_io *self = arg;
    if (!self)
        return;
    for (size_t i = 0; i < self->job->groups.nr; i++) {
        if (self->groups)
            free(self->groups[i]);
        if (self->loaders)
            free(self->loaders[i]);
    }
    free(self->groups);
    free(self->loaders);
    free(self->starts);
    free(self->steady_ns);
    free(self);
}

/* The time on each host in which some rank is in its steps. */
static bool find_steady(struct pass_io *self)
{
    const struct job *job = self->job;
    for (size_t i = 0; i < job->nr_ranks; i++)
        if (job->ranks[i]->process->host >= self->nr_hosts)
            self->nr_hosts = job->ranks[i]->process->host + 1;
    self->steady_ns = calloc(2 * self->nr_hosts + 1, sizeof(*self->steady_ns));
    if (!self->steady_ns)
        return false;
    for (size_t i = 0; i < job->nr_ranks; i++) {
        uint64_t *steady = &self->steady_ns[2 * job->ranks[i]->process->host];
        if (!steady[0] || job->ranks[i]->begin_ns < steady[0])
            steady[0] = job->ranks[i]->begin_ns;
        if (job->ranks[i]->end_ns > steady[1])
            steady[1] = job->ranks[i]->end_ns;
    }
    return true;
}

static void *new (const struct options *options, struct job *job, struct report *report)
{
    struct pass_io *self = calloc(1, sizeof(*self));
    if (!self)
        return NULL;
    self->job = job;
    self->groups = calloc(job->groups.nr + 1, sizeof(*self->groups));
    self->loaders = calloc(job->groups.nr + 1, sizeof(*self->loaders));
    self->starts = calloc(job->groups.nr + 1, sizeof(*self->starts));
    if (!self->groups || !self->loaders || !self->starts || !find_steady(self)) {
        pass_free(self);
        return NULL;
    }
    return self;
}

/* Whether the current event is of loading data while steps run. */
static bool by_loader(const struct pass_io *self, const struct group *group, uint64_t start_ns)
{
    const struct process *process = self->job->process;
    if (process->host >= self->nr_hosts || !group_is_data(group))
        return false;
    if (process->role == ROLE_trainer ? process->fed : !process->feeds)
        return false;
    const uint64_t *steady = &self->steady_ns[2 * process->host];
    return start_ns >= steady[0] && start_ns < steady[1];
}

static struct io_sums *sums_of(struct pass_io *self, const struct name *name, const struct group **ret_group)
{
    const struct group *group = name ? name->group : NULL;
    *ret_group = group;
    if (!group)
        return NULL;
    if (!self->groups[group->index])
        self->groups[group->index] = calloc(1, sizeof(struct io_sums));
    return self->groups[group->index];
}

static struct group_facts *facts_of(struct pass_io *self, const struct group *group)
{
    struct group_facts *facts = self->loaders[group->index];
    if (!facts) {
        facts = calloc(1, sizeof(*facts));
        if (facts)
            facts->group = group;
        self->loaders[group->index] = facts;
    }
    return facts;
}

/* Sums of the first rank's process before its first step; NULL for everything else. */
static struct start_sums *start_of(struct pass_io *self, const struct group *group, uint64_t start_ns)
{
    const struct job *job = self->job;
    const struct rank *rank = job->nr_ranks ? job->ranks[0] : NULL;
    bool before = rank && job->process == rank->process && start_ns < rank->begin_ns;
    return before ? &self->starts[group->index] : NULL;
}

static void count_read(struct io_sums *sums, struct group_facts *loader, uint64_t count, uint64_t bytes,
                       uint64_t busy_ns, unsigned how)
{
    unsigned eighths = how & TR_HOW_DEVICE_MASK;
    uint64_t known = eighths == TR_HOW_DEVICE_UNKNOWN ? 0 : bytes, device = known ? bytes * eighths / 8 : 0;
    uint64_t random = how & TR_HOW_RANDOM ? bytes : 0, each = busy_ns / (count ? count : 1);
    sums->reads += count;
    sums->bytes_read += bytes;
    sums->read_ns += busy_ns;
    sums->known_bytes += known;
    sums->device_bytes += device;
    sums->random_bytes += random;
    histogram_add(&sums->reads_ns, each, (uint32_t)count);
    if (!loader)
        return;
    loader->reads += count;
    loader->bytes += bytes;
    loader->read_ns += busy_ns;
    loader->known_bytes += known;
    loader->device_bytes += device;
    loader->random_bytes += random;
    histogram_add(&loader->reads_ns, each, (uint32_t)count);
}

static void count_write(struct io_sums *sums, uint64_t count, uint64_t bytes, uint64_t busy_ns)
{
    sums->writes += count;
    sums->bytes_written += bytes;
    sums->write_ns += busy_ns;
}

static int transferred(struct pass_io *self, const struct name *name, unsigned op, uint16_t count, uint32_t bytes,
                       uint32_t busy_ns, uint64_t start_ns, uint64_t dur_ns, unsigned how)
{
    const struct group *group;
    struct io_sums *sums = sums_of(self, name, &group);
    if (!sums)
        return group ? -ENOMEM : 0;
    uint64_t busy = count > 1 ? busy_ns : dur_ns;
    if (op == TR_io_op_write) {
        count_write(sums, count, bytes, busy);
        return 0;
    }
    struct start_sums *start = start_of(self, group, start_ns);
    if (start) {
        start->ns += busy;
        start->calls += count;
        start->bytes += bytes;
    }
    struct group_facts *loader = by_loader(self, group, start_ns) ? facts_of(self, group) : NULL;
    count_read(sums, loader, count, bytes, busy, how);
    return 0;
}

static int looked_up(struct pass_io *self, const struct tr_file_meta *meta)
{
    const struct group *group;
    struct io_sums *sums = sums_of(self, self->job->name, &group);
    if (!sums)
        return group ? -ENOMEM : 0;
    sums->opens += meta->opens;
    sums->failed += meta->failed;
    sums->meta_ns += meta->busy_ns;
    struct start_sums *start = start_of(self, group, meta->start_ns);
    if (start) {
        start->ns += meta->busy_ns;
        start->calls += meta->count;
        start->failed += meta->failed;
    }
    struct group_facts *loader = by_loader(self, group, meta->start_ns) ? facts_of(self, group) : NULL;
    if (loader) {
        loader->opens += meta->opens;
        loader->meta_ns += meta->busy_ns;
    }
    return 0;
}

static int changed(struct pass_io *self, const struct tr_file_op *op)
{
    const struct group *group;
    struct io_sums *sums = sums_of(self, self->job->name, &group);
    if (!sums)
        return group ? -ENOMEM : 0;
    sums->opens += op->op == TR_file_act_create;
    sums->failed += op->err != 0;
    /* fsync waits for the data, the others for the file system. */
    *(op->op == TR_file_act_fsync ? &sums->write_ns : &sums->meta_ns) += op->dur_ns;
    return 0;
}

/* A receive took as long as the peer needed, waiting included. */
static int received(struct pass_io *self, const struct receive *receive)
{
    uint64_t ns = receive->waited_ns + receive->busy_ns;
    return transferred(self, job_name(self->job, self->job->process, receive->name), TR_io_op_read, 1, receive->bytes,
                       0, receive->start_ns, ns, TR_HOW_DEVICE_UNKNOWN);
}

static int event(void *arg, const struct event *event)
{
    const struct tr_file_io *file = &event->u.file_io;
    const struct tr_sock_io *sock = &event->u.sock_io;
    const struct job *job = ((struct pass_io *)arg)->job;
    int rc = job->receive ? received(arg, job->receive) : 0;
    if (rc)
        return rc;
    switch (event->kind) {
    case EV_file_io:
        return transferred(arg, job->name, file->op, file->count, file->size_bytes, file->busy_ns, file->start_ns,
                           file->dur_ns, file->how);
    case EV_sock_io:
        if (sock->nccl)
            return 0; /* between ranks: no data of the job's */
        if (sock->op == TR_io_op_read)
            return 0; /* see received() */
        return transferred(arg, job->name, sock->op, sock->count, sock->size_bytes, sock->busy_ns, sock->start_ns,
                           sock->dur_ns, TR_HOW_DEVICE_UNKNOWN);
    case EV_file_meta:
        return looked_up(arg, &event->u.file_meta);
    case EV_file_op:
        return changed(arg, &event->u.file_op);
    default:
        return 0;
    }
}

/* ---- the table ---------------------------------------------------------------------------- */

static double share(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : NAN;
}

static int add_row(struct report *report, const struct group *group, const struct io_sums *sums)
{
    uint64_t time = sums->read_ns + sums->write_ns + sums->meta_ns;
    bool peer = group->kind == GROUP_PEER;
    return report_add_io(
        report, &(struct report_io){
                    .mount = group->mount ? group->mount->point : NULL,
                    .fstype = group->mount ? group->mount->fstype : NULL,
                    .source = group->mount ? group->mount->source : NULL,
                    .group = peer ? NULL : group->text,
                    .peer = peer ? group->text : NULL,
                    .opens = sums->opens,
                    .reads = sums->reads,
                    .writes = sums->writes,
                    .bytes_read = sums->bytes_read,
                    .bytes_written = sums->bytes_written,
                    .files_failed = sums->failed,
                    .read_ns = sums->read_ns,
                    .write_ns = sums->write_ns,
                    .metadata_ns = sums->meta_ns,
                    .mean_read = share(sums->bytes_read, sums->reads),
                    .p50_read_ns = histogram_percentile(&sums->reads_ns, 0.5),
                    .p95_read_ns = histogram_percentile(&sums->reads_ns, 0.95),
                    .p99_read_ns = histogram_percentile(&sums->reads_ns, 0.99),
                    .metadata_share = share(sums->meta_ns, time),
                    .cache_share = sums->known_bytes ? 1 - share(sums->device_bytes, sums->known_bytes) : NAN,
                    .sequential_share = sums->bytes_read ? 1 - share(sums->random_bytes, sums->bytes_read) : NAN,
                });
}

struct ranked {
    const struct group *group;
    const struct io_sums *sums;
};

/* Most time first; equal ones in order of appearance, so that the report is the same every time. */
static int by_time(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    uint64_t tx = x->sums->read_ns + x->sums->write_ns + x->sums->meta_ns;
    uint64_t ty = y->sums->read_ns + y->sums->write_ns + y->sums->meta_ns;
    if (tx != ty)
        return tx > ty ? -1 : 1;
    return x->group->index < y->group->index ? -1 : x->group->index > y->group->index;
}

static int add_rows(const struct pass_io *self, struct report *report)
{
    const struct groups *groups = &self->job->groups;
    struct ranked *ranked = calloc(groups->nr + 1, sizeof(*ranked));
    size_t nr = 0;
    int rc = 0;
    if (!ranked)
        return -ENOMEM;
    for (size_t i = 0; i < groups->nr; i++)
        if (self->groups[i])
            ranked[nr++] = (struct ranked){groups->list[i], self->groups[i]};
    qsort(ranked, nr, sizeof(*ranked), by_time);
    for (size_t i = 0; i < nr && i < TH_IO_ROWS && !rc; i++)
        rc = add_row(report, ranked[i].group, ranked[i].sums);
    free(ranked);
    return rc;
}

static int keep_facts(const struct pass_io *self)
{
    struct facts *facts = self->job->facts;
    facts->groups = calloc(self->job->groups.nr + 1, sizeof(*facts->groups));
    if (!facts->groups)
        return -ENOMEM;
    for (size_t i = 0; i < self->job->groups.nr; i++)
        if (self->loaders[i])
            facts->groups[facts->nr_groups++] = *self->loaders[i];
    return 0;
}

static void keep_start(const struct pass_io *self)
{
    struct start_facts *start = &self->job->facts->start;
    uint64_t most_software = 0, most_load = 0;
    for (size_t i = 0; i < self->job->groups.nr; i++) {
        const struct group *group = self->job->groups.list[i];
        const struct start_sums *sums = &self->starts[i];
        if (group->kind == GROUP_SOFTWARE) {
            start->software_ns += sums->ns;
            start->software_calls += sums->calls;
            start->software_failed += sums->failed;
            if (sums->ns > most_software) {
                most_software = sums->ns;
                start->software = group;
            }
        } else {
            start->load_ns += sums->ns;
            start->load_bytes += sums->bytes;
            if (sums->ns > most_load) {
                most_load = sums->ns;
                start->load = group;
            }
        }
    }
}

/* The last receive of each thread, after which nothing came. */
static int flush_receives(struct pass_io *self)
{
    int rc = 0;
    for (struct process *process = self->job->first; process; process = process->next)
        for (const struct thread *thread = process->threads; thread && !rc; thread = thread->next) {
            self->job->process = process;
            rc = thread->receives.open.name ? received(self, &thread->receives.open) : 0;
        }
    return rc;
}

static int finish(void *arg, struct report *report)
{
    int rc = flush_receives(arg);
    if (rc)
        return rc;
    keep_start(arg);
    rc = add_rows(arg, report);
    return rc ? rc : keep_facts(arg);
}

const struct pass pass_io = {"io", "files and peers: calls, bytes, time", new, event, finish, pass_free};
