/* init.c - making communicators: by unique id, by splitting, shrinking or growing one; alone, in a group (then each on
 * a thread of its own, *comm is there when the group ends) or without waiting. And ending them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/sim/nccl/inside.h"
#include "tests/sim/nccl/log.h"
#include "tests/sim/nccl/net.h"
#include "tests/sim/nccl/net_plugin.h"
#include "tests/sim/nccl/profiler.h"
#include "tests/sim/nccl/proxy.h"
#include "tests/sim/nccl/topology.h"

/* ---- What every way has in common ---- */
static void describe_self(struct ncclComm *c, struct nccl_peer *me)
{
    memset(me, 0, sizeof(*me));
    net_describe(me);
    struct sim_device *d = sim_device_at(c->device);
    me->rank = c->rank;
    me->device = c->device;
    me->pid = (int)getpid();
    me->version = nccl_version();
    me->bus = d ? (uint64_t)d->pci_domain << 20 | d->pci_bus << 12 | d->pci_device << 4 : 0;
}

static int count_nodes(const struct ncclComm *c)
{
    int nodes = 0;
    for (int i = 0; i < c->nranks; i++) {
        bool seen = false;
        for (int j = 0; j < i; j++)
            seen |= c->peers[j].host_hash == c->peers[i].host_hash;
        nodes += !seen;
    }
    return nodes;
}

static ncclResult_t check_peers(struct ncclComm *c)
{
    for (int i = 0; i < c->nranks; i++)
        for (int j = 0; j < i; j++) {
            const struct nccl_peer *a = &c->peers[i], *b = &c->peers[j];
            if (a->host_hash == b->host_hash && a->bus == b->bus)
                return nccl_error(c, ncclInvalidUsage,
                                  "Duplicate GPU detected : rank %d and rank %d both on CUDA device %llx", i, j,
                                  (unsigned long long)a->bus);
            if (a->host_hash != b->host_hash && a->net_kind != b->net_kind)
                return nccl_error(c, ncclSystemError, "rank %d on %s uses network %s, rank %d on %s network %s", i,
                                  a->host, a->net, j, b->host, b->net);
        }
    return ncclSuccess;
}

static ncclResult_t make_room(struct ncclComm *c)
{
    c->peers = calloc((size_t)c->nranks, sizeof(*c->peers));
    c->nr_sends = calloc((size_t)c->nranks, sizeof(uint64_t));
    c->nr_receives = calloc((size_t)c->nranks, sizeof(uint64_t));
    return c->peers && c->nr_sends && c->nr_receives ? ncclSuccess : ncclSystemError;
}

static void say_made(const struct ncclComm *c, const char *what)
{
    int v = nccl_version();
    char api[64] = "";
    if (v >= 23000 && strcmp(what, "START") == 0)
        snprintf(api, sizeof(api), "[Rank %d] %s ", c->rank, c->api);
    else if (v >= 22100)
        snprintf(api, sizeof(api), "%s ", c->api);
    log_info(LOG_INIT, "%scomm %p rank %d nranks %d cudaDev %d nvmlDev %d busId %llx commId 0x%llx - Init %s", api,
             (void *)c, c->rank, c->nranks, c->device, c->device, (unsigned long long)(c->peers[c->rank].bus),
             (unsigned long long)c->hash, what);
}

/* Since 2.22 the log says where the time of making it went. */
static void say_timings(struct ncclComm *c, uint64_t begun)
{
    double total = (double)(sim_now() - begun) / 1e9;
    if (nccl_version() >= 22200)
        log_info(
            LOG_INIT,
            "Init timings - %s: rank %d nranks %d total %.2f (kernels 0.00, alloc 0.00, bootstrap %.2f, allgathers "
            "0.00, topo 0.00, graphs 0.00, connections 0.00, rest 0.00)",
            c->api, c->rank, c->nranks, total, total);
}

