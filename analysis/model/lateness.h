/* lateness.h - which rank the others waited for, step by step, and what it did meanwhile that they did not.
 *
 * Ranks that work in step all end a step together: who is late is who waited least in it. So a rank's own time in a
 * step is the step less what it waited in collectives, and lateness is by how much the largest own time exceeds the
 * median one. Lengths only, so clocks of hosts do not matter. Only ranks of one team (those with the same work: of one
 * pipeline stage) are compared. A rank that waited itself is not late, whatever it made others wait. Memory: ranks, and
 * steps of which not all ranks were told yet. Pure; one thread. */
#ifndef TRSHIM_ANALYSIS_MODEL_LATENESS_H
#define TRSHIM_ANALYSIS_MODEL_LATENESS_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/report/report.h"

/* What a late rank had most of, more than its peers, in a step. */
enum late_why {
    LATE_kernels,
    LATE_host,      /* running, blocked or waiting in GPU calls while its GPU was idle */
    LATE_elsewhere, /* data, checkpoints, copies */
    LATE_MAX
};

struct late_sum {
    uint64_t steps;          /* in which it was the late one for this reason */
    double lost_ns;          /* by so much, in all of them */
    double class_ns[BC_MAX]; /* what of each class it had more than the median of its team, in these */
};

struct late_rank {
    int number; /* of the rank, as rows call it */
    int team;   /* only ranks with the same number are compared */
    struct late_sum by[LATE_MAX];
};

struct lateness {
    struct late_rank *ranks; /* owned; ascending by number */
    size_t nr_ranks;
    uint64_t steps;                    /* judged */
    double window_ns;                  /* of them, mean over ranks */
    struct late_step *pending, *spare; /* owned */
    size_t nr_pending;
};

/* `numbers` ascending, `teams` in the same order. 0 or -ENOMEM. */
int lateness_init(struct lateness *lateness, const int *numbers, const int *teams, size_t nr);
void lateness_done(struct lateness *lateness);

/* Takes a rank's row of a step that counts and whose waiting is known. 0 or -ENOMEM. */
int lateness_row(struct lateness *lateness, const struct report_step *row);

#endif
