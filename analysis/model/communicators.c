/* communicators.c - see communicators.h. */
#include "analysis/model/communicators.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/model/job.h"

void communicators_done(struct communicators *all)
{
    for (struct communicator *comm = all->first, *next; comm; comm = next) {
        next = comm->next;
        free(comm->members);
        free(comm);
    }
    for (struct comm_handle *handle = all->handles, *next; handle; handle = next) {
        next = handle->next;
        free(handle->name);
        free(handle);
    }
    map_done(&all->by_nr);
    map_done(&all->by_address);
    map_done(&all->by_id);
    *all = (struct communicators){0};
}

/* ---- handles ------------------------------------------------------------------------------ */

static struct map_key handle_key(const struct process *process, uint64_t value)
{
    return (struct map_key){(uintptr_t)process, value};
}

struct comm_handle *communicators_find(const struct communicators *all, const struct process *process, uint32_t nr)
{
    return nr ? map_find(&all->by_nr, handle_key(process, nr)) : NULL;
}

/* Whether both can be the same communicator: nothing that both know differs. */
static bool agrees(const struct comm_handle *handle, const struct tr_nccl_comm *told)
{
    return (!handle->id || !told->id || handle->id == told->id) &&
           (handle->rank < 0 || told->rank < 0 || handle->rank == told->rank) &&
           (handle->nranks < 0 || told->nranks < 0 || handle->nranks == told->nranks) &&
           (!handle->nr || !told->nr || handle->nr == told->nr);
}

/* An address is used again after a communicator is gone: the last one that had it is meant, if it agrees. */
static struct comm_handle *known_handle(const struct communicators *all, const struct process *process,
                                        const struct tr_nccl_comm *told)
{
    struct comm_handle *handle = communicators_find(all, process, told->nr);
    if (!handle && told->comm)
        handle = map_find(&all->by_address, handle_key(process, told->comm));
    return handle && agrees(handle, told) ? handle : NULL;
}

static struct comm_handle *add_handle(struct communicators *all, struct process *process)
{
    struct comm_handle *handle = calloc(1, sizeof(*handle));
    if (!handle)
        return NULL;
    *handle = (struct comm_handle){.process = process, .rank = -1, .nranks = -1, .device = -1};
    if (all->last_handle)
        all->last_handle->next = handle;
    else
        all->handles = handle;
    return all->last_handle = handle;
}

int communicators_learn(struct communicators *all, struct process *process, const struct tr_nccl_comm *told)
{
    if (told->nranks > COMMUNICATOR_RANKS_MAX || told->rank >= COMMUNICATOR_RANKS_MAX ||
        (told->nranks >= 0 && told->rank >= told->nranks))
        return 0; /* damaged */
    struct comm_handle *handle = known_handle(all, process, told);
    if (!handle && told->state == TR_nccl_state_gone)
        return 0;
    if (!handle && !(handle = add_handle(all, process)))
        return -ENOMEM;
    handle->id = told->id ? told->id : handle->id;
    handle->rank = told->rank >= 0 ? told->rank : handle->rank;
    handle->nranks = told->nranks > 0 ? told->nranks : handle->nranks;
    handle->device = told->device >= 0 ? told->device : handle->device;
    handle->nodes = told->nodes ? told->nodes : handle->nodes;
    if (*told->name && !handle->name && !(handle->name = strdup(told->name)))
        return -ENOMEM;
    if (told->nr && !handle->nr) {
        handle->nr = told->nr;
        if (map_put(&all->by_nr, handle_key(process, told->nr), handle))
            return -ENOMEM;
    }
    if (told->comm && handle->address != told->comm) {
        handle->address = told->comm;
        return map_put(&all->by_address, handle_key(process, told->comm), handle);
    }
    return 0;
}

/* ---- joining ------------------------------------------------------------------------------ */

