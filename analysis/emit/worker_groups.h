/* worker_groups.h - DataLoader workers as rows: each its own while they are few, all of a rank together when they are
 * many (workers that are made anew in every epoch soon are). */
#ifndef TRSHIM_ANALYSIS_WORKER_GROUPS_H
#define TRSHIM_ANALYSIS_WORKER_GROUPS_H

#include "analysis/report/report.h"

struct worker_group {
    uint64_t workers;
    struct report_worker sum; /* pid: of the first */
};

struct worker_groups {
    struct worker_group *group; /* owned */
    size_t nr;
};

/* At most `few` workers keep a row each. 0 or -ENOMEM; call worker_groups_done() either way. */
int worker_groups_init(struct worker_groups *groups, const struct report_worker *rows, size_t nr, size_t few);
void worker_groups_done(struct worker_groups *groups);

#endif
