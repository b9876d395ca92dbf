/* own_cost.h - what the recorder cost inside the job, as its `self` events say. */
#ifndef TRSHIM_ANALYSIS_OWN_COST_H
#define TRSHIM_ANALYSIS_OWN_COST_H

#include <stdint.h>

struct own_cost {
    uint64_t cpu_ns; /* of the recorder's own thread in each process */
    uint64_t events, calls;
    unsigned processes;
};

/* Reads the trace's small channel. Returns 0 or -errno. */
int own_cost_read(const char *dir, struct own_cost *ret);

#endif