/* Peers are known: transports, log, and the thread. */
ncclResult_t init_finish(struct ncclComm *c)
{
    c->nr_nodes = count_nodes(c);
    ncclResult_t error = check_peers(c);
    if (error)
        return error;
    profiler_comm_begin(c);
    error = topology_connect(c);
    if (error)
        return error;
    proxy_begin(c);
    comm_start_progress(c);
    sim_sleep_until(c->begun + (uint64_t)(nccl_settings()->init_ms * 1e6));
    say_made(c, "COMPLETE");
    say_timings(c, c->begun);
    return ncclSuccess;
}

ncclResult_t init_begin(struct ncclComm *c)
{
    c->begun = sim_now();
    ncclResult_t error = make_room(c);
    if (error || (error = net_init(c)))
        return error;
    describe_self(c, &c->peers[c->rank]);
    log_version(c->rank);
    say_made(c, "START");
    return ncclSuccess;
}

ncclResult_t init_by_id(struct init_job *job)
{
    struct ncclComm *c = job->comm;
    int socket;
    c->hash = bootstrap_hash(&job->id);
    ncclResult_t error = init_begin(c);
    if (error)
        return error;
    struct nccl_peer me = c->peers[c->rank];
    error = bootstrap_join(&job->id, c->rank, c->nranks, &me, sizeof(me), c->peers, &c->aborted, &socket);
    if (error)
        return error;
    int failed = shared_open(&c->shared, c->hash, c->nranks);
    error = bootstrap_done(socket, &c->aborted);
    shared_unlink(c->hash); /* by all: the first may have died */
    if (failed)
        return nccl_error(c, ncclSystemError, "Error while creating shared memory segment /dev/shm/nccl-%llx (%s)",
                          (unsigned long long)c->hash, strerror(-failed));
    return error ? error : init_finish(c);
}

/* ---- Running jobs ---- */
static void end_job(struct init_job *job)
{
    struct ncclComm *c = job->comm;
    if (job->result && c) {
        __atomic_store_n(&c->async_error, (int)job->result, __ATOMIC_RELEASE);
        if (c->blocking) {
            profiler_comm_end(c);
            net_plugin_comm_end(c);
            comm_unref(c);
            *job->ret = NULL;
        }
    } else if (c && job->color < 0) { /* not part of the split */
        comm_unref(c);
        *job->ret = NULL;
    } else if (c) {
        if (c->blocking) /* else the caller has it already */
            *job->ret = c;
        __atomic_store_n(&c->async_error, ncclSuccess, __ATOMIC_RELEASE);
    }
}

static void *run_job(void *arg)
{
    struct init_job *job = arg;
    sim_set_current(job->comm->device);
    job->result = job->run(job);
    end_job(job);
    return NULL;
}

static void free_job(struct init_job *job)
{
    free(job->excluded);
    free(job);
}

static void *run_unwatched(void *arg)
{
    run_job(arg);
    free_job(arg);
    return NULL;
}

static ncclResult_t run_aside(struct init_job *job)
{
    pthread_t thread;
    __atomic_store_n(&job->comm->async_error, ncclInProgress, __ATOMIC_RELEASE);
    *job->ret = job->comm;
    if (pthread_create(&thread, NULL, run_unwatched, job) != 0)
        return ncclSystemError;
    pthread_detach(thread);
    return ncclInProgress;
}

/* All of a group at once: a thread each if there are several. */
ncclResult_t init_jobs(struct init_job *jobs)
{
    ncclResult_t result = ncclSuccess;
    pthread_t threads[256];
    unsigned nr = 0;
    if (jobs && !jobs->comm->blocking) {
        for (struct init_job *j = jobs, *next; j; j = next) {
            next = j->next;
            run_aside(j);
        }
        return ncclInProgress;
    }
    if (jobs && !jobs->next) {
        run_job(jobs);
    } else {
        for (struct init_job *j = jobs; j && nr < 256; j = j->next)
            if (pthread_create(&threads[nr], NULL, run_job, j) == 0)
                nr++;
        for (unsigned i = 0; i < nr; i++)
            pthread_join(threads[i], NULL);
    }
    for (struct init_job *j = jobs, *next; j; j = next) {
        next = j->next;
        result = result ? result : j->result;
        free_job(j);
    }
    return result;
}

ncclResult_t init_run(struct init_job *job)
{
    return group_add_job(job) ? ncclSuccess : init_jobs(job);
}

