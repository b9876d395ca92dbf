/* ctf_repair.c - see ctf_repair.h. */
#include "analysis/input/ctf_repair.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/input/ctf_metadata.h"

/* LTTng's packets begin with: magic 4, uuid 16, stream 4, instance 8, begin 8, end 8, content bits 8, packet bits 8. */
#define PACKET_MAGIC 0xc1fc1fc1u
enum { AT_CONTENT = 48, AT_SIZE = 56, PACKET_HEAD = 64 };

static void note(struct ctf_repaired *repaired, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void note(struct ctf_repaired *repaired, const char *format, ...)
{
    va_list args;

    if (repaired->note)
        return;
    va_start(args, format);
    if (vasprintf(&repaired->note, format, args) < 0)
        repaired->note = NULL;
    va_end(args);
}

/* ---- files ---------------------------------------------------------------------------------- */

struct mapped {
    const uint8_t *bytes;
    size_t size;
};

/* An empty file gives no bytes and no error. */
static int map_file(const char *path, struct mapped *ret)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC), rc = 0;

    *ret = (struct mapped){0};
    if (fd < 0)
        return -errno;
    if (fstat(fd, &st) < 0)
        rc = -errno;
    else if (st.st_size > 0) {
        void *bytes = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (bytes == MAP_FAILED)
            rc = -errno;
        else
            *ret = (struct mapped){bytes, st.st_size};
    }
    (void)close(fd);
    return rc;
}

static void unmap_file(struct mapped *file)
{
    if (file->size)
        (void)munmap((void *)file->bytes, file->size);
}

static int write_file(const char *path, const void *bytes, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600), rc = 0;

    if (fd < 0)
        return -errno;
    for (size_t at = 0; rc == 0 && at < size;) {
        ssize_t put = write(fd, (const char *)bytes + at, size - at);
        if (put < 0 && errno != EINTR)
            rc = -errno;
        at += put > 0 ? put : 0;
    }
    (void)close(fd);
    return rc;
}

static int make_root(char **ret)
{
    const char *places[] = {getenv("TMPDIR"), "/tmp", "/var/tmp", "/dev/shm"};
    int rc = -ENOENT;

    for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
        char *root;
        if (!places[i] || !*places[i])
            continue;
        if (asprintf(&root, "%s/trshim-repair-XXXXXX", places[i]) < 0)
            return -ENOMEM;
        if (mkdtemp(root)) {
            *ret = root;
            return 0;
        }
        rc = -errno;
        free(root);
    }
    return rc;
}

/* ---- streams -------------------------------------------------------------------------------- */

/* How much of the file consists of whole packets. A file that is not LTTng's is taken as it is. */
static size_t whole_packets(const struct mapped *file)
{
    size_t at = 0;

    while (file->size - at >= PACKET_HEAD) {
        uint32_t magic;
        uint64_t content, size;
        memcpy(&magic, file->bytes + at, sizeof(magic));
        memcpy(&content, file->bytes + at + AT_CONTENT, sizeof(content));
        memcpy(&size, file->bytes + at + AT_SIZE, sizeof(size));
        if (magic != PACKET_MAGIC)
            return at ? at : magic == __builtin_bswap32(PACKET_MAGIC) ? file->size : 0;
        if (size % 8 || size / 8 < PACKET_HEAD || content > size || size / 8 > file->size - at)
            return at;
        at += size / 8;
    }
    return at;
}

static int add_dir(struct ctf_repaired *repaired, char *dir)
{
    char **dirs = realloc(repaired->dirs, (repaired->nr + 1) * sizeof(*dirs));

    if (!dirs)
        return -ENOMEM;
    repaired->dirs = dirs;
    dirs[repaired->nr++] = dir;
    return 0;
}

/* <root>/<n>/ with the metadata and the file, or its first `size` bytes if it is longer. */
static int make_dir(struct ctf_repaired *repaired, const char *path, const char *name, const struct mapped *file,
                    size_t size)
{
    char *dir = NULL, *to = NULL, *metadata = NULL;
    int rc = -ENOMEM;

    if (asprintf(&dir, "%s/%zu", repaired->root, repaired->nr) < 0 || asprintf(&to, "%s/%s", dir, name) < 0 ||
        asprintf(&metadata, "%s/metadata", dir) < 0)
        goto out;
    rc = mkdir(dir, 0700) < 0 || symlink("../metadata", metadata) < 0 ? -errno : 0;
    if (rc == 0 && size == file->size)
        rc = symlink(path, to) < 0 ? -errno : 0;
    else if (rc == 0)
        rc = write_file(to, file->bytes, size);
    if (rc == 0 && (rc = add_dir(repaired, dir)) == 0)
        dir = NULL;
out:
    free(dir);
    free(to);
    free(metadata);
    return rc;
}

