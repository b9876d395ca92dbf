/* child.h - a process of our own that does what might crash or must run beside us, and dies with us. */
#ifndef TRSHIM_ANALYSIS_CHILD_H
#define TRSHIM_ANALYSIS_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Forks a child that runs `main(arg)` and leaves. In it: killed when the caller's thread ends, no core file, nothing
 * printed (libraries talk when they abort). Returns its pid, or -errno. */
pid_t child_start(void (*main)(void *arg), void *arg);

/* Said by the child, that it got on: it is killed when it then uses CHILD_PATIENCE_S of CPU time without saying so
 * again. babeltrace2 can run in circles on a damaged trace. */
#define CHILD_PATIENCE_S 20
void child_got_on(void);

/* Has it ended? Leaves it to child_stop(). */
bool child_has_ended(pid_t pid);

/* Kills it if it still runs, and collects it. Returns NULL if it had ended by itself and well, else how it ended
 * ("killed by signal 11 (Segmentation fault)") in `how`. */
const char *child_stop(pid_t pid, char *how, size_t size);

#endif
