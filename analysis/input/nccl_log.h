/* nccl_log.h - logs with what NCCL wrote (NCCL_DEBUG=INFO) as an input. */
#ifndef TRSHIM_ANALYSIS_NCCL_LOG_H
#define TRSHIM_ANALYSIS_NCCL_LOG_H

#include <stdbool.h>
#include <stdint.h>

struct hosts;
struct sources;

/* Whether NCCL wrote to the file, as far as its first lines show. */
bool nccl_log_is_one(int fd);

/* What can be read only once, as a temporary file without a name: its descriptor or -errno. */
int nccl_log_spool(int from);

/* Adds it as a source, which takes the descriptor, also on failure. */
int source_nccl_log_open(int fd, const char *path, struct hosts *hosts, struct sources *sources);

/* Logs that `trshim record` kept beside a trace, in DIR/nccl: their processes are the trace's, their lines come after
 * the trace began. 0, also if there are none, or -ENOMEM. */
int source_nccl_logs_of(const char *dir, uint32_t host, uint64_t first_ns, struct hosts *hosts,
                        struct sources *sources);

#endif
