/* session_file.h - session.json beside a trace: what the trace itself cannot say.
 *
 * Written when the session begins ("state": "recording") and again when it ends. One that still says recording when
 * nothing records is the mark of a recorder that was killed. Times are CLOCK_MONOTONIC ns, counts are events. */
#ifndef TRSHIM_ANALYSIS_SESSION_FILE_H
#define TRSHIM_ANALYSIS_SESSION_FILE_H

#include "analysis/cmd/keeper.h"

/* summary NULL: it begins. */
int session_file_write(const struct output *output, const struct keeper_options *options,
                       const struct buffer_plan *buffers, const char *identity, const struct keeper_summary *summary);

#endif
