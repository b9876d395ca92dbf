/* report.h - what other commands want of `trshim report`. */
#ifndef TRSHIM_ANALYSIS_CMD_REPORT_H
#define TRSHIM_ANALYSIS_CMD_REPORT_H

#include <stddef.h>
#include <stdio.h>

#include "analysis/report/lang.h"

struct options;
struct report;

/* Opens what is at the paths, as one run, and has it analyzed. 0 with *ret_report, or -errno with *ret_error (owned by
 * the caller; NULL when memory ran out). */
int report_make(char *const *paths, size_t nr_paths, const struct options *options, enum lang lang,
                struct report **ret_report, char **ret_error);

/* Prints verdict, why and next of the trace at `dir`, in the user's language. When it cannot be read it prints one line
 * that says why, and returns -errno. */
int report_print_card(const char *dir, FILE *out);

#endif
