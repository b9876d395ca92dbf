/* private.h - what report.c and finding.c keep beside the public report. */
#ifndef TRSHIM_ANALYSIS_REPORT_PRIVATE_H
#define TRSHIM_ANALYSIS_REPORT_PRIVATE_H

#include "analysis/model/arena.h"
#include "analysis/report/finding.h"
#include "analysis/report/steps.h"

struct report_private {
    struct arena arena;
    struct steps steps;
    struct finding *findings; /* list, newest first; arena */
    int error;                /* first -errno of a call that cannot return one */
};

/* Makes room for one more element behind `nr`. 0 or -ENOMEM. */
int report_grow(void *array_ptr, size_t nr, size_t element_size);

/* Fills report->findings from the raised ones: sentences, order. */
int findings_render(struct report *report);

/* Frees what findings hold outside the arena until they are rendered. */
void findings_done(struct report *report);

/* Keeps the first error. */
void report_fail(struct report *report, int error);

#endif
