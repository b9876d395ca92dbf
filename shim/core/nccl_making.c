/* nccl_making.c - communicators are made and destroyed by calls that the preload sees.
 *
 * A call announces what it will make before it begins, so that one that hangs is in the trace and a profiler plugin
 * that is told inside it finds who it belongs to. In a group NCCL writes the communicators at the group's end. */
#include <stdio.h>

#include "shim/core/attributes.h"
#include "shim/core/calls.h"
#include "shim/core/nccl.h"
#include "shim/core/nccl_code.h"

static void begin(struct thread *t, struct nccl_thread *n, const struct shim_nccl_making *seen, int32_t i, uint64_t now)
{
    bool all = seen->how == TR_comm_how_all;
    if (n->nr_making == NCCL_MAX_MAKING) {
        nccl_lost(1);
        return;
    }
    struct nccl_comm *comm = nccl_comm_new(TR_nccl_source_hook, now);
    if (!comm)
        return;
    comm->rank = all ? i : seen->rank;
    comm->nranks = seen->nranks;
    comm->device = all ? (seen->devices ? seen->devices[i] : i) : t->cuda_device;
    comm->how = (uint8_t)seen->how;
    comm->parent = (uintptr_t)seen->parent;
    snprintf(comm->name, sizeof(comm->name), "%s", seen->name ? seen->name : "");
    nccl_comm_set(comm, COMM_BEGUN);
    nccl_comm_send(comm, t->tid, true);
    n->making[n->nr_making].nr = comm->nr;
    n->making[n->nr_making].where = seen->where ? seen->where + i : NULL;
    n->making[n->nr_making++].caller = seen->caller;
}

void call_nccl_making(struct shim_call *call, const struct shim_nccl_making *seen)
{
    struct thread *t = thread_of(call);
    struct nccl_thread *n = nccl_thread_of(t, true);
    if (!n) {
        nccl_lost(1);
        return;
    }
    nccl_code_look();
    n->first_making = n->nr_making;
    for (int32_t i = 0; i < (seen->how == TR_comm_how_all ? seen->nranks : 1); i++)
        begin(t, n, seen, i, call->start_ns);
}

void nccl_comm_ask(struct nccl_comm *comm, const void *address, const void *caller)
{
    struct shim_nccl_asked asked;
    if (!process.preload->nccl_ask || !process.preload->nccl_ask(address, caller, &asked))
        return;
    atomic_store(&comm->rank, asked.rank);
    atomic_store(&comm->nranks, asked.nranks);
    comm->device = asked.device;
    atomic_store(&comm->sent_epoch, 0);
    attributes_send_nccl(asked.version);
}

/* In a call that has come back, or in a group that has ended. */
static void end(struct thread *t, uint32_t nr, void **where, const void *caller, int rc)
{
    struct nccl_comm *comm = nccl_comm_of_nr(nr);
    void *made = where && nccl_went_well(rc) ? *where : NULL;
    if (!comm)
        return;
    if (!made) {
        /* It failed, or this rank has no part in it (ncclCommSplit without a colour); in progress, its first call
         * will tell. */
        if (rc != NCCL_IN_PROGRESS) {
            nccl_comm_send_gone(comm, t->tid);
            nccl_comm_free(comm);
        }
        return;
    }
    /* While it is being made it must not be asked: it would warn. */
    if (rc == NCCL_SUCCESS)
        nccl_comm_ask(comm, made, caller);
    nccl_comm_made(comm, (uintptr_t)made, t->tid);
}

static void end_from(struct thread *t, struct nccl_thread *n, uint32_t first, int rc)
{
    for (uint32_t i = first; i < n->nr_making; i++)
        end(t, n->making[i].nr, n->making[i].where, n->making[i].caller, rc);
    n->nr_making = first;
}

void call_nccl_made(struct shim_call *call, int rc)
{
    struct thread *t = call->tls->self;
    struct nccl_thread *n = t->nccl;
    if (n && (!call->tls->nccl_depth || !nccl_went_well(rc)))
        end_from(t, n, n->first_making, rc);
    nccl_thread_release(t);
}

void nccl_made_in_group(struct thread *t, struct nccl_thread *n, int rc)
{
    end_from(t, n, 0, rc);
}

/* Its address may be another's as soon as the real call has begun. */
void call_nccl_leaving(struct shim_call *call, const void *address)
{
    struct thread *t = thread_of(call);
    struct nccl_comm *comm = address ? nccl_comm_of_address(address) : NULL;
    if (!comm)
        return;
    nccl_comm_send_gone(comm, t->tid);
    nccl_comm_free(comm);
}
