/* log.c - every operation since sim_log_start(), referenced: what really happened, told by nobody but the engine. */
#include <stdlib.h>

#include "tests/sim/engine/inside.h"

static struct sim_op **kept;
static size_t nr_kept, max_kept;
static bool logging;

void sim_log_start(void)
{
    sim_lock_engine();
    logging = true;
    sim_unlock_engine();
}

struct sim_op *sim_log_add(struct sim_op *op)
{
    if (!logging || op->kind == SIM_OP_MARK)
        return op;
    if (nr_kept == max_kept) {
        size_t max = max_kept ? 2 * max_kept : 4096;
        struct sim_op **larger = realloc(kept, max * sizeof(*kept));
        if (!larger)
            abort(); /* a truth with holes would be no truth */
        kept = larger;
        max_kept = max;
    }
    kept[nr_kept++] = sim_op_ref(op);
    return op;
}

size_t sim_log_take(struct sim_op ***ret)
{
    sim_lock_engine();
    for (size_t i = 0; i < nr_kept; i++)
        while (kept[i]->end == SIM_UNKNOWN)
            pthread_cond_wait(&sim_changed, &sim_lock);
    size_t nr = nr_kept;
    *ret = kept;
    kept = NULL;
    nr_kept = max_kept = 0;
    sim_unlock_engine();
    return nr;
}
