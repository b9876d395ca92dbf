/* pass_job.c - who ran: the ranks, how each is known, and the versions it used. All of it is in the job model; this
 * pass only tells the report. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/model/communicators.h"
#include "analysis/model/job.h"
#include "analysis/pass/pass.h"
#include "analysis/report/report.h"

struct pass_job {
    struct job *job;
};

static void *new (const struct options *options, struct job *job, struct report *report)
{
    struct pass_job *self = calloc(1, sizeof(*self));
    if (self)
        self->job = job;
    return self;
}

/* Versions are facts of the process or inherited from its parents; its own are told first. */
static int collect_versions(const struct process *process, struct report_version **ret, size_t *ret_nr)
{
    static const char prefix[] = "version.";
    for (unsigned depth = 0; process && depth < 64; process = process->parent, depth++) {
        for (const struct attr *attr = process->attrs; attr; attr = attr->next) {
            if (strncmp(attr->key, prefix, sizeof(prefix) - 1))
                continue;
            const char *key = attr->key + sizeof(prefix) - 1;
            size_t i = 0;
            while (i < *ret_nr && strcmp((*ret)[i].key, key))
                i++;
            if (i < *ret_nr)
                continue;
            struct report_version *more = realloc(*ret, (*ret_nr + 1) * sizeof(*more));
            if (!more)
                return -ENOMEM;
            *ret = more;
            more[(*ret_nr)++] = (struct report_version){key, attr->value};
        }
    }
    return 0;
}

static int by_key(const void *a, const void *b)
{
    return strcmp(((const struct report_version *)a)->key, ((const struct report_version *)b)->key);
}

static int add_rank(struct report *report, const struct rank *rank)
{
    struct report_version *versions = NULL;
    const struct gpu_info *gpu = rank->process->gpus;
    size_t nr = 0;
    int rc = collect_versions(rank->process, &versions, &nr);
    if (nr)
        qsort(versions, nr, sizeof(*versions), by_key);
    rc = rc ? rc
            : report_add_rank(report, &(struct report_rank){.rank = rank->number,
                                                            .attempt = rank->attempt,
                                                            .host = rank->process->host,
                                                            .pid = rank->process->pid,
                                                            .host_name = nccl_host_name(rank->process),
                                                            .machine = rank->process->host_name,
                                                            .device = gpu ? (int64_t)gpu->device : TR_UNKNOWN,
                                                            .gpu_name = gpu ? gpu->model : NULL,
                                                            .rank_source = rank->source,
                                                            .versions = versions,
                                                            .nr_versions = nr});
    free(versions);
    return rc;
}

static int by_host(const void *a, const void *b)
{
    const struct map_key *x = a, *y = b;
    return x->hi != y->hi ? (x->hi < y->hi ? -1 : 1) : x->lo < y->lo ? -1 : x->lo > y->lo;
}

/* Containers of one machine may each be a host of their own (NCCL_HOSTID): NCCL takes the network between them. */
static int count_hosts(const struct job *job, struct report *report)
{
    struct map_key *hosts = malloc((job->nr_ranks + 1) * sizeof(*hosts));
    uint32_t nr = 0;
    if (!hosts)
        return -ENOMEM;
    for (size_t i = 0; i < job->nr_ranks; i++)
        hosts[i] = nccl_host(job->ranks[i]->process);
    qsort(hosts, job->nr_ranks, sizeof(*hosts), by_host);
    for (size_t i = 0; i < job->nr_ranks; i++)
        nr += !i || by_host(&hosts[i - 1], &hosts[i]) != 0;
    report->nr_hosts = nr > report->nr_hosts ? nr : report->nr_hosts;
    free(hosts);
    return 0;
}

static int finish(void *arg, struct report *report)
{
    const struct job *job = ((struct pass_job *)arg)->job;
    int rc = count_hosts(job, report);
    bool by_order = false;
    for (size_t i = 0; i < job->nr_ranks && !rc; i++) {
        const struct rank *rank = job->ranks[i];
        char number[16];
        rc = add_rank(report, rank);
        by_order |= !strcmp(rank->source, "order");
        snprintf(number, sizeof(number), "%d", rank->number);
        if (!rc && !rank->process->exit_ns && !rank->process->cut)
            rc = report_note(report, "killed", "rank", number, NULL);
    }
    if (!rc && by_order)
        rc = report_note(report, "no-rank", NULL);
    if (!rc && !job->nr_events)
        rc = report_note(report, "no-events", NULL);
    return rc;
}

const struct pass pass_job = {"job", "processes, ranks, versions", new, NULL, finish, free};
