/* ctf_reader.h - what runs in a reader process: decodes its lanes into their rings, side by side. */
#ifndef TRSHIM_ANALYSIS_CTF_READER_H
#define TRSHIM_ANALYSIS_CTF_READER_H

#include "analysis/input/ctf_lane.h"

/* Decodes the lanes, whose rings all belong to `group`, until all have ended; lanes are advanced evenly, so that
 * whoever merges them is not kept waiting for one. Drops events of other channels than those in the mask. What cannot
 * be read ends its lane, or skips its part, with a problem in its outbox. */
void ctf_reader_run(struct ctf_lane *const *lanes, size_t nr_lanes, struct ring_group *group, unsigned channels);

#endif
