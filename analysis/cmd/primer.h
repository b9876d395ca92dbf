/* primer.h - makes LTTng's buffers and metadata before the job starts.
 *
 * LTTng makes a user's ring buffers when that user's first process registers, which takes longer than everything else
 * in the job's way: on a busy machine longer than the 100 ms that a process waits for its registration (of short
 * programs one in eight was not recorded at all, and their trace had no description of its streams). So a child of
 * ours, of the job's uid and with the job's provider, registers first. It emits nothing. */
#ifndef TRSHIM_ANALYSIS_PRIMER_H
#define TRSHIM_ANALYSIS_PRIMER_H

/* `core` is libtrshim-core.so, `home` the session's. Returns when it is done, or after 5 s; failing is no error: the
 * job's first process does it then. */
void primer_run(const char *core, const char *home);

#endif
