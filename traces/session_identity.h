/* session_identity.h - as whom the private session daemon runs.
 *
 * LTTng ignores LTTNG_HOME for uid 0 and uses the machine's one daemon instead, so as root the daemon and its client
 * side need another uid:
 *   USER    not root: nothing to do
 *   USERNS  a user namespace in which root is called by another number; files still belong to root
 *   SETUID  where namespaces are refused: an uid of our own, which needs no name
 * The job itself always keeps its uid. The number is one that nobody has (2,000,000,000 and up), because LTTng makes
 * a file /dev/shm/lttng-ust-wait-8-<uid> that would lock a real user of that number out.
 *
 * For a process of one thread: the keeper. Between identity_enter and identity_leave it is the daemon's uid by its
 * real and effective ids (liblttng-ctl looks at the real one); in SETUID the saved one stays 0 for the way back. */
#ifndef TRSHIM_TRACES_SESSION_IDENTITY_H
#define TRSHIM_TRACES_SESSION_IDENTITY_H

#include <sys/types.h>

#define IDENTITY_OURS_FIRST 2000000000u /* numbers from here on are ours alone */

enum identity_kind { IDENTITY_USER, IDENTITY_USERNS, IDENTITY_SETUID };

struct session_identity {
    enum identity_kind kind;
    uid_t uid; /* as the daemon sees itself */
    gid_t gid;
    uid_t outside_uid; /* owner of what the daemon creates, seen from outside */
};

/* Chooses by trying; `mode` is NULL, "userns" or "setuid" (an order). In USERNS the process is inside afterwards. */
int identity_choose(struct session_identity *ret, const char *mode, char **ret_error);

/* Become the daemon's uid and back. Only SETUID changes anything: elsewhere the process is that uid already. */
int identity_enter(const struct session_identity *id);
int identity_leave(const struct session_identity *id);

/* In a child about to exec the daemon, after identity_enter: no way back. */
int identity_drop(const struct session_identity *id);

const char *identity_name(enum identity_kind kind);

#endif
