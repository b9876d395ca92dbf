/* pass_workers.c - what the processes that load data did with their time, over the steps.
 *
 * A worker fetches on its main thread: that thread's reads, waits and CPU time are the worker's. Blocked on its queue:
 * it waits for the pipe on which its trainer tells it what to load. Batches are what it writes to the pipe its trainer
 * (or the trainer's pin-memory thread) reads. Which process is a worker, and of which rank, is known by those pipes, so
 * everything that is no trainer is watched and sorted out at the end. CPU time comes as totals now and then: shares are
 * of the stretch between the first and the last total within the steps. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/model/facts.h"
#include "analysis/model/job.h"
#include "analysis/pass/pass.h"
#include "analysis/pass/thresholds.h"
#include "analysis/report/report.h"

#define PIPES_MAX 8

/* Time in waits on one pipe, until it is known what the pipe is for. */
struct pipe_wait {
    uint64_t inode, ns;
};

struct cpu_stretch {
    uint64_t first_at_ns, first_cpu_ns, first_runnable_ns;
    uint64_t last_at_ns, last_cpu_ns, last_runnable_ns;
};

struct loader {
    struct loader *next;
    struct process *process;
    uint64_t from_ns, to_ns; /* of the steps on its host */
    uint64_t last_ns;        /* last heard of */
    uint64_t read_ns, meta_ns, recv_ns, write_ns, sleep_ns, other_wait_ns, bytes;
    struct pipe_wait pipes[PIPES_MAX];
    size_t nr_pipes;
    struct cpu_stretch cpu;
};

struct pass_workers {
    struct job *job;
    struct loader *loaders; /* owned, newest first */
    struct map by_process;
    struct cpu_stretch *trainers; /* owned; by rank index: the training thread */
};

static void pass_free(void *arg)
{
    struct pass_workers *self = arg;
    if (!self)
        return;
    for (struct loader *loader = self->loaders, *next; loader; loader = next) {
        next = loader->next;
        free(loader);
    }
    map_done(&self->by_process);
    free(self->trainers);
    free(self);
}

static void *new (const struct options *options, struct job *job, struct report *report)
{
    struct pass_workers *self = calloc(1, sizeof(*self));
    if (!self)
        return NULL;
    self->job = job;
    self->trainers = calloc(job->nr_ranks + 1, sizeof(*self->trainers));
    if (!self->trainers) {
        pass_free(self);
        return NULL;
    }
    return self;
}

/* The time in which the ranks of a host are in their steady steps. False if there is no rank. */
static bool steady_of(const struct job *job, uint32_t host, uint64_t *ret_from_ns, uint64_t *ret_to_ns)
{
    bool found = false;
    for (size_t i = 0; i < job->nr_ranks; i++) {
        const struct rank *rank = job->ranks[i];
        if (rank->process->host != host)
            continue;
        *ret_from_ns = !found || rank->steady_ns < *ret_from_ns ? rank->steady_ns : *ret_from_ns;
        *ret_to_ns = !found || rank->end_ns > *ret_to_ns ? rank->end_ns : *ret_to_ns;
        found = true;
    }
    return found;
}

static struct loader *loader_get(struct pass_workers *self, struct process *process)
{
    struct map_key key = {(uintptr_t)process, 0};
    struct loader *loader = map_find(&self->by_process, key);
    if (loader)
        return loader;
    loader = calloc(1, sizeof(*loader));
    if (!loader || map_put(&self->by_process, key, loader)) {
        free(loader);
        return NULL;
    }
    *loader = (struct loader){.next = self->loaders, .process = process};
    if (!steady_of(self->job, process->host, &loader->from_ns, &loader->to_ns))
        loader->to_ns = UINT64_MAX;
    return self->loaders = loader;
}

