/* comparison.h - two reports side by side: which part of a step grew, and whether that is more than noise.
 *
 * A value is the mean over the steady steps of all ranks. Its noise is how steps of one rank differ among themselves;
 * ranks of one step are taken to say the same, so more ranks do not make it surer. Times ns, shares 0..1. */
#ifndef TRSHIM_ANALYSIS_COMPARISON_H
#define TRSHIM_ANALYSIS_COMPARISON_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/report/report.h"

/* What is compared: the step as a whole, its classes, and what some of them consist of. */
enum comparison_part {
    CMP_step,
#define CLASS(name, heading) CMP_##name,
    BREAKDOWN_CLASSES(CLASS)
#undef CLASS
        CMP_comm_wait,
    CMP_comm_transfer,
    CMP_pp_bubble,
    CMP_MAX
};

struct comparison_row {
    double a_ns, b_ns;      /* of one step; NAN unknown */
    double difference_ns;   /* b - a */
    double low_ns, high_ns; /* it lies between these with 95 %; NAN with fewer than two steps on a side */
    bool changed;           /* more than noise, and than one percent of a step of A */
};

struct comparison_rank {
    int rank;
    double a_ns, b_ns;         /* a step */
    enum comparison_part most; /* the class that changed most */
    double most_ns;            /* by how much, b - a */
};

struct comparison_version {
    const char *key;   /* borrowed from the reports */
    const char *a, *b; /* owned: all values of a side, "2.1.0, 2.3.1"; "" none */
};

struct comparison {
    const struct report *a, *b; /* borrowed */
    struct comparison_row rows[CMP_MAX];
    enum comparison_part most; /* the class that explains most of the step's change; CMP_step: none does */
    struct comparison_rank
        *ranks; /* owned; those of both sides, ascending; none when the sides are of different size */
    size_t nr_ranks;
    struct comparison_version *versions; /* owned; those that differ */
    size_t nr_versions;
    double efficiency; /* when the numbers of ranks differ: time of a step of the smaller over that of the larger, as if
                        * each rank did the same work; NAN otherwise */
};

extern const char *const comparison_part_names[CMP_MAX]; /* as in JSON: "step", "compute", ... */

/* Both reports are finished and outlive it. 0 or -errno. */
int comparison_make(struct report *a, struct report *b, struct comparison *ret);
void comparison_done(struct comparison *comparison);

#endif
