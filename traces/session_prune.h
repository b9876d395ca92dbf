/* session_prune.h - keeps a node's trace below --max-size by removing the oldest detail.
 *
 * LTTng can overwrite the oldest of a fixed number of files per CPU, but a job's threads are seldom spread evenly: one
 * that uses 16 of 128 CPUs would keep an eighth of what it may. So LTTng writes `data` in files of a fixed size, as
 * many as it likes, and the keeper removes the oldest, whatever CPU they are of. state and steps are kept whole. */
#ifndef TRSHIM_TRACES_SESSION_PRUNE_H
#define TRSHIM_TRACES_SESSION_PRUNE_H

#include <stdint.h>

/* Removes old data files below ust/ of the session's directory until at most max_bytes of everything are left; the
 * file that each CPU writes stays. *ret_bytes is what is left. Returns 0 or -errno. */
int prune_trace(int session_fd, uint64_t max_bytes, uint64_t *ret_bytes);

#endif
