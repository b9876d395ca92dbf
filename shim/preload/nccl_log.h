/* nccl_log.h - what NCCL logs, kept in the trace.
 *
 * `trshim record` decides (analysis/cmd/job_nccl_log.c) and says so by TRSHIM_NCCL_LOG. Either NCCL writes its INFO
 * lines to a file in the trace itself, because the user had asked for none; then warnings go where they would have gone
 * too. Or the user has NCCL log: then each line is copied to such a file as NCCL writes it. */
#ifndef TRSHIM_PRELOAD_NCCL_LOG_H
#define TRSHIM_PRELOAD_NCCL_LOG_H

/* Puts itself before the real functions by which NCCL opens and writes its log, if there is one to keep. Called once,
 * when the real functions have been found. */
void nccl_log_set_up(void);

#endif
