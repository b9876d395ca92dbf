/* groups.h - what I/O is told by: not a hundred thousand paths, but directory groups, large files and peers.
 *
 * Made once all names are known. A directory with many subdirectories, or with numbered ones, stands for all below it
 * (/data/train/...); a file has a group of its own while its directory has few such; the ports of one host are one peer
 * when there are many; libraries and system files are told apart from data, for reading them is no data loading. */
#ifndef TRSHIM_ANALYSIS_GROUPS_H
#define TRSHIM_ANALYSIS_GROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/model/map.h"

struct mount;
struct mounts;
struct names;

enum group_kind { GROUP_DIR, GROUP_FILE, GROUP_PEER, GROUP_SOFTWARE, GROUP_MEMORY };

struct group {
    uint32_t index; /* 0 .. nr-1, in order of first appearance */
    uint32_t host;
    enum group_kind kind;      /* SOFTWARE: code, system and configuration; MEMORY: /dev/shm */
    const char *text;          /* owned */
    const struct mount *mount; /* NULL for a peer or unknown */
};

struct groups {
    struct group **list; /* owned */
    size_t nr;
    struct map by_text;
};

void groups_done(struct groups *groups);

/* Gives every name of a dir, file or peer its group. 0 or -ENOMEM. */
int groups_build(struct groups *groups, struct names *names, const struct mounts *mounts);

/* Whether I/O there can be loading of data. */
static inline bool group_is_data(const struct group *group)
{
    return group && group->kind != GROUP_SOFTWARE && group->kind != GROUP_MEMORY;
}

#endif
