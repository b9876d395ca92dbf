/* session_metadata.h - is the metadata of the trace on disk?
 *
 * LTTng-UST's metadata goes through a ring buffer of its own, behind the data. lttng_data_pending() does not wait for
 * it: of short recordings ended right after it said "nothing pending", one in eight had 4 KiB of metadata of 20 and no
 * reader could open them. So we look: complete is a metadata file with a description of every event that is enabled. */
#ifndef TRSHIM_TRACES_SESSION_METADATA_H
#define TRSHIM_TRACES_SESSION_METADATA_H

/* Waits until each metadata file below ust/ of the session's directory describes nr_events events, at most
 * timeout_ms: -ETIMEDOUT then. A file that stops growing with fewer is no error for the trace (the job may know fewer
 * events), but nobody can tell. */
int metadata_wait(int session_fd, unsigned nr_events, unsigned timeout_ms);

#endif
