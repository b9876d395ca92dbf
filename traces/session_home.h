/* session_home.h - the directory where a private daemon and the processes it records find each other.
 *
 * It is their LTTNG_HOME. It belongs to whoever records and nobody else can enter it (0700; as SETUID the daemon must
 * pass through: 0711), and holds
 *   .lttng/    the daemon's sockets
 *   control    the page of traces/control.h
 *   keeper     the socket on which the keeper takes orders
 *   lock       locked while the keeper lives: a home whose lock is free is left over from a killed one.
 *              Holds the daemon's uid
 *   log        what the daemon said
 *   load/      empty: what the daemon may load by itself
 * A unix socket's path has at most 107 bytes, so the home is on a short path: not simply below the output. */
#ifndef TRSHIM_TRACES_SESSION_HOME_H
#define TRSHIM_TRACES_SESSION_HOME_H

#include <stdbool.h>
#include <stddef.h>

#include "traces/control.h"
#include "traces/session_identity.h"

#define HOME_PATH_MAX 76 /* + "/.lttng/ustconsumerd64/command" still fits a socket address */

struct session_home {
    char path[HOME_PATH_MAX];
    int lock_fd, log_fd, keeper_fd; /* keeper_fd: bound and listening; all -1 when closed */
    struct tr_control *control;     /* mapped, NULL when not */
};

/* Makes a fresh home for one recording in the first place where the daemon's identity can bind a socket:
 * $TRSHIM_RUNTIME_DIR, $XDG_RUNTIME_DIR, /tmp, /dev/shm, `last_resort` (the output directory). Sweeps, on the way,
 * homes that killed keepers of this user left there. */
int home_make(struct session_home *ret, const struct session_identity *id, const char *last_resort, char **ret_error);

/* Makes the home at a known place, for `trshim start`. -EBUSY if a keeper lives there already. */
int home_make_at(struct session_home *ret, const struct session_identity *id, const char *path, char **ret_error);

/* Where `trshim start` and jobs that only have the preload meet: $TRSHIM_HOME or /tmp/trshim-<uid>.
 * -ENAMETOOLONG if that leaves no room for sockets. */
int home_meeting_path(char *path, size_t size, char **ret_error);

/* Removes everything the home holds, and it. Call it as who made it (after identity_leave). */
void home_remove(struct session_home *home);

/* Removes the home at `path` if its keeper is dead. For whoever survives a killed keeper. */
void home_remove_stale(const char *path);

/* Removes name in the directory parent_fd, and all below it, without following links. */
void tree_remove(int parent_fd, const char *name);

/* Connects to the keeper of the home at path. Returns a socket, or -errno. */
int home_connect(const char *path);

#endif
