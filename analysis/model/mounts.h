/* mounts.h - which file system a device number or a path belongs to, per host. */
#ifndef TRSHIM_ANALYSIS_MOUNTS_H
#define TRSHIM_ANALYSIS_MOUNTS_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/event.h"

struct mount {
    uint32_t host;
    uint64_t dev;
    char *point, *fstype, *source; /* owned */
};

struct mounts {
    struct mount **list; /* owned; pointers stay valid */
    size_t nr;
};

void mounts_done(struct mounts *mounts);
int mounts_learn(struct mounts *mounts, uint32_t host, const struct tr_mount *event); /* 0 or -ENOMEM */

/* The mount of a file: by device number, else the longest mount point that leads to `path`. NULL if unknown. */
const struct mount *mounts_find(const struct mounts *mounts, uint32_t host, uint64_t dev, const char *path);

#endif
