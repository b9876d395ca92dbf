/* mounts.h - which file systems the process touches: noted by the hooks, sent by the tender thread. */
#ifndef TRSHIM_CORE_MOUNTS_H
#define TRSHIM_CORE_MOUNTS_H

#include <stdint.h>

/* Notes that a path on device dev was used. */
void mounts_touch(uint64_t dev, const char *path);

/* Sends a `mount` event for each device noted since the last call, or for all. Reads /proc/self/mountinfo. */
void mounts_send(int all);

#endif
