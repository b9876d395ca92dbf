/* steps.h - the step rows of a report: kept in memory while few, in a temporary file once many; and what they sum up
 * to, kept as they come so that nobody has to read them twice. */
#ifndef TRSHIM_ANALYSIS_STEPS_H
#define TRSHIM_ANALYSIS_STEPS_H

#include <stdio.h>

#include "analysis/report/report.h"

#define STEPS_HISTOGRAM 6144 /* log-linear: 128 slots per doubling, from 1 ns to 2^48 ns (3 days) */

/* Window sums of one rank, twice: of the windows that count, and of all. */
struct steps_rank {
    int rank;
    struct report_breakdown steady, all;
};

struct steps {
    struct report_step *rows; /* owned; those not in the file yet */
    size_t nr_rows;
    FILE *spool; /* owned; NULL while all rows are in memory */
    uint64_t nr_spooled;
    struct steps_rank *ranks; /* owned; ascending by rank */
    size_t nr_ranks;
    uint64_t *seen, *warm; /* owned; bit sets over step numbers */
    size_t nr_words;
    struct steps_lengths {
        uint64_t slots[STEPS_HISTOGRAM];
        uint64_t min_ns, max_ns; /* of the windows in it */
    } steady_lengths, all_lengths;
    struct report_breakdown steady_mean, all_mean;
};

void steps_done(struct steps *steps);
int steps_add(struct report *report, const struct report_step *row);
int steps_each(struct steps *steps, report_step_fn fn, void *arg);

#endif
