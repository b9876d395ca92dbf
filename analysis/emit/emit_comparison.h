/* emit_comparison.h - a comparison as bytes. Both return 0, or -errno when the output failed. */
#ifndef TRSHIM_ANALYSIS_EMIT_COMPARISON_H
#define TRSHIM_ANALYSIS_EMIT_COMPARISON_H

#include <stdio.h>

#include "analysis/report/comparison.h"

struct screen;

int emit_comparison_text(const struct comparison *comparison, const struct screen *screen, FILE *out);
int emit_comparison_json(const struct comparison *comparison, FILE *out);

#endif
