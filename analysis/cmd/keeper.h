/* keeper.h - the process that owns the daemon and the session of one recording.
 *
 * `trshim record` and `trshim start` fork it. It has a session of its own (no terminal, no Ctrl-C), one thread, and
 * serves its clients, the `record` commands, over sockets: the first by a socketpair, later ones (same -o, same node)
 * by the socket in the session's home. A client that goes without a word was killed. When the last client goes, the
 * daemon dies, the time is over or `trshim stop` says so, it ends the session and removes all but the trace: so
 * nothing is left behind whoever is killed, the keeper itself excepted, whose daemon then ends by itself and whose
 * home the surviving `record`, or the next one, removes. */
#ifndef TRSHIM_ANALYSIS_KEEPER_H
#define TRSHIM_ANALYSIS_KEEPER_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "analysis/cmd/output.h"
#include "traces/session.h"
#include "traces/session_home.h"

struct keeper_options {
    const struct output *output;
    const char *meeting; /* home at a known place, for `trshim start`; NULL: a fresh one */
    enum tr_level level;
    uint64_t buffers, max_size;     /* bytes, 0: default and no limit */
    bool flight;                    /* the buffers are a ring, of which snapshots are written */
    uint64_t delay_ns, duration_ns; /* 0: at once, to the end */
    bool stays;                     /* `trshim start`: goes on without clients */
};

/* What a client needs to put a job into the session. */
struct keeper_welcome {
    char home[HOME_PATH_MAX];
    char trace[PATH_MAX]; /* directory of this session's trace */
    uint32_t level;
    uint32_t identity; /* enum identity_kind */
};

#define KEEPER_WHY_JOB_ENDED "the job ended"

/* How the session ended. */
struct keeper_summary {
    char why[160]; /* a phrase: "the job ended" */
    char trace[PATH_MAX];
    uint32_t level;
    uint32_t flight; /* 1: what is not in a snapshot is gone, by intention */
    uint32_t nr_snapshots;
    uint32_t complete; /* 1: stopped in good order, all buffers written, the counts below are exact */
    struct session_lost lost;
    uint64_t began_ns, ended_ns; /* CLOCK_MONOTONIC; 0: not begun */
    uint64_t recorder_cpu_ns;    /* daemon, consumer and keeper */
};

/* The keeper's life, in the forked child. */
_Noreturn void keeper_main(const struct keeper_options *options, int client_fd);

/* Forks a keeper and waits until it records (or waits for its delay). *ret_fd is the client's end. */
int keeper_spawn(const struct keeper_options *options, pid_t *ret_pid, int *ret_fd, struct keeper_welcome *ret,
                 char **ret_error);

/* Becomes a client of the keeper whose home is at `home`. Returns the client's socket, or -errno. */
int keeper_join(const char *home, struct keeper_welcome *ret);

/* The same for who only brings an order: its coming and going keeps no session alive and ends none. */
int keeper_visit(const char *home, struct keeper_welcome *ret);

/* A client's last word (its job failed: a flight recorder takes a snapshot then), and the answer to it: 1 and the
 * summary if the session is over now, 0 if it goes on for others; -errno if the keeper is dead. Apart, because the
 * answer may take seconds. */
int keeper_say_leave(int fd, bool failed);
int keeper_hear_summary(int fd, struct keeper_summary *ret);

/* Ends the session for all; the client stays one. */
int keeper_stop(int fd, struct keeper_summary *ret);

/* Writes what a flight recorder holds. */
int keeper_snapshot(int fd, char **ret_error);

/* Changes the level, live. */
int keeper_level(int fd, enum tr_level level, char **ret_error);

#endif
