/* session_wake.h - tells processes that started before the daemon that it is there.
 *
 * A process with LTTng-UST that finds no daemon sleeps on a word in /dev/shm/lttng-ust-wait-8-<uid of the process>.
 * A daemon wakes the word of its own uid; when it has another uid than the job (root) we have to do it. */
#ifndef TRSHIM_TRACES_SESSION_WAKE_H
#define TRSHIM_TRACES_SESSION_WAKE_H

#include <stdbool.h>
#include <sys/types.h>

/* Opens the word of `uid`; call it while still that uid. Returns a descriptor, or -errno. */
int wake_open(uid_t uid);

/* Can processes of `uid`, which is ours, use their word? If not, LTTng switches itself off in them, silently: a file of
 * that name belongs to somebody else (a root of another user namespace). 0 or -errno; a missing one is no obstacle. */
int wake_check(uid_t uid);

/* Sets the word to `here` (a daemon is there) and, if so, wakes all that sleep on it. */
int wake_set(int fd, bool here);

/* Removes the word that a daemon of the uid `uid`, which nobody else has, made. */
void wake_forget(uid_t uid);

#endif
