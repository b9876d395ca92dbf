/* output.c - see output.h. */
#include "analysis/cmd/output.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "traces/session_error.h"

#define NO_BOOT_ID "00000000-0000-0000-0000-000000000000"
#define BOOT_ID_LEN 36

static void read_boot_id(char boot[BOOT_ID_LEN + 1])
{
    strcpy(boot, NO_BOOT_ID);
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (!f)
        return;
    char line[64];
    if (fgets(line, sizeof(line), f) && strcspn(line, "\n") == BOOT_ID_LEN)
        memcpy(boot, line, BOOT_ID_LEN);
    fclose(f);
}

/* Is it a name that we give: ...-<boot id> or ...-<boot id>.N? */
static bool is_node_name(const char *name)
{
    size_t len = strlen(name);
    const char *dot = strrchr(name, '.');
    if (dot && dot[1] && dot[1 + strspn(dot + 1, "0123456789")] == '\0')
        len = dot - name;
    if (len <= BOOT_ID_LEN + 1 || name[len - BOOT_ID_LEN - 1] != '-')
        return false;
    const char *boot = name + len - BOOT_ID_LEN;
    for (int i = 0; i < BOOT_ID_LEN; i++)
        if (NO_BOOT_ID[i] == '-' ? boot[i] != '-' : !isxdigit((unsigned char)boot[i]))
            return false;
    return true;
}

/* 0 if DIR is empty (hidden files apart) or holds at least one trace of ours; else a stranger's name. */
static int check_contents(const char *dir, char *stranger, size_t size)
{
    DIR *d = opendir(dir);
    if (!d)
        return -errno;
    int rc = 0;
    struct dirent *entry;
    while ((entry = readdir(d))) {
        if (entry->d_name[0] == '.')
            continue;
        if (is_node_name(entry->d_name)) {
            rc = 0;
            break;
        }
        snprintf(stranger, size, "%s", entry->d_name);
        rc = -ENOTEMPTY;
    }
    closedir(d);
    return rc;
}

/* mkdir -p with 0700 for what it makes. *ret_made says whether the last part was made. */
static int make_path(const char *path, bool *ret_made)
{
    char part[PATH_MAX];
    snprintf(part, sizeof(part), "%s", path);
    for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(part, 0700) < 0 && errno != EEXIST)
            return -errno;
        *slash = '/';
    }
    *ret_made = mkdir(part, 0700) == 0;
    return *ret_made || errno == EEXIST ? 0 : -errno;
}

static int absolute(const char *dir, char *path, size_t size)
{
    char cwd[PATH_MAX] = "";
    if (dir[0] != '/' && !getcwd(cwd, sizeof(cwd)))
        return -errno;
    size_t len = strlen(dir);
    while (len > 1 && dir[len - 1] == '/')
        len--;
    int n = dir[0] == '/' ? snprintf(path, size, "%.*s", (int)len, dir)
                          : snprintf(path, size, "%s/%.*s", cwd, (int)len, dir);
    return n + 128 < (int)size ? 0 : -ENAMETOOLONG; /* room for the names below it */
}

