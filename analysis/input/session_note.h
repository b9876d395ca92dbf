/* session_note.h - what session.json beside a trace says and the trace itself cannot: that recording ended before the
 * job did, and why. */
#ifndef TRSHIM_ANALYSIS_SESSION_NOTE_H
#define TRSHIM_ANALYSIS_SESSION_NOTE_H

/* One line, owned by the caller; NULL if recording ended as it should, or nothing is said about it in `dir`. */
char *session_note(const char *dir);

#endif
