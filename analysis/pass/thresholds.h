/* thresholds.h - thresholds.def as constants TH_<name>. */
#ifndef TRSHIM_ANALYSIS_THRESHOLDS_H
#define TRSHIM_ANALYSIS_THRESHOLDS_H

/* An enum cannot hold doubles, and a static const cannot be a case label; nobody needs the latter. __typeof__ keeps
 * whole numbers whole: 64 bits for those, double for the rest. */
#define TH(name, value, help) __attribute__((unused)) static const __typeof__(value) TH_##name = value;
#include "analysis/pass/thresholds.def"
#undef TH

#endif
