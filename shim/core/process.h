/* process.h - who this process is, its birth and its end. */
#ifndef TRSHIM_CORE_PROCESS_H
#define TRSHIM_CORE_PROCESS_H

#include "shim/core/core.h"

void process_init(int late);

/* Sends proc, attr and threads: at start, to a new session, and again from time to time. */
void process_send(enum tr_proc_how how, bool attributes);

/* May this thread record? Completes a fork child at its first recorded call. */
bool process_enter(struct shim_tls *tls);

/* true in a fork child whose LTTng still sleeps. */
bool process_untouched_child(void);

/* Looks at the rank variables again: jobs started by multiprocessing set them after they began. */
void process_refresh_rank(void);

/* Something here does not go on: a flight recorder takes a snapshot. */
void process_alarm(void);

/* What is pending goes out; `exit` is sent. Only the first call does anything. */
void process_end(enum tr_exit_how how, int status);

#endif
