/* job_nccl_log.h - has NCCL log into the trace, as far as the user has no wishes of his own.
 *
 *   NCCL_DEBUG, _SUBSYS and _FILE unset            INFO to our files
 *   NCCL_DEBUG is WARN or VERSION, others unset    INFO to our files; what would have been printed still is
 *   any other                                      left alone; lines are copied as NCCL writes them
 *
 * "Set" is also what nccl.conf sets. Files and copies are the preload's work (shim/preload/nccl_log.c). */
#ifndef TRSHIM_ANALYSIS_JOB_NCCL_LOG_H
#define TRSHIM_ANALYSIS_JOB_NCCL_LOG_H

/* Sets the environment, in the process that is about to become the job. dir: where the files go, absolute; NULL: leave
 * NCCL's log alone. */
void job_nccl_log_set(const char *dir);

#endif
