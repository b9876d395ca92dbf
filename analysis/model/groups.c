/* groups.c - see groups.h. Directories are counted in a tree of prefixes: first how many children each has, then the
 * highest one with too many stands for what is below it. */
#include "analysis/model/groups.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/model/mounts.h"
#include "analysis/model/names.h"
#include "analysis/pass/thresholds.h"

#define PATH_LEN_MAX 4096
#define EPHEMERAL_PORT_MIN 32768 /* Linux's net.ipv4.ip_local_port_range */

/* A directory that some name lies below, or a host with peers. */
struct dir {
    struct dir *next, *parent;
    unsigned depth;              /* components; 0 is "/" */
    unsigned children, numbered; /* subdirectories; those with a digit in their name */
    unsigned files;              /* names of files right in it; ports of a host */
    unsigned below;              /* names in it and below */
    unsigned largest_child;      /* the most names that one subdirectory has */
};

struct dirs {
    struct map by_path;
    struct dir *all; /* owned */
};

void groups_done(struct groups *groups)
{
    for (size_t i = 0; i < groups->nr; i++) {
        free((char *)groups->list[i]->text);
        free(groups->list[i]);
    }
    free(groups->list);
    map_done(&groups->by_text);
    *groups = (struct groups){0};
}

static void dirs_done(struct dirs *dirs)
{
    for (struct dir *dir = dirs->all, *next; dir; dir = next) {
        next = dir->next;
        free(dir);
    }
    map_done(&dirs->by_path);
}

static struct dir *dir_get(struct dirs *dirs, uint32_t host, const char *path, bool *ret_new)
{
    struct map_key key = map_hash(path, host);
    struct dir *dir = map_find(&dirs->by_path, key);
    *ret_new = !dir;
    if (dir)
        return dir;
    dir = calloc(1, sizeof(*dir));
    if (!dir || map_put(&dirs->by_path, key, dir)) {
        free(dir);
        return NULL;
    }
    dir->next = dirs->all;
    return dirs->all = dir;
}

static bool has_digit(const char *text)
{
    return text[strcspn(text, "0123456789/")] && text[strcspn(text, "0123456789/")] != '/';
}

/* Enters a directory and all above it. `path` is changed on the way and restored. Returns its entry or NULL. */
static struct dir *dir_enter(struct dirs *dirs, uint32_t host, char *path)
{
    bool fresh;
    struct dir *dir = dir_get(dirs, host, path, &fresh);
    char *slash = strrchr(path, '/');
    if (!dir || !fresh || !slash || !path[1])
        return dir;
    struct dir *parent;
    if (slash == path) {
        parent = dir_enter(dirs, host, (char[]){"/"});
    } else {
        *slash = '\0';
        parent = dir_enter(dirs, host, path);
        *slash = '/';
    }
    if (!parent)
        return NULL;
    dir->parent = parent;
    dir->depth = parent->depth + 1;
    parent->children++;
    parent->numbered += has_digit(slash + 1);
    return dir;
}

static bool copy_path(char path[PATH_LEN_MAX], const char *text, size_t len)
{
    if (len >= PATH_LEN_MAX)
        return false;
    memcpy(path, text, len);
    path[len] = '\0';
    return true;
}

/* Length of the directory part: "/a" has "/", "/a/b" has "/a". */
static size_t parent_len(const char *text)
{
    const char *slash = strrchr(text, '/');
    return slash && slash != text ? (size_t)(slash - text) : 1;
}

static size_t peer_host_len(const char *text)
{
    const char *colon = strrchr(text, ':');
    return colon ? (size_t)(colon - text) : strlen(text);
}

/* Whether a peer's port is one that a client was given, rather than one that a server is known by: from the range that
 * kernels give out, and talked to by one process only. Several workers of a job talk to one server. */
static bool is_clients_port(const struct name *name)
{
    const char *colon = strrchr(name->text, ':');
    return colon && !name->shared && strtoul(colon + 1, NULL, 10) >= EPHEMERAL_PORT_MIN;
}

