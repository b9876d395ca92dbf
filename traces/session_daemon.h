/* session_daemon.h - one private lttng-sessiond as a child of this process.
 *
 * It ends when this process ends, however that happens (parent-death signal), and takes its consumer daemon along.
 * For a process of one thread that has SIGCHLD and SIGUSR1 blocked: the keeper. */
#ifndef TRSHIM_TRACES_SESSION_DAEMON_H
#define TRSHIM_TRACES_SESSION_DAEMON_H

#include <stdbool.h>
#include <stdint.h>

#include "traces/session_home.h"
#include "traces/session_identity.h"

struct session_daemon {
    pid_t pid; /* 0 when none runs */
    /* The output directory as the daemon finds it: through /proc, so that it needs no right to pass the directories
     * above, which its identity may not have. */
    char output[32];
    pid_t consumer_pid; /* 0 until it is known */
    int status;         /* wait status, once it is gone */
    uint64_t cpu_ns;    /* of it and its consumer, once it is gone */
};

/* Starts it in `home` and returns when it takes commands. output_fd is the directory for the trace. */
int daemon_start(struct session_daemon *ret, const struct session_identity *id, const struct session_home *home,
                 int output_fd, char **ret_error);

/* Looks whether both are still there; learns the consumer's pid on the way. -ESRCH and which is gone in *ret_error. */
int daemon_check(struct session_daemon *daemon, char **ret_error);

/* Ends it: asks, waits up to grace_ms, kills. Its own clean shutdown writes what the buffers still hold. */
void daemon_stop(struct session_daemon *daemon, unsigned grace_ms);

/* Does the daemon of the home at this path still run? For whoever is not its parent. */
bool daemon_lives(const char *home);

/* The program that would be started, or NULL: $LTTNG_SESSIOND_PATH, $PATH, the usual places. Static. */
const char *daemon_program(void);

#endif
