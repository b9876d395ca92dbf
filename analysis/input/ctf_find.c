/* ctf_find.c - see ctf_find.h. */
#include "analysis/input/ctf_find.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { DEPTH_MAX = 16 };

static int add(struct ctf_found *found, const char *dir)
{
    char **dirs = realloc(found->dirs, (found->nr + 1) * sizeof(*dirs));

    if (!dirs)
        return -ENOMEM;
    found->dirs = dirs;
    dirs[found->nr] = strdup(dir);
    return dirs[found->nr] && ++found->nr ? 0 : -ENOMEM;
}

static bool holds_metadata(const char *dir)
{
    struct stat st;
    char *path;

    if (asprintf(&path, "%s/metadata", dir) < 0)
        return false;
    bool holds = stat(path, &st) == 0 && S_ISREG(st.st_mode);
    free(path);
    return holds;
}

static bool is_directory(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int walk(const char *path, int depth, struct ctf_found *found);

static int walk_entry(const char *path, const char *name, int depth, struct ctf_found *found)
{
    char *below;

    if (name[0] == '.' || strcmp(name, "index") == 0)
        return 0;
    if (asprintf(&below, "%s/%s", path, name) < 0)
        return -ENOMEM;
    int rc = is_directory(below) ? walk(below, depth + 1, found) : 0;
    free(below);
    return rc;
}

static int walk(const char *path, int depth, struct ctf_found *found)
{
    int rc = holds_metadata(path) ? add(found, path) : 0;

    if (rc < 0 || depth == DEPTH_MAX)
        return rc;
    DIR *dir = opendir(path);
    if (!dir) {
        if (!found->problem && asprintf(&found->problem, "%s cannot be looked into: %s", path, strerror(errno)) < 0)
            return -ENOMEM;
        return 0;
    }
    for (struct dirent *entry; rc == 0 && (entry = readdir(dir));)
        rc = walk_entry(path, entry->d_name, depth, found);
    (void)closedir(dir);
    return rc;
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int ctf_find(const char *path, struct ctf_found *ret)
{
    struct ctf_found found = {0};
    char *clean = strdup(path);
    int rc = -ENOMEM;

    if (clean) {
        for (size_t len = strlen(clean); len > 1 && clean[len - 1] == '/';)
            clean[--len] = '\0';
        rc = walk(clean, 0, &found);
    }
    free(clean);
    if (rc < 0) {
        ctf_found_done(&found);
        return rc;
    }
    if (found.nr)
        qsort(found.dirs, found.nr, sizeof(*found.dirs), compare);
    *ret = found;
    return 0;
}

void ctf_found_done(struct ctf_found *found)
{
    for (size_t i = 0; i < found->nr; i++)
        free(found->dirs[i]);
    free(found->dirs);
    free(found->problem);
    *found = (struct ctf_found){0};
}