static int count(struct dirs *dirs, const struct name *name)
{
    char path[PATH_LEN_MAX];
    bool fresh;
    struct dir *dir = NULL;
    switch (name->kind) {
    case TR_name_kind_dir:
        if (!copy_path(path, name->text, strlen(name->text)))
            return 0;
        dir = dir_enter(dirs, name->host, path);
        break;
    case TR_name_kind_file:
        if (name->text[0] != '/' || !copy_path(path, name->text, parent_len(name->text)))
            return 0;
        dir = dir_enter(dirs, name->host, path);
        break;
    case TR_name_kind_peer:
        if (!is_clients_port(name) || !copy_path(path, name->text, peer_host_len(name->text)))
            return 0;
        dir = dir_get(dirs, name->host, path, &fresh);
        break;
    default:
        return 0;
    }
    if (!dir)
        return -ENOMEM;
    dir->files += name->kind != TR_name_kind_dir;
    for (; dir; dir = dir->parent)
        dir->below++;
    return 0;
}

static void find_largest_children(struct dirs *dirs)
{
    for (struct dir *dir = dirs->all; dir; dir = dir->next)
        if (dir->parent && dir->below > dir->parent->largest_child)
            dir->parent->largest_child = dir->below;
}

/* Where libraries, code and the system's own files lie. */
static size_t software_len(const char *path)
{
    static const char *const tops[] = {"/usr/", "/lib/", "/lib64/", "/etc/", "/proc/",
                                       "/sys/", "/bin/", "/sbin/",  "/dev/", "/run/"};
    static const char *const inside[] = {"/site-packages", "/dist-packages", "/lib/python", "/__pycache__"};
    for (size_t i = 0; i < sizeof(inside) / sizeof(*inside); i++) {
        const char *at = strstr(path, inside[i]);
        if (at)
            return (size_t)(at - path) + strlen(inside[i]);
    }
    for (size_t i = 0; i < sizeof(tops) / sizeof(*tops); i++)
        if (!strncmp(path, tops[i], strlen(tops[i])))
            return strcspn(path + 1, "/") + 1;
    return 0;
}

static bool is_code(const char *path)
{
    static const char *const suffixes[] = {".py", ".pyc", ".so", ".pth~", ".egg-link", ".toml", ".cfg"};
    const char *dot = strrchr(path, '.');
    if (strstr(path, ".so."))
        return true;
    for (size_t i = 0; dot && i < sizeof(suffixes) / sizeof(*suffixes); i++)
        if (!strcmp(dot, suffixes[i]))
            return true;
    return false;
}

static struct group *group_get(struct groups *groups, uint32_t host, enum group_kind kind, const char *text,
                               const struct mount *mount)
{
    struct map_key key = map_hash(text, (uint64_t)host << 8 | kind);
    struct group *group = map_find(&groups->by_text, key);
    if (group)
        return group;
    struct group **list = realloc(groups->list, (groups->nr + 1) * sizeof(*list));
    if (!list)
        return NULL;
    groups->list = list;
    group = calloc(1, sizeof(*group));
    char *copy = strdup(text);
    if (!group || !copy || map_put(&groups->by_text, key, group)) {
        free(group);
        free(copy);
        return NULL;
    }
    *group = (struct group){(uint32_t)groups->nr, host, kind, copy, mount};
    list[groups->nr++] = group;
    return group;
}

/* Many alike. Where one child holds most of what is below, that one is meant: /tmp with the data set of one job. */
static bool stands_for_all(const struct dir *dir)
{
    if (dir->largest_child * 2 > dir->below)
        return false;
    bool many =
        dir->children > TH_GROUP_CHILDREN || (dir->numbered >= TH_GROUP_NUMBERED && dir->numbered * 2 >= dir->children);
    /* Right below the root lie /tmp, /home and /data: only very many can be alike there. */
    return dir->depth >= 2 ? many : dir->depth == 1 && dir->children > TH_GROUP_TOP_CHILDREN;
}

