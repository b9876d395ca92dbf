/* memory_sites.h - which call sites hold a device's memory: kept by pass_memory.c as segments come and go. */
#ifndef TRSHIM_ANALYSIS_PASS_MEMORY_SITES_H
#define TRSHIM_ANALYSIS_PASS_MEMORY_SITES_H

#include "analysis/model/callsites.h"
#include "analysis/model/memory.h"
#include "analysis/report/report.h"

/* A segment of `bytes` was taken from there, or given back. site NULL: not known, ignored. 0 or -ENOMEM. */
int memory_sites_take(struct memory *memory, const struct callsite *site, uint64_t bytes);
void memory_sites_give(struct memory *memory, const struct callsite *site, uint64_t bytes);

/* Most memory so far is taken now. */
void memory_sites_peak(struct memory *memory);

/* What was live then, largest first, at most REPORT_SITES_MAX. The caller frees *ret. 0 or -ENOMEM. */
int memory_sites_tell(const struct memory *memory, struct report_site **ret, size_t *ret_nr);
void memory_sites_free(struct report_site *sites, size_t nr);

#endif