static uint64_t within(uint64_t start_ns, uint64_t dur_ns, uint64_t from_ns, uint64_t to_ns)
{
    uint64_t start = start_ns > from_ns ? start_ns : from_ns;
    uint64_t end = start_ns + dur_ns < to_ns ? start_ns + dur_ns : to_ns;
    return start < end ? end - start : 0;
}

static void see_cpu(struct cpu_stretch *stretch, const struct tr_cpu *cpu, uint64_t from_ns, uint64_t to_ns)
{
    if (cpu->at_ns < from_ns || cpu->at_ns > to_ns)
        return;
    if (!stretch->first_at_ns) {
        stretch->first_at_ns = cpu->at_ns;
        stretch->first_cpu_ns = cpu->cpu_ns;
        stretch->first_runnable_ns = cpu->runnable_ns;
    }
    stretch->last_at_ns = cpu->at_ns;
    stretch->last_cpu_ns = cpu->cpu_ns;
    stretch->last_runnable_ns = cpu->runnable_ns;
}

static void see_wait(struct loader *loader, const struct tr_wait *wait)
{
    uint64_t ns = within(wait->start_ns, wait->dur_ns, loader->from_ns, loader->to_ns);
    if (wait->kind == TR_wait_kind_sleep)
        loader->sleep_ns += ns;
    if (wait->kind == TR_wait_kind_sleep || wait->kind == TR_wait_kind_sock)
        return; /* the latter is the time of a send or receive, which is counted as such */
    size_t i = 0;
    while (i < loader->nr_pipes && loader->pipes[i].inode != wait->obj)
        i++;
    bool is_pipe = wait->kind != TR_wait_kind_sem && wait->kind != TR_wait_kind_cond && wait->obj;
    if (is_pipe && i == loader->nr_pipes && i < PIPES_MAX)
        loader->pipes[loader->nr_pipes++].inode = wait->obj;
    if (is_pipe && i < loader->nr_pipes)
        loader->pipes[i].ns += ns;
    else
        loader->other_wait_ns += ns;
}

static bool is_data(const struct name *name)
{
    return name && group_is_data(name->group);
}

/* The part of a burst's calls that lies within the steps. */
static uint64_t busy_within(const struct loader *loader, uint64_t start_ns, uint64_t dur_ns, uint64_t busy_ns,
                            unsigned count)
{
    uint64_t inside = within(start_ns, dur_ns ? dur_ns : 1, loader->from_ns, loader->to_ns);
    uint64_t busy = count > 1 ? busy_ns : dur_ns;
    return dur_ns ? (uint64_t)((double)busy * ((double)inside / (double)dur_ns)) : 0;
}

static void see_io(struct pass_workers *self, struct loader *loader, const struct event *event)
{
    const struct tr_file_io *file = &event->u.file_io;
    const struct tr_sock_io *sock = &event->u.sock_io;
    const struct tr_file_meta *meta = &event->u.file_meta;
    if (event->kind == EV_file_io && is_data(self->job->name)) {
        uint64_t busy = busy_within(loader, file->start_ns, file->dur_ns, file->busy_ns, file->count);
        *(file->op == TR_io_op_read ? &loader->read_ns : &loader->write_ns) += busy;
        if (file->op == TR_io_op_read && busy)
            loader->bytes += file->size_bytes;
    } else if (event->kind == EV_sock_io && sock->op == TR_io_op_write && is_data(self->job->name)) {
        loader->recv_ns += busy_within(loader, sock->start_ns, sock->dur_ns, sock->busy_ns, sock->count);
    } else if (event->kind == EV_file_meta && is_data(self->job->name)) {
        loader->meta_ns += busy_within(loader, meta->start_ns, meta->dur_ns, meta->busy_ns, meta->count);
    }
}

/* A receive, with the wait for it. The wait was counted as one on a pipe: it is moved. */
static void see_receive(struct pass_workers *self, struct loader *loader, const struct receive *receive)
{
    if (!is_data(job_name(self->job, self->job->process, receive->name)))
        return;
    loader->recv_ns +=
        within(receive->start_ns, receive->busy_ns, loader->from_ns, loader->to_ns) +
        within(receive->start_ns - receive->waited_ns, receive->waited_ns, loader->from_ns, loader->to_ns);
    if (receive->start_ns >= loader->from_ns && receive->start_ns < loader->to_ns)
        loader->bytes += receive->bytes;
}

