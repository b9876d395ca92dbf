/* job.h - runs the recorded command as if it had been started alone.
 *
 * It stays in our process group and terminal, gets our stdin, stdout, stderr, signal mask and dispositions as they
 * were. Signals sent to us alone are passed on; those of the terminal reach it without us. As process 1 we reap
 * whatever ends. */
#ifndef TRSHIM_ANALYSIS_JOB_H
#define TRSHIM_ANALYSIS_JOB_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct job {
    pid_t pid;
    bool ended;
    int status;          /* wait status, when ended */
    uint64_t term_at_ns; /* when a SIGTERM was passed on, CLOCK_MONOTONIC; 0: none */
    int signal_fd;
    sigset_t old_mask;
    struct sigaction old_chld;
};

#define JOB_NOT_FOUND 127
#define JOB_NOT_EXECUTABLE 126

/* First of all: descriptors 0 to 2 that are closed are taken, so that nothing of ours gets these numbers. The job gets
 * them closed, as it would have. */
void job_reserve_stdio(void);

/* Takes over SIGCHLD and the signals to pass on. Before job_start, and before anything is forked that job_wait may
 * reap. */
int job_init(struct job *job);

/* Starts argv; `set_environment` runs in the child before exec. Returns 0, or -errno of the exec. */
int job_start(struct job *job, char *const argv[], void (*set_environment)(void *arg), void *arg);

/* Reads signals that came: passes them on, reaps. Call it when signal_fd is readable. */
void job_signals(struct job *job);

/* The exit status for an exec that failed. */
int job_exec_status(int err);

/* Ends this process the way the job ended: same status, or by the same signal (128+N where that cannot be). */
_Noreturn void job_exit_like(const struct job *job);

/* Is there a program of this name? 0, or -ENOENT, -EACCES. As execvp would look. */
int job_find(const char *name);

#endif
