/* sampler.h - one process of each host tells the state of the host: `node_sample`. */
#ifndef TRSHIM_CORE_SAMPLER_H
#define TRSHIM_CORE_SAMPLER_H

#include <stdint.h>

/* By the tender, each time it wakes: begins when this process trains and no other of the host does it already. */
void sampler_tend(uint64_t now_ns);

/* The process ends: no more calls of NVML, whose own end may come any moment. Waits at most 0.1 s for one under way. */
void sampler_stop(void);

/* In a forked child: nothing is sampled there, ever. */
void sampler_after_fork(void);

#endif