static int event(void *arg, const struct event *event)
{
    struct pass_workers *self = arg;
    struct process *process = self->job->process;
    const struct thread *thread = self->job->thread;
    if (process->role == ROLE_launcher)
        return 0;
    if (process->role == ROLE_trainer) {
        const struct rank *rank = thread_rank(thread);
        if (rank && event->kind == EV_cpu)
            see_cpu(&self->trainers[rank->index], &event->u.cpu, rank->steady_ns, rank->end_ns);
        return 0;
    }
    struct loader *loader = loader_get(self, process);
    if (!loader)
        return -ENOMEM;
    loader->last_ns = event->ts_ns;
    if (thread->tid != process->pid)
        return 0;
    if (self->job->receive)
        see_receive(self, loader, self->job->receive);
    if (event->kind == EV_cpu)
        see_cpu(&loader->cpu, &event->u.cpu, loader->from_ns, loader->to_ns);
    else if (event->kind == EV_wait)
        see_wait(loader, &event->u.wait);
    else
        see_io(self, loader, event);
    return 0;
}

/* ---- sorting out -------------------------------------------------------------------------- */

static const struct feed_end *writer_of(const struct feed *feed, const struct process *process)
{
    for (size_t i = 0; i < feed->nr_writers; i++)
        if (feed->writers[i].process == process)
            return &feed->writers[i];
    return NULL;
}

/* The rank that a process feeds, and with how many messages; NULL if it feeds none. */
static struct rank *fed_by(const struct job *job, const struct process *process, uint64_t *ret_batches,
                           uint64_t *ret_bytes)
{
    const struct feed *feed = feeds_of(&job->feeds, process);
    const struct feed_end *writer = feed ? writer_of(feed, process) : NULL;
    struct rank *fed = NULL;
    for (size_t i = 0; writer && i < feed->nr_readers && !fed; i++) {
        struct process *trainer = feed->readers[i].process;
        if (trainer->role == ROLE_trainer && trainer != process && feed_is_data(feed, trainer))
            fed = trainer->rank;
    }
    if (!fed)
        return NULL;
    /* Python writes a message longer than 16 KiB as two calls. */
    uint64_t calls = writer->calls - writer->survey_calls, bytes = writer->bytes - writer->survey_bytes;
    *ret_batches = calls && bytes / calls > 16384 ? calls / 2 : calls;
    *ret_bytes = bytes;
    return fed;
}

static uint64_t idle_of(const struct job *job, struct loader *loader, const struct process *trainer)
{
    uint64_t idle = 0;
    for (size_t i = 0; i < loader->nr_pipes; i++) {
        const struct feed *feed = feeds_find(&job->feeds, loader->process->host, loader->pipes[i].inode);
        if (!feed && loader->recv_ns)
            continue; /* a socket: counted with its receives */
        if (feed && feed_is_index(feed, trainer, loader->process))
            idle += loader->pipes[i].ns;
        else
            loader->other_wait_ns += loader->pipes[i].ns;
    }
    return idle;
}

static void set_cpu(uint64_t *ret_cpu_ns, uint64_t *ret_runnable_ns, const struct cpu_stretch *cpu, uint64_t span_ns)
{
    double stretch = (double)(cpu->last_at_ns - cpu->first_at_ns);
    if (stretch <= 0)
        return;
    *ret_cpu_ns = (uint64_t)((double)(cpu->last_cpu_ns - cpu->first_cpu_ns) / stretch * (double)span_ns);
    *ret_runnable_ns = (uint64_t)((double)(cpu->last_runnable_ns - cpu->first_runnable_ns) / stretch * (double)span_ns);
}

