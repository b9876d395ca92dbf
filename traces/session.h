/* session.h - the recording session on a private daemon: which events, into which channels, how detailed.
 *
 * Made from the rows of events.def: a channel per enum tr_channel, and in it the events of the level asked for.
 * Calls liblttng-ctl, which finds the daemon by LTTNG_HOME in the environment and by the real uid: call these
 * between identity_enter and identity_leave. Every call may take long if the daemon hangs: the keeper has an alarm. */
#ifndef TRSHIM_TRACES_SESSION_H
#define TRSHIM_TRACES_SESSION_H

#include <stdint.h>

#include "traces/events.h"
#include "traces/session_buffers.h"

struct session; /* opaque */

struct session_lost {
    uint64_t events[CH_MAX];  /* dropped because the buffers were full */
    uint64_t packets[CH_MAX]; /* overwritten before they were read */
};

/* Makes channels and enables the events of `level`; nothing is recorded yet. output is a directory in the daemon's
 * eyes. With buffers->ring nothing is written there but snapshots. */
int session_create(struct session **ret, const char *output, const struct buffer_plan *buffers, enum tr_level level,
                   char **ret_error);
void session_free(struct session *session);

int session_start(struct session *session, char **ret_error);

/* Writes what the rings hold into a directory of its own below output, and empties them, so that the next snapshot goes
 * on where this one ends. */
int session_snapshot(struct session *session, char **ret_error);

/* Raises or lowers the detail; works while recording. */
int session_set_level(struct session *session, enum tr_level level, char **ret_error);

/* Events that are, or were, enabled: the metadata describes them all once a process has registered. */
unsigned session_nr_events(const struct session *session);

/* Stops recording and waits until all is written, at most timeout_ms: -ETIMEDOUT after that. Then reads what was lost
 * (earlier the counts are not exact). */
int session_stop(struct session *session, unsigned timeout_ms, struct session_lost *ret_lost);

/* The parent of a daemon that is ending removes the session with it; this does it in good order. */
void session_destroy(struct session *session);

#endif
