/* emit.h - a report as bytes. Emitters read a finished report (report_finish()) and do no arithmetic but what units
 * need; all of them return 0, or -errno when the output failed. */
#ifndef TRSHIM_ANALYSIS_EMIT_H
#define TRSHIM_ANALYSIS_EMIT_H

#include <stdio.h>

#include "analysis/report/report.h"

struct screen;

/* Schema trshim-report/1: all keys are always there. */
int emit_json(struct report *report, FILE *out);

/* For people. `screen` (screen.h) says how wide it is and what it can show. */
int emit_text(struct report *report, const struct screen *screen, FILE *out);

/* The short form: verdict, why, next. */
int emit_card(struct report *report, const struct screen *screen, FILE *out);

#endif
