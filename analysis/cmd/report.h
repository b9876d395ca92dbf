/* report.h - what other commands want of `trshim report`. */
#ifndef TRSHIM_ANALYSIS_CMD_REPORT_H
#define TRSHIM_ANALYSIS_CMD_REPORT_H

#include <stdio.h>

/* Prints verdict, why and next of the trace at `dir`, in the user's language. When it cannot be read it prints one line
 * that says why, and returns -errno. */
int report_print_card(const char *dir, FILE *out);

#endif
