/* sections.h - the parts of the text report, one file for each family. All print to `out`, take a finished report, and
 * return 0 or -errno. */
#ifndef TRSHIM_ANALYSIS_SECTIONS_H
#define TRSHIM_ANALYSIS_SECTIONS_H

#include <stdio.h>

#include "analysis/emit/screen.h"
#include "analysis/report/report.h"

struct page {
    struct report *report;
    const struct screen *screen;
    FILE *out;
};

int section_head(const struct page *page);      /* section_head.c: what was recorded */
int section_verdict(const struct page *page);   /* section_verdict.c: VERDICT, WHY, NEXT */
int section_breakdown(const struct page *page); /* section_breakdown.c: step time, ranks */
int section_workers(const struct page *page);   /* section_tables.c */
int section_io(const struct page *page);
int section_gpus(const struct page *page); /* section_gpu.c */
int section_kernels(const struct page *page);
int section_copies(const struct page *page);
int section_memory(const struct page *page);
int section_sites(const struct page *page); /* section_sites.c */
int section_collectives(const struct page *page);
int section_transports(const struct page *page);
int section_checkpoints(const struct page *page);
int section_findings(const struct page *page); /* section_findings.c */
int section_quality(const struct page *page);  /* section_quality.c: notes, what was lost or not readable */

/* Whether the run was cut into steps. */
bool has_steps(const struct report *report);

/* The index of the finding that the verdict tells of, or -1: the first of high or medium severity. */
int verdict_finding(const struct report *report);

/* A finding's culprits: "0-6,9"; "all" if they are all of the ranks, or none are named. */
void format_culprits(const struct page *page, const struct report_finding *finding, char *text, size_t size);

#endif
