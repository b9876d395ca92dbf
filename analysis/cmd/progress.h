/* progress.h - a bar on a terminal for what takes longer than a second; nothing elsewhere. */
#ifndef TRSHIM_ANALYSIS_PROGRESS_H
#define TRSHIM_ANALYSIS_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct progress {
    FILE *out; /* borrowed; NULL when it is no terminal */
    uint64_t begin_ns;
    int shown; /* percent on the screen, -1 nothing */
};

void progress_init(struct progress *progress, FILE *out);
/* arg is the struct progress; done is 0..1. Cheap enough to be called often. */
void progress_show(void *arg, double done);
void progress_done(struct progress *progress); /* clears the bar */

#endif
