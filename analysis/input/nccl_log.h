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

/* The same for one that belongs to a trace: its processes are those of that host, its lines come after first_ns. */
int source_nccl_log_add(int fd, const char *path, uint32_t trace_host, uint64_t first_ns, struct hosts *hosts,
                        struct sources *sources);

/* Adds those that lie beside a trace. 0, also if there are none, or -ENOMEM. */
int nccl_log_find(const char *trace, uint32_t host, uint64_t first_ns, struct hosts *hosts, struct sources *sources);

#endif