int output_open(struct output *ret, const char *dir, char **ret_error)
{
    struct output o = {.node_fd = -1, .session_fd = -1, .lock_fd = -1};
    char stranger[NAME_MAX + 1];
    int rc = absolute(dir, o.dir, sizeof(o.dir));

    if (rc == 0)
        rc = make_path(o.dir, &o.made_dir);
    if (rc == 0)
        rc = check_contents(o.dir, stranger, sizeof(stranger));
    if (rc == -ENOTEMPTY)
        return session_fail(ret_error, rc, "%s holds \"%s\", which is no trshim trace; give a new directory with -o",
                            dir, stranger);
    if (rc < 0)
        return session_fail(ret_error, rc, "cannot use %s for the trace: %s; give another directory with -o", dir,
                            strerror(-rc));

    if (gethostname(o.host, sizeof(o.host)) < 0 || !o.host[0])
        strcpy(o.host, "localhost");
    o.host[sizeof(o.host) - 1] = '\0';
    read_boot_id(o.boot);
    snprintf(o.node, sizeof(o.node), "%.3900s/%s-%s", o.dir, o.host, o.boot);
    o.made_node = mkdir(o.node, 0700) == 0;
    o.node_fd = o.made_node || errno == EEXIST ? open(o.node, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (o.node_fd < 0) {
        rc = session_fail(ret_error, -errno, "cannot make %s: %s; give another directory with -o", o.node,
                          strerror(errno));
        output_undo(&o);
        return rc;
    }
    *ret = o;
    return 0;
}

void output_close(struct output *o)
{
    output_unlock(o);
    if (o->node_fd >= 0)
        close(o->node_fd);
    if (o->session_fd >= 0)
        close(o->session_fd);
    o->node_fd = o->session_fd = -1;
}

/* The lock is on the directory itself. Network file systems may refuse that; the processes to keep apart are on one
 * node, so a directory that all of them have serves as well, if a little longer than needed. */
int output_lock(struct output *o)
{
    const char *const places[] = {o->node, "/tmp", "/dev/shm"};
    for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
        int fd = open(places[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
            continue;
        int rc;
        do
            rc = flock(fd, LOCK_EX);
        while (rc < 0 && errno == EINTR);
        if (rc == 0) {
            o->lock_fd = fd;
            return 0;
        }
        close(fd);
    }
    return -ENOLCK;
}

void output_unlock(struct output *o)
{
    if (o->lock_fd < 0)
        return;
    (void)flock(o->lock_fd, LOCK_UN); /* a forked keeper has the descriptor too: closing ours is not enough */
    close(o->lock_fd);
    o->lock_fd = -1;
}

int output_find_keeper(const struct output *o, char *home, size_t size)
{
    int fd = openat(o->node_fd, ".keeper", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return -errno;
    ssize_t n = read(fd, home, size - 1);
    close(fd);
    if (n <= 0)
        return -ENOENT;
    home[n] = '\0';
    return 0;
}

int output_set_keeper(const struct output *o, const char *home)
{
    int fd = openat(o->node_fd, ".keeper", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return -errno;
    int rc = write(fd, home, strlen(home)) == (ssize_t)strlen(home) ? 0 : -EIO;
    close(fd);
    return rc;
}

void output_clear_keeper(const struct output *o)
{
    (void)unlinkat(o->node_fd, ".keeper", 0);
}

int output_new_session(struct output *o, bool *ret_again, char **ret_error)
{
    *ret_again = faccessat(o->node_fd, "session.json", F_OK, 0) == 0;
    strcpy(o->session, o->node);
    for (int i = 2; *ret_again; i++) {
        snprintf(o->session, sizeof(o->session), "%.4000s.%d", o->node, i);
        if (mkdir(o->session, 0700) == 0)
            break;
        if (errno != EEXIST)
            return session_fail(ret_error, -errno, "cannot make %s: %s", o->session, strerror(errno));
    }
    o->session_fd = open(o->session, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (o->session_fd < 0)
        return session_fail(ret_error, -errno, "cannot open %s: %s", o->session, strerror(errno));
    return 0;
}

const char *output_nccl_log(struct output *o)
{
    const char *below = *o->session ? o->session : o->node;
    if (snprintf(o->nccl_log, sizeof(o->nccl_log), "%s/nccl", below) >= (int)sizeof(o->nccl_log))
        return NULL;
    return mkdir(o->nccl_log, 0700) == 0 || errno == EEXIST ? o->nccl_log : NULL;
}

void output_undo(struct output *o)
{
    if (o->session_fd >= 0)
        (void)rmdir(o->session);
    if (o->made_node)
        (void)rmdir(o->node);
    if (o->made_dir)
        (void)rmdir(o->dir);
}

void output_chown(int fd, uid_t uid, gid_t gid)
{
    (void)!fchown(fd, uid, gid);
    int again = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = again < 0 ? NULL : fdopendir(again);
    if (!dir) {
        if (again >= 0)
            close(again);
        return;
    }
    struct dirent *entry;
    while ((entry = readdir(dir))) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
            continue;
        int sub = openat(dirfd(dir), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (sub >= 0) {
            output_chown(sub, uid, gid);
            close(sub);
        } else {
            (void)!fchownat(dirfd(dir), entry->d_name, uid, gid, AT_SYMLINK_NOFOLLOW);
        }
    }
    closedir(dir);
}

uint64_t output_size(const char *path)
{
    struct stat st;
    if (lstat(path, &st) < 0)
        return 0;
    if (!S_ISDIR(st.st_mode))
        return (uint64_t)st.st_size;
    DIR *dir = opendir(path);
    if (!dir)
        return 0;
    uint64_t sum = 0;
    char below[PATH_MAX];
    struct dirent *entry;
    while ((entry = readdir(dir)))
        if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..") &&
            snprintf(below, sizeof(below), "%s/%s", path, entry->d_name) < (int)sizeof(below))
            sum += output_size(below);
    closedir(dir);
    return sum;
}