static int repair_stream(struct ctf_repaired *repaired, const char *dir, const char *name)
{
    struct mapped file;
    char *path;

    if (asprintf(&path, "%s/%s", dir, name) < 0)
        return -ENOMEM;
    int rc = map_file(path, &file);
    if (rc < 0) {
        note(repaired, "stream %s cannot be opened: %s", name, strerror(-rc));
        free(path);
        return 0;
    }
    size_t size = whole_packets(&file);
    if (size < file.size)
        note(repaired, "stream %s is damaged after %zu of %zu bytes", name, size, file.size);
    rc = size ? make_dir(repaired, path, name, &file, size) : 0;
    unmap_file(&file);
    free(path);
    return rc;
}

static int repair_streams(struct ctf_repaired *repaired, const char *path)
{
    struct dirent **entries;
    int nr = scandir(path, &entries, NULL, alphasort), rc = 0;

    if (nr < 0)
        return -errno;
    for (int i = 0; i < nr; i++) {
        const char *name = entries[i]->d_name;
        struct stat st;
        char *file = NULL;
        if (rc == 0 && name[0] != '.' && strcmp(name, "metadata") != 0) {
            if (asprintf(&file, "%s/%s", path, name) < 0)
                rc = -ENOMEM;
            else if (stat(file, &st) == 0 && S_ISREG(st.st_mode))
                rc = repair_stream(repaired, path, name);
            free(file);
        }
        free(entries[i]);
    }
    free(entries);
    return rc;
}

/* ---- metadata ------------------------------------------------------------------------------- */

/* <root>/metadata. Returns 1, 0 with a note if there is nothing to be saved, or -errno. */
static int repair_metadata(struct ctf_repaired *repaired, const char *dir)
{
    struct mapped file;
    char *path = NULL, *to = NULL, *text = NULL;
    bool cut = false;
    int rc = -ENOMEM;

    if (asprintf(&path, "%s/metadata", dir) < 0 || asprintf(&to, "%s/metadata", repaired->root) < 0)
        goto out;
    if ((rc = map_file(path, &file)) < 0) {
        note(repaired, "its metadata cannot be opened: %s", strerror(-rc));
        rc = 0;
        goto out;
    }
    rc = ctf_metadata_salvage(file.bytes, file.size, &text, &cut);
    if (rc == 0) {
        if (cut)
            note(repaired, "its metadata are incomplete; kinds of events declared later are missing");
        rc = write_file(to, text, strlen(text));
        rc = rc < 0 ? rc : 1;
    } else if (rc == -ENODATA) {
        note(repaired,
             file.size ? "its metadata are damaged" : "its metadata are empty (the recorder's daemon was killed)");
        rc = 0;
    }
    unmap_file(&file);
out:
    free(path);
    free(to);
    free(text);
    return rc;
}

int ctf_repair(const char *dir, struct ctf_repaired *ret)
{
    struct ctf_repaired repaired = {0};
    char *absolute = realpath(dir, NULL);
    int rc = absolute ? make_root(&repaired.root) : -errno;

    if (rc == 0)
        rc = repair_metadata(&repaired, absolute);
    if (rc > 0)
        rc = repair_streams(&repaired, absolute);
    free(absolute);
    if (rc < 0) {
        ctf_repaired_done(&repaired);
        return rc;
    }
    *ret = repaired;
    return 0;
}

/* ---- removal -------------------------------------------------------------------------------- */

/* Our directories hold files and links only. */
static void remove_dir(const char *path)
{
    DIR *dir = opendir(path);

    for (struct dirent *entry; dir && (entry = readdir(dir));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            (void)unlinkat(dirfd(dir), entry->d_name, 0);
    if (dir)
        (void)closedir(dir);
    (void)rmdir(path);
}

/* Also directories whose making failed half-way, hence by what is there and not by our list. */
void ctf_repaired_done(struct ctf_repaired *repaired)
{
    DIR *root = repaired->root ? opendir(repaired->root) : NULL;

    for (struct dirent *entry; root && (entry = readdir(root));) {
        char path[PATH_MAX];
        if (entry->d_name[0] < '0' || entry->d_name[0] > '9')
            continue;
        if (snprintf(path, sizeof(path), "%s/%s", repaired->root, entry->d_name) < (int)sizeof(path))
            remove_dir(path);
    }
    if (root)
        (void)closedir(root);
    if (repaired->root)
        remove_dir(repaired->root);
    free(repaired->root);
    for (size_t i = 0; i < repaired->nr; i++)
        free(repaired->dirs[i]);
    free(repaired->dirs);
    free(repaired->note);
    *repaired = (struct ctf_repaired){0};
}
