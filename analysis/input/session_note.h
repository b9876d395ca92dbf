/* session_note.h - what session.json beside a trace says and the trace itself cannot: that recording ended before the
 * job did, and why; how much was lost in all. */
#ifndef TRSHIM_ANALYSIS_SESSION_NOTE_H
#define TRSHIM_ANALYSIS_SESSION_NOTE_H

#include <stdbool.h>
#include <stdint.h>

/* One line, owned by the caller; NULL if recording ended as it should, or nothing is said about it in `dir`. */
char *session_note(const char *dir);

/* Whether what was recorded below `dir` was kept in memory only, and nobody took a snapshot of it. */
bool session_took_no_snapshot(const char *dir);

/* Events and packets that were dropped while recording, in the channels of the mask (1u << CH_STATE | ...); 0 if not
 * said. More than a trace can tell whose oldest files were dropped: they took their own counts with them. */
uint64_t session_lost(const char *dir, unsigned channels);

#endif