/* Makes `path`, a directory, the text of its group. Returns its entry in the tree (of the whole path). */
static struct dir *collapse(const struct dirs *dirs, uint32_t host, char path[PATH_LEN_MAX], bool *ret_collapsed)
{
    struct dir *dir = map_find(&dirs->by_path, map_hash(path, host));
    *ret_collapsed = false;
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        const struct dir *above = map_find(&dirs->by_path, map_hash(path, host));
        *slash = '/';
        if (above && stands_for_all(above) && slash + 2 < path + PATH_LEN_MAX) {
            memcpy(slash + 1, "*", 2);
            *ret_collapsed = true;
            return dir;
        }
    }
    size_t len = strlen(path);
    if (dir && stands_for_all(dir) && len + 3 < PATH_LEN_MAX) {
        memcpy(path + len, "/*", 3);
        *ret_collapsed = true;
    }
    return dir;
}

static struct group *path_group(struct groups *groups, const struct dirs *dirs, const struct mounts *mounts,
                                const struct name *name)
{
    char path[PATH_LEN_MAX];
    bool is_file = name->kind == TR_name_kind_file, collapsed;
    const struct mount *mount = mounts_find(mounts, name->host, name->dev, name->text);
    size_t software = software_len(name->text), len = is_file ? parent_len(name->text) : strlen(name->text);
    if (!strncmp(name->text, "/dev/shm", 8))
        return group_get(groups, name->host, GROUP_MEMORY, "/dev/shm", mount);
    if (software) {
        if (!copy_path(path, name->text, software))
            return NULL;
        return group_get(groups, name->host, GROUP_SOFTWARE, path, mount);
    }
    if (!copy_path(path, name->text, len))
        return NULL;
    if (name->text[0] != '/' || is_code(name->text))
        return group_get(groups, name->host, GROUP_SOFTWARE, is_file && name->text[0] == '/' ? path : name->text,
                         mount);
    const struct dir *dir = collapse(dirs, name->host, path, &collapsed);
    if (is_file && !collapsed && dir && dir->files <= TH_GROUP_FILES)
        return group_get(groups, name->host, GROUP_FILE, name->text, mount);
    return group_get(groups, name->host, GROUP_DIR, path, mount);
}

static struct group *peer_group(struct groups *groups, const struct dirs *dirs, const struct name *name)
{
    char text[PATH_LEN_MAX];
    size_t len = peer_host_len(name->text);
    if (!is_clients_port(name) || len + 3 >= sizeof(text) || !copy_path(text, name->text, len))
        return group_get(groups, name->host, GROUP_PEER, name->text, NULL);
    const struct dir *host = map_find(&dirs->by_path, map_hash(text, name->host));
    if (host && host->files > TH_GROUP_PORTS) {
        memcpy(text + len, ":*", 3);
        return group_get(groups, name->host, GROUP_PEER, text, NULL);
    }
    return group_get(groups, name->host, GROUP_PEER, name->text, NULL);
}

int groups_build(struct groups *groups, struct names *names, const struct mounts *mounts)
{
    struct dirs dirs = {0};
    int rc = 0;
    for (const struct name *name = names->first; name && !rc; name = name->next)
        rc = count(&dirs, name);
    find_largest_children(&dirs);
    for (struct name *name = names->first; name && !rc; name = name->next) {
        bool is_path = name->kind == TR_name_kind_dir || name->kind == TR_name_kind_file;
        if (!is_path && name->kind != TR_name_kind_peer)
            continue;
        if (strlen(name->text) >= PATH_LEN_MAX - 2)
            continue; /* longer than any path can be */
        name->group = is_path ? path_group(groups, &dirs, mounts, name) : peer_group(groups, &dirs, name);
        rc = name->group ? 0 : -ENOMEM;
    }
    dirs_done(&dirs);
    return rc;
}
