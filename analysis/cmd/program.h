/* program.h - runs a small program and tells what it said. */
#ifndef TRSHIM_ANALYSIS_PROGRAM_H
#define TRSHIM_ANALYSIS_PROGRAM_H

#include <stddef.h>

/* Runs argv for at most 20 s, stdout and stderr into said (cut to size, NUL-terminated). `set_environment` (or NULL)
 * runs in the child before exec. Returns its exit status, 127 if there is none, 128+N for a signal, or -errno. */
int program_run(char *const argv[], void (*set_environment)(void *arg), void *arg, char *said, size_t size);

#endif
