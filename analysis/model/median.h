/* median.h - the middle of several values. Pure. */
#ifndef TRSHIM_ANALYSIS_MODEL_MEDIAN_H
#define TRSHIM_ANALYSIS_MODEL_MEDIAN_H

#include <stddef.h>

/* Sorts `values`, at least one. Of an even number it is the lower of the two in the middle: of two ranks the faster one
 * is what the other could be. */
double median_lower(double *values, size_t nr);

#endif