/* ---- The public ways in ---- */
#define CONFIG_HAS(config, member) ((config)->size >= offsetof(ncclConfig_t, member) + sizeof((config)->member))

static ncclResult_t configure(struct ncclComm *c, const ncclConfig_t *config)
{
    if (!config)
        return ncclSuccess;
    if (config->magic != NCCL_CONFIG_MAGIC)
        return nccl_error(c, ncclInvalidArgument, "ncclConfig_t argument not initialized via NCCL_CONFIG_INITIALIZER");
    if (CONFIG_HAS(config, blocking) && config->blocking == 0)
        c->blocking = false;
    if (CONFIG_HAS(config, commName) && config->commName)
        snprintf(c->name, sizeof(c->name), "%s", config->commName);
    return ncclSuccess;
}

ncclResult_t init_start(ncclComm_t *ret, struct ncclComm *parent, const ncclConfig_t *config, const char *api,
                        struct init_job job)
{
    if (!ret)
        return nccl_error(NULL, ncclInvalidArgument, "%s : comm argument is NULL", api);
    if (sim_init())
        return nccl_error(NULL, ncclUnhandledCudaError, "Cuda failure 'no CUDA-capable device is detected'");
    struct ncclComm *c = comm_new();
    struct init_job *own = malloc(sizeof(*own));
    if (!c || !own)
        return ncclSystemError;
    *ret = NULL;
    c->device = parent ? parent->device : sim_current();
    c->blocking = !parent || parent->blocking;
    c->rank = job.key;
    c->nranks = job.grow_ranks;
    c->api = api;
    ncclResult_t error = configure(c, config);
    if (error) {
        comm_unref(c);
        free(own);
        return error;
    }
    *own = job;
    own->comm = c;
    own->parent = parent;
    own->ret = ret;
    own->next = NULL;
    return init_run(own);
}

static ncclResult_t by_id(ncclComm_t *ret, int nranks, const ncclUniqueId *id, int rank, const ncclConfig_t *config,
                          const char *api)
{
    if (nranks < 1 || rank < 0 || rank >= nranks)
        return nccl_error(NULL, ncclInvalidArgument, "Invalid rank requested : %d/%d", rank, nranks);
    return init_start(
        ret, NULL, config, api,
        (struct init_job){.run = init_by_id, .id = *id, .has_id = true, .key = rank, .grow_ranks = nranks});
}

NCCL(ncclResult_t, GetUniqueId, (ncclUniqueId * id))
{
    return id ? bootstrap_id(id) : ncclInvalidArgument;
}

NCCL(ncclResult_t, CommInitRank, (ncclComm_t * comm, int nranks, ncclUniqueId id, int rank))
{
    return by_id(comm, nranks, &id, rank, NULL, "ncclCommInitRank");
}

NCCL(ncclResult_t, CommInitRankConfig, (ncclComm_t * comm, int nranks, ncclUniqueId id, int rank, ncclConfig_t *config))
{
    return by_id(comm, nranks, &id, rank, config, "ncclCommInitRankConfig");
}

/* With several ids the real one has several roots; the first is enough here. */
NCCL(ncclResult_t, CommInitRankScalable,
     (ncclComm_t * comm, int nranks, int rank, int nr_ids, ncclUniqueId *ids, ncclConfig_t *config))
{
    if (nr_ids < 1 || !ids)
        return nccl_error(NULL, ncclInvalidArgument, "ncclCommInitRankScalable : %d ids", nr_ids);
    return by_id(comm, nranks, &ids[0], rank, config, "ncclCommInitRankScalable");
}

NCCL(ncclResult_t, CommInitAll, (ncclComm_t * comms, int nr_devices, const int *devices))
{
    ncclUniqueId id;
    int current = sim_current();
    if (!comms || nr_devices < 1 || bootstrap_id(&id))
        return ncclInvalidArgument;
    group_start();
    for (int i = 0; i < nr_devices; i++) {
        sim_set_current(devices ? devices[i] : i);
        by_id(&comms[i], nr_devices, &id, i, NULL, "ncclCommInitAll");
    }
    sim_set_current(current);
    return group_end();
}
