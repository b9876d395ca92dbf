/* job_environment.h - what a job needs in its environment to be recorded in a session. */
#ifndef TRSHIM_ANALYSIS_JOB_ENVIRONMENT_H
#define TRSHIM_ANALYSIS_JOB_ENVIRONMENT_H

#include <limits.h>
#include <stdbool.h>

#include "analysis/cmd/keeper.h"

struct job_environment {
    char preload[PATH_MAX]; /* libtrshim.so */
    char core[PATH_MAX];    /* libtrshim-core.so */
    struct keeper_welcome session;
    const char *ranks, *steps, *every; /* NULL: all */
    bool wrap_net;                     /* put our network plugin around the job's */
    const char *nccl_log;              /* directory for what NCCL logs; NULL: leave its log alone */
};

/* Finds libtrshim.so: beside this program, or in ../lib/trshim or ../lib from there. */
int job_environment_find(struct job_environment *env, char **ret_error);

/* The profiler plugin for NCCL, beside libtrshim.so; false: it is not there. */
bool job_environment_profiler(const struct job_environment *env, char *ret_path, size_t size);

/* Sets it, in the process that is about to become the job. `arg` is a struct job_environment. */
void job_environment_set(void *arg);

#endif