static void judge(const struct job *job, struct loader *loader, struct rank *rank, struct loader_facts *facts)
{
    struct process *process = loader->process;
    uint64_t end = process->exit_ns ? process->exit_ns : loader->last_ns;
    process->role = ROLE_worker;
    process->rank = rank;
    facts->process = process;
    facts->rank = rank;
    facts->span_ns = within(process->start_ns, end > process->start_ns ? end - process->start_ns : 0, loader->from_ns,
                            loader->to_ns);
    facts->read_ns = loader->read_ns;
    facts->meta_ns = loader->meta_ns;
    facts->recv_ns = loader->recv_ns;
    facts->write_ns = loader->write_ns;
    facts->sleep_ns = loader->sleep_ns;
    facts->bytes = loader->bytes;
    facts->idle_ns = idle_of(job, loader, rank->process);
    facts->other_wait_ns = loader->other_wait_ns;
    set_cpu(&facts->cpu_ns, &facts->runnable_ns, &loader->cpu, facts->span_ns);
}

static int by_rank_and_pid(const void *a, const void *b)
{
    const struct loader_facts *x = a, *y = b;
    if (x->rank->index != y->rank->index)
        return x->rank->index < y->rank->index ? -1 : 1;
    if (x->process->start_ns != y->process->start_ns)
        return x->process->start_ns < y->process->start_ns ? -1 : 1;
    return x->process->pid < y->process->pid ? -1 : x->process->pid > y->process->pid;
}

static int sort_out(struct pass_workers *self)
{
    struct facts *facts = self->job->facts;
    size_t nr = 0;
    for (const struct loader *loader = self->loaders; loader; loader = loader->next)
        nr++;
    facts->loaders = calloc(nr + 1, sizeof(*facts->loaders));
    if (!facts->loaders)
        return -ENOMEM;
    for (struct loader *loader = self->loaders; loader; loader = loader->next) {
        struct loader_facts *one = &facts->loaders[facts->nr_loaders];
        struct rank *rank = fed_by(self->job, loader->process, &one->batches, &one->batch_bytes);
        if (!rank)
            continue;
        judge(self->job, loader, rank, one);
        facts->nr_loaders++;
    }
    qsort(facts->loaders, facts->nr_loaders, sizeof(*facts->loaders), by_rank_and_pid);
    for (size_t i = 0; i < facts->nr_ranks; i++) {
        struct rank_facts *rank = &facts->ranks[i];
        const struct cpu_stretch *cpu = &self->trainers[rank->rank->index];
        rank->cpu_span_ns = cpu->last_at_ns - cpu->first_at_ns;
        rank->cpu_ns = cpu->last_cpu_ns - cpu->first_cpu_ns;
        rank->runnable_ns = cpu->last_runnable_ns - cpu->first_runnable_ns;
    }
    return 0;
}

static int finish(void *arg, struct report *report)
{
    struct pass_workers *self = arg;
    int rc = sort_out(self);
    const struct facts *facts = self->job->facts;
    for (size_t i = 0; i < facts->nr_loaders && !rc; i++) {
        const struct loader_facts *one = &facts->loaders[i];
        rc = report_add_worker(report, &(struct report_worker){.rank = one->rank->number,
                                                               .host = one->process->host,
                                                               .pid = one->process->pid,
                                                               .reading_ns = one->read_ns + one->meta_ns + one->recv_ns,
                                                               .cpu_ns = one->cpu_ns,
                                                               .runnable_ns = one->runnable_ns,
                                                               .blocked_ns = one->idle_ns,
                                                               .waiting_ns = one->sleep_ns + one->other_wait_ns,
                                                               .span_ns = one->span_ns,
                                                               .batches = one->batches,
                                                               .bytes_read = one->bytes});
    }
    return rc;
}

const struct pass pass_workers = {"workers", "DataLoader workers: reading, on a CPU, idle", new, event, finish,
                                  pass_free};
