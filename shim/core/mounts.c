/* mounts.c - devices noted by any thread in a small lock-free table; described from mountinfo by one thread at a time.
 *
 * The mount is found by the longest mount point above a path that was used there, not by device number: overlayfs and
 * btrfs give their files other numbers than mountinfo shows. */
#include "shim/core/mounts.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/core/core.h"

#define NR_MOUNTS 128
#define PATH_ROOM 256
#define INFO_ROOM (256 * 1024)

static struct touched {
    atomic_ullong dev;
    atomic_int ready;
    int sent;
    char path[PATH_ROOM];
} touched[NR_MOUNTS];

void mounts_touch(uint64_t dev, const char *path)
{
    if (!dev)
        return;
    for (int i = 0; i < NR_MOUNTS; i++) {
        unsigned long long seen = atomic_load_explicit(&touched[i].dev, memory_order_acquire);
        if (seen == dev)
            return;
        if (!seen && atomic_compare_exchange_strong(&touched[i].dev, &seen, dev)) {
            strncpy(touched[i].path, path, PATH_ROOM - 1);
            atomic_store_explicit(&touched[i].ready, 1, memory_order_release);
            return;
        }
        if (seen == dev)
            return;
    }
}

/* "\040" and the like, in place. */
static void unescape(char *s)
{
    char *out = s;
    for (; *s; s++, out++) {
        if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] && s[3]) {
            *out = (char)((s[1] - '0') * 64 + (s[2] - '0') * 8 + (s[3] - '0'));
            s += 3;
        } else {
            *out = *s;
        }
    }
    *out = 0;
}

static bool is_above(const char *point, const char *path)
{
    size_t n = strlen(point);
    return strncmp(point, path, n) == 0 && (path[n] == '/' || !path[n] || (n && point[n - 1] == '/'));
}

/* One line of mountinfo: "id parent maj:min root point options fields... - fstype source super". */
static void consider(char *line, const char *path, char **point, char **fstype, char **source)
{
    char *save, *word = strtok_r(line, " ", &save), *p = NULL;
    for (int i = 0; word && i < 5; i++, word = strtok_r(NULL, " ", &save))
        p = word;
    while (word && strcmp(word, "-") != 0)
        word = strtok_r(NULL, " ", &save);
    char *type = word ? strtok_r(NULL, " ", &save) : NULL;
    char *from = type ? strtok_r(NULL, " ", &save) : NULL;
    if (!p || !type)
        return;
    unescape(p);
    /* A later line of the same length covers an earlier one: mounts stack. */
    if (is_above(p, path) && (!*point || strlen(p) >= strlen(*point))) {
        *point = p;
        *fstype = type;
        *source = from;
    }
}

static void send_one(const struct touched *t, const char *info, size_t len, char *scratch)
{
    char *point = NULL, *fstype = NULL, *source = NULL, *save;
    memcpy(scratch, info, len + 1);
    for (char *line = strtok_r(scratch, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
        consider(line, t->path, &point, &fstype, &source);
    EMIT(mount, process.pid, .dev = atomic_load(&t->dev), .point = point ? point : "?", .fstype = fstype ? fstype : "?",
         .source = source ? source : "?");
}

static size_t read_whole(const char *path, char *buf, size_t room)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t len = 0;
    while (fd >= 0 && len < room) {
        ssize_t n = read(fd, buf + len, room - len);
        if (n <= 0)
            break;
        len += (size_t)n;
    }
    if (fd >= 0)
        close(fd);
    buf[len] = 0;
    return len;
}

void mounts_send(int all)
{
    static atomic_uint holder; /* pid: one that fork left behind belongs to another process and is void */
    static char *info;
    size_t len = 0;

    unsigned held_by = atomic_load(&holder);
    if (held_by == process.pid || !atomic_compare_exchange_strong(&holder, &held_by, process.pid))
        return;
    for (int i = 0; i < NR_MOUNTS && atomic_load(&touched[i].dev); i++) {
        if ((touched[i].sent && !all) || !atomic_load_explicit(&touched[i].ready, memory_order_acquire))
            continue;
        if (!info)
            info = map_lazily(2 * (INFO_ROOM + 1));
        if (!info)
            break;
        if (!len)
            len = read_whole("/proc/self/mountinfo", info, INFO_ROOM);
        send_one(&touched[i], info, len, info + INFO_ROOM + 1);
        touched[i].sent = 1;
    }
    atomic_store(&holder, 0);
}
