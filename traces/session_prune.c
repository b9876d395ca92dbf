/* session_prune.c - see session_prune.h. */
#include "traces/session_prune.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DATA_PREFIX "data_"

/* A file of the data channel: data_<cpu>_<nr>. */
struct data_file {
    unsigned cpu, nr;
    int dir_fd; /* owned by the walk */
    struct timespec written;
    uint64_t bytes;
    bool current; /* the last of its stream: LTTng writes it */
};

struct walk {
    struct data_file *files; /* owned */
    size_t nr_files, room;
    int *dirs; /* owned descriptors of directories that hold data files */
    size_t nr_dirs;
    uint64_t bytes;
};

static void done(struct walk *w)
{
    for (size_t i = 0; i < w->nr_dirs; i++)
        close(w->dirs[i]);
    free(w->dirs);
    free(w->files);
}

static int add_file(struct walk *w, int dir_fd, unsigned cpu, unsigned nr, const struct stat *st)
{
    if (w->nr_files == w->room) {
        size_t room = w->room ? w->room * 2 : 64;
        struct data_file *files = realloc(w->files, room * sizeof(*files));
        if (!files)
            return -ENOMEM;
        w->files = files;
        w->room = room;
    }
    w->files[w->nr_files++] = (struct data_file){
        .cpu = cpu, .nr = nr, .dir_fd = dir_fd, .written = st->st_mtim, .bytes = (uint64_t)st->st_size};
    return 0;
}

static int keep_dir(struct walk *w, int fd)
{
    int *dirs = realloc(w->dirs, (w->nr_dirs + 1) * sizeof(*dirs));
    if (!dirs)
        return -ENOMEM;
    w->dirs = dirs;
    dirs[w->nr_dirs++] = fd;
    return 0;
}

/* Adds everything below the directory fd, which it takes. */
static int look(struct walk *w, int fd)
{
    int again = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = keep_dir(w, fd);
    DIR *dir = again < 0 ? NULL : fdopendir(again);
    if (!dir || rc < 0) {
        if (rc < 0)
            close(fd);
        if (dir)
            closedir(dir);
        else if (again >= 0)
            close(again);
        return rc < 0 ? rc : -errno;
    }
    struct dirent *entry;
    while (rc == 0 && (entry = readdir(dir))) {
        struct stat st;
        unsigned cpu, nr;
        char end;
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..") ||
            fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        if (S_ISDIR(st.st_mode)) {
            int sub = openat(fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
            rc = sub < 0 ? 0 : look(w, sub);
            continue;
        }
        w->bytes += (uint64_t)st.st_size;
        if (sscanf(entry->d_name, DATA_PREFIX "%u_%u%c", &cpu, &nr, &end) == 2)
            rc = add_file(w, fd, cpu, nr, &st);
    }
    closedir(dir);
    return rc;
}

static int by_stream(const void *a, const void *b)
{
    const struct data_file *x = a, *y = b;
    if (x->dir_fd != y->dir_fd)
        return x->dir_fd < y->dir_fd ? -1 : 1;
    if (x->cpu != y->cpu)
        return x->cpu < y->cpu ? -1 : 1;
    return x->nr < y->nr ? -1 : x->nr > y->nr;
}

static int by_age(const void *a, const void *b)
{
    const struct data_file *x = a, *y = b;
    if (x->written.tv_sec != y->written.tv_sec)
        return x->written.tv_sec < y->written.tv_sec ? -1 : 1;
    return x->written.tv_nsec < y->written.tv_nsec ? -1 : x->written.tv_nsec > y->written.tv_nsec;
}

static void mark_current(struct walk *w)
{
    qsort(w->files, w->nr_files, sizeof(*w->files), by_stream);
    for (size_t i = 0; i < w->nr_files; i++) {
        const struct data_file *next = i + 1 < w->nr_files ? &w->files[i + 1] : NULL;
        w->files[i].current = !next || next->dir_fd != w->files[i].dir_fd || next->cpu != w->files[i].cpu;
    }
}

static void remove_file(struct walk *w, const struct data_file *file)
{
    char name[64], index[96];
    struct stat st;
    snprintf(name, sizeof(name), DATA_PREFIX "%u_%u", file->cpu, file->nr);
    snprintf(index, sizeof(index), "index/%s.idx", name);
    if (unlinkat(file->dir_fd, name, 0) < 0)
        return;
    w->bytes -= file->bytes;
    if (fstatat(file->dir_fd, index, &st, 0) == 0 && unlinkat(file->dir_fd, index, 0) == 0)
        w->bytes -= (uint64_t)st.st_size;
}

int prune_trace(int session_fd, uint64_t max_bytes, uint64_t *ret_bytes)
{
    struct walk w = {0};
    int fd = openat(session_fd, "ust", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    *ret_bytes = 0;
    if (fd < 0)
        return errno == ENOENT ? 0 : -errno;
    int rc = look(&w, fd);
    if (rc == 0 && w.bytes > max_bytes) {
        mark_current(&w);
        qsort(w.files, w.nr_files, sizeof(*w.files), by_age);
        for (size_t i = 0; i < w.nr_files && w.bytes > max_bytes; i++)
            if (!w.files[i].current)
                remove_file(&w, &w.files[i]);
    }
    *ret_bytes = w.bytes;
    done(&w);
    return rc;
}
