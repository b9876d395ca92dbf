/* worker_groups.c - see worker_groups.h. */
#include "analysis/emit/worker_groups.h"

#include <errno.h>
#include <stdlib.h>

static void add(struct worker_group *group, const struct report_worker *row)
{
    struct report_worker *sum = &group->sum;

    group->workers++;
    sum->reading_ns += row->reading_ns;
    sum->cpu_ns += row->cpu_ns;
    sum->runnable_ns += row->runnable_ns;
    sum->blocked_ns += row->blocked_ns;
    sum->waiting_ns += row->waiting_ns;
    sum->span_ns += row->span_ns;
    sum->batches += row->batches;
    sum->bytes_read += row->bytes_read;
}

int worker_groups_init(struct worker_groups *groups, const struct report_worker *rows, size_t nr, size_t few)
{
    *groups = (struct worker_groups){.group = calloc(nr ? nr : 1, sizeof *groups->group)};
    if (!groups->group)
        return -ENOMEM;
    for (size_t i = 0; i < nr; i++) {
        size_t g = nr > few ? 0 : groups->nr;
        while (g < groups->nr && groups->group[g].sum.rank != rows[i].rank)
            g++;
        if (g < groups->nr)
            add(&groups->group[g], &rows[i]);
        else
            groups->group[groups->nr++] = (struct worker_group){.workers = 1, .sum = rows[i]};
    }
    return 0;
}

void worker_groups_done(struct worker_groups *groups)
{
    free(groups->group);
    *groups = (struct worker_groups){0};
}
