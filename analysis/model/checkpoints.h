/* checkpoints.h - which of the files that were written are checkpoints, and of which rank. */
#ifndef TRSHIM_ANALYSIS_CHECKPOINTS_H
#define TRSHIM_ANALYSIS_CHECKPOINTS_H

struct job;

/* Fills the checkpoints of every rank from job->saves. The ranks must be known. 0 or -ENOMEM. */
int checkpoints_find(struct job *job);

#endif
