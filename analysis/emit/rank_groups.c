/* rank_groups.c - see rank_groups.h. */
#include "analysis/emit/rank_groups.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TOLERANCE 0.03 /* ranks of a healthy job differ by as much */

static bool alike(const struct report_breakdown *a, const struct report_breakdown *b, double tolerance)
{
    if ((a->rank < 0) != (b->rank < 0))
        return false;
    for (int c = 0; c < BC_MAX; c++)
        if (fabs(report_share(a, a->class_ns[c]) - report_share(b, b->class_ns[c])) > tolerance)
            return false;
    return true;
}

static int64_t add_known(int64_t sum, int64_t value)
{
    return sum == TR_UNKNOWN || value == TR_UNKNOWN ? TR_UNKNOWN : sum + value;
}

static void add(struct report_breakdown *sum, const struct report_breakdown *row)
{
    sum->steps += row->steps;
    sum->window_ns += row->window_ns;
    for (int c = 0; c < BC_MAX; c++)
        sum->class_ns[c] += row->class_ns[c];
    sum->comm_wait_ns = add_known(sum->comm_wait_ns, row->comm_wait_ns);
    sum->comm_transfer_ns = add_known(sum->comm_transfer_ns, row->comm_transfer_ns);
}

/* Returns 1 if there are too many groups at this tolerance. */
static int try(struct rank_groups *groups, const struct report_breakdown *rows, size_t nr, double tolerance)
{
    for (size_t i = 0; i < nr; i++) {
        size_t g = 0;
        while (g < groups->nr && !alike(&groups->group[g].first, &rows[i], tolerance))
            g++;
        if (g == RANK_GROUPS_MAX)
            return 1;
        struct rank_group *group = &groups->group[g];
        if (g == groups->nr) {
            *group = (struct rank_group){.first = rows[i], .sum = rows[i]};
            group->ranks = malloc(nr * sizeof *group->ranks);
            if (!group->ranks)
                return -ENOMEM;
            groups->nr++;
        } else {
            add(&group->sum, &rows[i]);
        }
        group->ranks[group->nr_ranks++] = rows[i].rank;
    }
    return 0;
}

int rank_groups_init(struct rank_groups *groups, const struct report_breakdown *rows, size_t nr)
{
    memset(groups, 0, sizeof *groups);
    for (double tolerance = TOLERANCE;; tolerance *= 2) {
        int rc = try(groups, rows, nr, tolerance);
        if (rc != 1)
            return rc;
        rank_groups_done(groups);
    }
}

void rank_groups_done(struct rank_groups *groups)
{
    for (size_t i = 0; i < groups->nr; i++)
        free(groups->group[i].ranks);
    memset(groups, 0, sizeof *groups);
}
