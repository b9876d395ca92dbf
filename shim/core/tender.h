/* tender.h - the core's own thread: closes stale bursts, sends state again, watches for calls that do not return. */
#ifndef TRSHIM_CORE_TENDER_H
#define TRSHIM_CORE_TENDER_H

/* Starts it in this process, once. Without it (no thread to be had) bursts close at the next call. */
void tender_start(void);

/* Sends the `self` event. */
void tender_send_self(void);

#endif
