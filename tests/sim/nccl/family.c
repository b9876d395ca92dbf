/* family.c - communicators made from others: split, shrunk, grown. Ranks of the old one exchange what they want in its
 * shared memory; members of the new one get memory of their own. */
#include <stdlib.h>
#include <string.h>

#include "tests/sim/nccl/inside.h"

/* ---- From another communicator ---- */
struct split_word {
    int color, key;
    bool has_id;
    ncclUniqueId id;
};

static bool excluded(const struct init_job *job, int rank)
{
    for (int i = 0; i < job->nr_excluded; i++)
        if (job->excluded[i] == rank)
            return true;
    return false;
}

static bool before(const struct split_word *words, int a, int b)
{
    return words[a].key != words[b].key ? words[a].key < words[b].key : a < b;
}

/* The members of my colour in the order of their keys: my place, and everybody's old rank. */
static int place(const struct split_word *words, const bool *members, int nr, int color, int me, int *ret_ranks)
{
    int nranks = 0, rank = -1;
    for (int i = 0; i < nr; i++) {
        if (!members[i] || words[i].color != color)
            continue;
        int at = nranks++;
        for (; at > 0 && before(words, i, ret_ranks[at - 1]); at--)
            ret_ranks[at] = ret_ranks[at - 1];
        ret_ranks[at] = i;
    }
    for (int i = 0; i < nranks; i++)
        if (ret_ranks[i] == me)
            rank = i;
    return rank < 0 ? -1 : (ret_ranks[nr] = nranks, rank);
}

static uint64_t mix(uint64_t hash, uint64_t with)
{
    hash ^= with + 0x9e3779b97f4a7c15ull + (hash << 6) + (hash >> 2);
    return hash * 0xff51afd7ed558ccdull;
}

static ncclResult_t split_off(struct init_job *job, const struct split_word *words, const bool *members, int *ranks)
{
    struct ncclComm *c = job->comm, *p = job->parent;
    c->rank = place(words, members, p->nranks, job->color, p->rank, ranks);
    c->nranks = ranks[p->nranks];
    c->hash = mix(mix(p->hash, ++p->children), (uint64_t)(unsigned)job->color);
    ncclResult_t error = init_begin(c);
    if (error)
        return error;
    for (int i = 0; i < c->nranks; i++) {
        c->peers[i] = p->peers[ranks[i]];
        c->peers[i].rank = i;
    }
    return shared_open(&c->shared, c->hash, c->nranks) ? ncclSystemError : ncclSuccess;
}

/* Split, and shrink: which is a split without those excluded, who are not asked. */
static ncclResult_t run_split(struct init_job *job)
{
    struct ncclComm *c = job->comm, *p = job->parent;
    size_t n = (size_t)p->nranks;
    struct split_word mine = {.color = job->color, .key = job->key}, *words = calloc(n, sizeof(*words));
    bool *members = calloc(n, sizeof(*members));
    int *ranks = calloc(n + 1, sizeof(*ranks));
    if (!words || !members || !ranks)
        abort();
    for (int i = 0; i < p->nranks; i++)
        members[i] = !excluded(job, i);
    ncclResult_t error = comm_exchange(p, &mine, sizeof(mine), words, members);
    bool in = job->color >= 0;
    if (!error && in)
        error = split_off(job, words, members, ranks);
    else if (!error)
        p->children++;
    int failed = error, *all = calloc(n, sizeof(*all));
    if (!error || in) /* nobody goes on before all have mapped the new memory */
        comm_exchange(p, &failed, sizeof(failed), all, members);
    if (in)
        shared_unlink(c->hash);
    free(all);
    free(words);
    free(members);
    free(ranks);
    return error || !in ? error : init_finish(c);
}

/* Growing: those who are in learn the id from the one who has it; then all meet by it, old ranks first. */
static ncclResult_t run_grow(struct init_job *job)
{
    struct ncclComm *p = job->parent;
    if (p) {
        struct split_word mine = {.has_id = job->has_id, .id = job->id},
                          *words = calloc((size_t)p->nranks, sizeof(mine));
        if (!words)
            abort();
        ncclResult_t error = comm_exchange(p, &mine, sizeof(mine), words, NULL);
        for (int i = 0; i < p->nranks && !error; i++)
            if (words[i].has_id) {
                job->id = words[i].id;
                job->has_id = true;
            }
        free(words);
        if (error)
            return error;
    }
    if (!job->has_id)
        return nccl_error(p, ncclInvalidUsage, "ncclCommGrow: no rank has a unique id");
    return init_by_id(job);
}

/* ---- The public ways in ---- */
NCCL(ncclResult_t, CommSplit, (ncclComm_t comm, int color, int key, ncclComm_t *ret, ncclConfig_t *config))
{
    ncclResult_t error = comm_check(comm);
    if (error)
        return error;
    return init_start(ret, comm, config, "ncclCommSplit",
                      (struct init_job){.run = run_split, .color = color, .key = key});
}

NCCL(ncclResult_t, CommShrink, (ncclComm_t comm, int *list, int nr, ncclComm_t *ret, ncclConfig_t *config, int flags))
{
    ncclResult_t error = comm_check(comm);
    if (error && !(flags & NCCL_SHRINK_ABORT))
        return error;
    if (nr < 1 || !list || nr >= comm->nranks)
        return nccl_error(comm, ncclInvalidArgument, "ncclCommShrink : %d ranks excluded", nr);
    struct init_job job = {.run = run_split, .nr_excluded = nr, .flags = flags};
    job.excluded = malloc((size_t)nr * sizeof(int));
    if (!job.excluded)
        return ncclSystemError;
    memcpy(job.excluded, list, (size_t)nr * sizeof(int));
    if (excluded(&job, comm->rank)) {
        free(job.excluded);
        return nccl_error(comm, ncclInvalidArgument, "ncclCommShrink : rank %d is among those excluded", comm->rank);
    }
    if (flags & NCCL_SHRINK_ABORT)
        launch_forget(comm);
    job.key = comm->rank;
    return init_start(ret, comm, config, "ncclCommShrink", job);
}

NCCL(ncclResult_t, CommGetUniqueId, (ncclComm_t comm, ncclUniqueId *id))
{
    ncclResult_t error = comm_check(comm);
    return error ? error : id ? bootstrap_id(id) : ncclInvalidArgument;
}

NCCL(ncclResult_t, CommGrow,
     (ncclComm_t comm, int nranks, const ncclUniqueId *id, int rank, ncclComm_t *ret, ncclConfig_t *config))
{
    struct init_job job = {.run = run_grow, .grow_ranks = nranks, .key = comm ? comm->rank : rank};
    ncclResult_t error = comm ? comm_check(comm) : id ? ncclSuccess : ncclInvalidArgument;
    if (error || (comm && nranks <= comm->nranks))
        return nccl_error(comm, error ? error : ncclInvalidArgument, "ncclCommGrow : to %d ranks", nranks);
    if (id) {
        job.id = *id;
        job.has_id = true;
    }
    return init_start(ret, comm, config, "ncclCommGrow", job);
}
