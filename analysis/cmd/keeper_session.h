/* keeper_session.h - the session in the keeper's hands: begun, kept below its size, ended.
 *
 * Begun and ended as the job's user, in between with the daemon's identity. Deadlines are CLOCK_MONOTONIC ns, 0: never;
 * the keeper's loop looks at the next one and calls keeper_session_tick when it has come. */
#ifndef TRSHIM_ANALYSIS_KEEPER_SESSION_H
#define TRSHIM_ANALYSIS_KEEPER_SESSION_H

#include "analysis/cmd/keeper.h"
#include "traces/session_daemon.h"

struct keeper_session {
    const struct keeper_options *options;
    struct session_identity identity;
    struct session_home home;
    struct session_daemon daemon;
    struct session *session;
    struct buffer_plan buffers;
    struct keeper_summary summary;
    enum tr_level level;
    int wake_fd; /* word of the job's uid: the daemon knows only its own, and a killed one leaves it set */
    bool recording, over;
    bool failed;             /* a job ended badly: a flight recorder keeps what led to it */
    uint32_t alarms;         /* of the control page, when it was last looked at */
    uint64_t alarm_since_ns; /* when one was seen for which no snapshot has been taken yet; 0 none */
    uint64_t snapshot_at_ns; /* when the last one was taken because of an alarm */
    unsigned nr_alarm_snapshots;
    uint64_t start_at_ns, end_at_ns, prune_at_ns;
    uint64_t pruned_at_ns;
    uint64_t size; /* of the trace, when it was last looked at */
};

/* On failure keeper_session_end removes what was made until then. */
int keeper_session_begin(struct keeper_session *s, const struct keeper_options *options, char **ret_error);

/* Ends everything but this process and removes all but the trace; the summary says why. Again: does nothing. */
void keeper_session_end(struct keeper_session *s, const char *why);

int keeper_session_set_level(struct keeper_session *s, enum tr_level level, char **ret_error);

/* Of a flight recorder: writes what it holds. -EINVAL for a session that is written as it comes. */
int keeper_session_snapshot(struct keeper_session *s, char **ret_error);

/* Ends the session if one of its daemons is gone. */
void keeper_session_check(struct keeper_session *s);

/* Does what is due; the next deadline, at most half a second from now. */
void keeper_session_tick(struct keeper_session *s);
uint64_t keeper_session_next_ns(const struct keeper_session *s);

#endif
