/* rank_groups.h - ranks whose breakdowns are alike, put together, so that a thousand ranks fit on a screen. */
#ifndef TRSHIM_ANALYSIS_RANK_GROUPS_H
#define TRSHIM_ANALYSIS_RANK_GROUPS_H

#include "analysis/report/report.h"

#define RANK_GROUPS_MAX 12

struct rank_group {
    int *ranks; /* owned, ascending */
    size_t nr_ranks;
    struct report_breakdown first, sum; /* of its first rank; of all */
};

struct rank_groups {
    struct rank_group group[RANK_GROUPS_MAX];
    size_t nr;
};

/* Two ranks are alike when no share differs by more than three percentage points; by more (6, 12, ...) when there would
 * be more groups than fit. rows are ascending by rank. 0 or -ENOMEM; call rank_groups_done() either way. */
int rank_groups_init(struct rank_groups *groups, const struct report_breakdown *rows, size_t nr);
void rank_groups_done(struct rank_groups *groups);

#endif
