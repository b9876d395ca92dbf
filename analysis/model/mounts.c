/* mounts.c - a list: a process touches few file systems. */
#include "analysis/model/mounts.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static void mount_free(struct mount *mount)
{
    if (!mount)
        return;
    free(mount->point);
    free(mount->fstype);
    free(mount->source);
    free(mount);
}

void mounts_done(struct mounts *mounts)
{
    for (size_t i = 0; i < mounts->nr; i++)
        mount_free(mounts->list[i]);
    free(mounts->list);
    *mounts = (struct mounts){0};
}

int mounts_learn(struct mounts *mounts, uint32_t host, const struct tr_mount *event)
{
    for (size_t i = 0; i < mounts->nr; i++) {
        const struct mount *known = mounts->list[i];
        if (known->host == host && known->dev == event->dev && !strcmp(known->point, event->point))
            return 0;
    }
    struct mount **list = realloc(mounts->list, (mounts->nr + 1) * sizeof(*list));
    if (!list)
        return -ENOMEM;
    mounts->list = list;
    struct mount *mount = calloc(1, sizeof(*mount));
    if (!mount)
        return -ENOMEM;
    *mount = (struct mount){host, event->dev, strdup(event->point), strdup(event->fstype), strdup(event->source)};
    if (!mount->point || !mount->fstype || !mount->source) {
        mount_free(mount);
        return -ENOMEM;
    }
    list[mounts->nr++] = mount;
    return 0;
}

static bool leads_to(const char *point, const char *path)
{
    size_t len = strlen(point);
    if (len && point[len - 1] == '/')
        len--; /* "/" leads to everything */
    return !strncmp(point, path, len) && (path[len] == '/' || path[len] == '\0');
}

const struct mount *mounts_find(const struct mounts *mounts, uint32_t host, uint64_t dev, const char *path)
{
    const struct mount *best = NULL;
    size_t best_len = 0;
    bool best_by_dev = false;
    for (size_t i = 0; i < mounts->nr; i++) {
        const struct mount *mount = mounts->list[i];
        bool by_dev = dev && mount->dev == dev, by_path = path && leads_to(mount->point, path);
        size_t len = by_path ? strlen(mount->point) : 0;
        if (mount->host != host || (!by_dev && !by_path) || (best_by_dev && !by_dev))
            continue;
        /* One device can be mounted at several places: the one that leads to the path is meant. */
        if (!best || (by_dev && !best_by_dev) || len > best_len) {
            best = mount;
            best_len = len;
            best_by_dev = by_dev;
        }
    }
    return best;
}
