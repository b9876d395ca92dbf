/* calls.h - what the core does about a call: the functions behind struct shim_core (shim.h), by subject. */
#ifndef TRSHIM_CORE_CALLS_H
#define TRSHIM_CORE_CALLS_H

#include "shim/core/core.h"

/* file.c */
void call_opened(struct shim_call *call, int dirfd, const char *path, int flags, int fd);
void call_closing(struct shim_call *call, int fd);
void call_closed(struct shim_call *call);
void call_io(struct shim_call *call, enum tr_io_op op, int fd, ssize_t bytes, int64_t offset);
void call_meta(struct shim_call *call, int dirfd, const char *path, bool failed);
void call_file(struct shim_call *call, enum tr_file_act op, int fd, int dirfd, const char *path, int dirfd2,
               const char *path2, uint64_t size, bool failed);

/* wait.c */
void call_blocking(struct shim_tls *tls, enum tr_wait_kind kind, uint64_t key, uint64_t start_ns);
void call_wait(struct shim_call *call, enum tr_wait_kind kind, uint64_t obj);
void call_wait_fd(struct shim_call *call, enum tr_wait_kind kind, int fd);
void call_posted(struct shim_tls *tls, const void *sem);

/* process.c */
void call_fork_prepare(struct shim_call *call);
void call_fork_parent(struct shim_call *call);
void call_fork_child(struct shim_call *call);
void call_spawned(struct shim_call *call, enum tr_spawn_how how, pid_t child);
void call_before_exec(struct shim_call *call, const char *path);
void call_before_exit(struct shim_call *call, int status);

/* cuda.c */
void call_cuda_device(struct shim_call *call, int device);
void call_cuda(struct shim_call *call, enum tr_cuda_act act, int err);
void call_cupti_other(struct shim_call *call, enum cupti_other does, unsigned kind);
void call_segment(struct shim_call *call, enum tr_segment_act act, enum tr_segment_kind kind, void *ptr, uint64_t size,
                  int err, uint64_t free_bytes, const void *caller);
void call_gemm(struct shim_call *call, enum tr_dtype type, uint64_t m, uint64_t n, uint64_t k, uint64_t batch,
               bool captured);
void call_block(struct shim_call *call, void *ptr, int64_t change, uint64_t allocated, uint64_t reserved,
                uint16_t device);
void call_oom(struct shim_call *call, uint64_t asked, uint64_t allocated, uint64_t reserved, uint16_t device);

/* nccl_calls.c */
void call_nccl(struct shim_call *call, const struct shim_nccl_call *seen);
void call_nccl_done(struct shim_call *call, int rc);
void call_nccl_group_end(struct shim_call *call, bool dropped, int rc);

/* nccl_making.c */
void call_nccl_making(struct shim_call *call, const struct shim_nccl_making *seen);
void call_nccl_made(struct shim_call *call, int rc);
void call_nccl_leaving(struct shim_call *call, const void *comm);

/* graph_work.c */
void call_graph(struct shim_call *call, enum shim_graph does, const void *graph, const void *exec);
void graph_work_add(enum tr_dtype type, uint64_t flop);

/* anchor.c */
void call_step(struct shim_call *call, uint64_t nr);

#endif
