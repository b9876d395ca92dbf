/* card.h - what `trshim record` says at the end: verdict, where the trace is, what was lost, what recording cost. */
#ifndef TRSHIM_ANALYSIS_CARD_H
#define TRSHIM_ANALYSIS_CARD_H

#include <stdbool.h>
#include <stdio.h>

#include "analysis/cmd/keeper.h"

/* Prints to `out`. `dir` is what the user called the directory. summary NULL: the keeper was killed and nobody knows.
 * The report's part runs in a child that is given up after a while or when a signal is pending on signal_fd. */
void card_print(FILE *out, const char *dir, const struct keeper_summary *summary, bool with_report, int signal_fd);

#endif
