/* environment.h - what must be so before the core is loaded: its path, and the variables it and LTTng read. */
#ifndef TRSHIM_PRELOAD_ENVIRONMENT_H
#define TRSHIM_PRELOAD_ENVIRONMENT_H

#include <stddef.h>

/* TRSHIM_CORE, else libtrshim-core.so in the directory of the library that holds `near`, or above it. Empty: never load
 * it. */
void environment_find_core(char *path, size_t room, const void *near);

/* What LTTng, NVTX and CUDA read when they start, and where a daemon of `trshim start` would listen. What the user has
 * set stays. */
void environment_set_up(const char *core_path);

#endif