static struct communicator *add_communicator(struct communicators *all, const struct comm_handle *handle)
{
    struct communicator *comm = calloc(1, sizeof(*comm));
    struct comm_handle **members = calloc((size_t)handle->nranks, sizeof(struct comm_handle *));
    if (!comm || !members) {
        free(comm);
        free(members);
        return NULL;
    }
    *comm = (struct communicator){.index = all->nr++, .id = handle->id, .nranks = handle->nranks, .members = members};
    if (all->last)
        all->last->next = comm;
    else
        all->first = comm;
    return all->last = comm;
}

static struct communicator *by_id(struct communicators *all, const struct comm_handle *handle)
{
    struct map_key key = {handle->id, (uint64_t)handle->nranks};
    struct communicator *comm = map_find(&all->by_id, key);
    if (comm)
        return comm;
    comm = add_communicator(all, handle);
    return comm && map_put(&all->by_id, key, comm) ? NULL : comm;
}

/* How many communicators without an id and of this size the process had made before. */
static uint32_t order_of(const struct communicators *all, const struct comm_handle *handle)
{
    uint32_t order = 0;
    for (const struct comm_handle *other = all->handles; other != handle; other = other->next)
        order += other->process == handle->process && !other->id && other->nranks == handle->nranks;
    return order;
}

static struct communicator *by_order(struct communicators *all, const struct comm_handle *handle)
{
    uint32_t order = order_of(all, handle);
    for (struct communicator *comm = all->first; comm; comm = comm->next)
        if (!comm->id && comm->nranks == handle->nranks && comm->order == order && !comm->members[handle->rank])
            return comm;
    struct communicator *comm = add_communicator(all, handle);
    if (comm)
        comm->order = order;
    return comm;
}

/* A profiler plugin of NCCL before 2.27 is told id and rank, not how many ranks there are: as many as somebody else
 * says, or as called. */
static int learn_sizes(struct communicators *all)
{
    struct map largest = {0};
    int rc = 0;
    for (int pass = 0; pass < 2 && !rc; pass++)
        for (struct comm_handle *handle = all->handles; handle && !rc; handle = handle->next) {
            if (!handle->id || handle->rank < 0)
                continue;
            struct map_key key = {handle->id, 0};
            struct comm_handle *other = map_find(&largest, key);
            int32_t size = handle->nranks > 0 ? handle->nranks : handle->rank + 1;
            int32_t known = !other ? 0 : other->nranks > 0 ? other->nranks : other->rank + 1;
            if (pass == 0 && size > known)
                rc = map_put(&largest, key, handle);
            else if (pass == 1 && handle->nranks < 1)
                handle->nranks = known;
        }
    map_done(&largest);
    return rc;
}

int communicators_settle(struct communicators *all)
{
    int rc = learn_sizes(all);
    if (rc)
        return rc;
    for (struct comm_handle *handle = all->handles; handle; handle = handle->next) {
        if (handle->comm || handle->rank < 0 || handle->nranks < 1)
            continue; /* never said enough */
        struct communicator *comm = handle->id ? by_id(all, handle) : by_order(all, handle);
        if (!comm)
            return -ENOMEM;
        handle->comm = comm;
        comm->name = comm->name ? comm->name : handle->name;
        comm->nodes = comm->nodes ? comm->nodes : handle->nodes;
        /* A log and a trace of one process may be two handles: the one that calls refer to stands. */
        struct comm_handle **member = &comm->members[handle->rank];
        comm->nr_members += !*member;
        comm->nr_recorded += handle->nr && (!*member || !(*member)->nr);
        if (!*member || !(*member)->nr)
            *member = handle;
    }
    return 0;
}

void communicator_name(const struct communicator *comm, char *text, size_t size)
{
    if (comm->id)
        snprintf(text, size, "0x%" PRIx64, comm->id);
    else
        snprintf(text, size, "%d ranks", comm->nranks);
}

const char *nccl_host_name(const struct process *process)
{
    const char *id = process_attr(process, "env.NCCL_HOSTID");
    return id && *id ? id : process->host_name;
}

struct map_key nccl_host(const struct process *process)
{
    const char *id = process_attr(process, "env.NCCL_HOSTID");
    return id && *id ? map_hash(id, 1) : (struct map_key){process->host, 0};
}
