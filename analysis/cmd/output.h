/* output.h - the directory of a recording: DIR/<host>-<boot id>/, one per node, so that nodes can share DIR.
 *
 * A node that records into the same DIR again gets <host>-<boot id>.2, .3 ...; records that overlap on one node join
 * one session: the first leaves the place of its keeper in the file .keeper, and looking for it and making it happen
 * under a lock. */
#ifndef TRSHIM_ANALYSIS_OUTPUT_H
#define TRSHIM_ANALYSIS_OUTPUT_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct output {
    char dir[PATH_MAX];      /* DIR, absolute */
    char node[PATH_MAX];     /* DIR/<host>-<boot id> */
    char session[PATH_MAX];  /* node, or node.N: where this session's trace goes; "" before output_new_session */
    char nccl_log[PATH_MAX]; /* "" before output_nccl_log */
    char host[65], boot[37];
    int node_fd;    /* of `node` */
    int session_fd; /* of `session`, -1 before */
    int lock_fd;    /* -1: not locked */
    bool made_dir, made_node;
};

/* Makes DIR and the node's directory (0700) as needed. -ENOTEMPTY if DIR holds something that is not ours. */
int output_open(struct output *ret, const char *dir, char **ret_error);
void output_close(struct output *output);

/* One at a time on this node. Works without lock files: a killed process leaves no lock. */
int output_lock(struct output *output);
void output_unlock(struct output *output);

/* The home of the keeper that records here, by the file .keeper. -ENOENT: none. */
int output_find_keeper(const struct output *output, char *home, size_t size);
int output_set_keeper(const struct output *output, const char *home);
void output_clear_keeper(const struct output *output);

/* Makes the directory for a new session. *ret_again says that an earlier one is there. */
int output_new_session(struct output *output, bool *ret_again, char **ret_error);

/* The directory for what NCCL logs, made if need be; NULL if it cannot be. Another record's session: the node's. */
const char *output_nccl_log(struct output *output);

/* Removes what output_open and output_new_session made, as far as it is empty: for a recording that did not begin. */
void output_undo(struct output *output);

/* Gives the directory fd and everything below it to uid and gid. */
void output_chown(int fd, uid_t uid, gid_t gid);

/* Bytes of all files below path. */
uint64_t output_size(const char *path);

#endif
