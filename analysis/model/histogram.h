/* histogram.h - percentiles of many values in little memory: counts in log-linear slots, 16 per doubling (error < 4 %).
 */
#ifndef TRSHIM_ANALYSIS_HISTOGRAM_H
#define TRSHIM_ANALYSIS_HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_SLOTS 768 /* values up to 2^51: a month in ns */

struct histogram {
    uint64_t count;
    uint32_t slots[HISTOGRAM_SLOTS]; /* saturating */
};

void histogram_add(struct histogram *histogram, uint64_t value, uint32_t times);

/* The value below which the share p (0..1) of the values lies; NAN when there are none. */
double histogram_percentile(const struct histogram *histogram, double p);

#endif
