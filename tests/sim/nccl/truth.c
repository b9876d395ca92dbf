/* truth.c - the kernels of communicators with their realised times, kept from sim_nccl_truth_start() on. */
#include "tests/sim/nccl/truth.h"

#include <stdlib.h>

#include "tests/sim/nccl/inside.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct sim_nccl_truth *kept;
static size_t nr_kept, max_kept;
static bool keeping;

void sim_nccl_truth_start(void)
{
    pthread_mutex_lock(&lock);
    keeping = true;
    pthread_mutex_unlock(&lock);
}

size_t sim_nccl_truth_take(struct sim_nccl_truth **ret)
{
    pthread_mutex_lock(&lock);
    size_t nr = nr_kept;
    *ret = kept;
    kept = NULL;
    nr_kept = max_kept = 0;
    pthread_mutex_unlock(&lock);
    return nr;
}

static struct sim_nccl_truth row_of(const struct launch *l, const struct sim_op *op, uint64_t ready, uint64_t end)
{
    const struct work *first = &l->works[0];
    struct sim_nccl_truth row = {.comm = l->comm->hash,
                                 .op = nccl_func_name[first->func],
                                 .name = op->name,
                                 .rank = l->comm->rank,
                                 .nranks = l->comm->nranks,
                                 .root_or_peer = first->root,
                                 .nr_calls = l->nr_works,
                                 .launch = l->number,
                                 .ordinal = first->ordinal,
                                 .bytes = l->bytes,
                                 .start_ns = op->start,
                                 .all_ready_ns = ready,
                                 .end_ns = end,
                                 .device = op->device,
                                 .stream_id = op->stream_id,
                                 .correlation = op->correlation,
                                 .tag = op->tag};
    for (unsigned i = 0; i < l->nr_works; i++) {
        row.nr_sends += l->works[i].func == FUNC_Send;
        row.nr_receives += l->works[i].func == FUNC_Recv;
    }
    return row;
}

void truth_add(const struct launch *l, const struct sim_op *op, uint64_t ready, uint64_t end)
{
    pthread_mutex_lock(&lock);
    if (keeping && nr_kept == max_kept) {
        size_t max = max_kept ? 2 * max_kept : 1024;
        struct sim_nccl_truth *larger = realloc(kept, max * sizeof(*kept));
        if (!larger)
            abort(); /* a truth with holes would be no truth */
        kept = larger;
        max_kept = max;
    }
    if (keeping)
        kept[nr_kept++] = row_of(l, op, ready, end);
    pthread_mutex_unlock(&lock);
}
