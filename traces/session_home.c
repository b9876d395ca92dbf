/* session_home.c - see session_home.h. */
#include "traces/session_home.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "traces/session_error.h"
#include "traces/session_wake.h"

#define FRESH_PREFIX "trshim."

static int socket_address(struct sockaddr_un *addr, const char *dir, const char *name)
{
    *addr = (struct sockaddr_un){.sun_family = AF_UNIX};
    int n = snprintf(addr->sun_path, sizeof(addr->sun_path), "%s/%s", dir, name);
    return n < (int)sizeof(addr->sun_path) ? 0 : -ENAMETOOLONG;
}

/* A listening socket dir/name, or -errno. */
static int listen_at(const char *dir, const char *name)
{
    struct sockaddr_un addr;
    int rc = socket_address(&addr, dir, name);
    if (rc < 0)
        return rc;
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    if (bind(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0 || listen(fd, 64) < 0) {
        rc = -errno;
        close(fd);
        return rc;
    }
    return fd;
}

int home_connect(const char *path)
{
    struct sockaddr_un addr;
    int rc = socket_address(&addr, path, "keeper");
    if (rc < 0)
        return rc;
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0) {
        rc = -errno;
        close(fd);
        return rc;
    }
    return fd;
}

void tree_remove(int parent, const char *name)
{
    if (unlinkat(parent, name, 0) == 0 || (errno != EISDIR && errno != EPERM))
        return;
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir) {
        if (fd >= 0)
            close(fd);
        return;
    }
    struct dirent *entry;
    while ((entry = readdir(dir)))
        if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
            tree_remove(dirfd(dir), entry->d_name);
    closedir(dir);
    (void)unlinkat(parent, name, AT_REMOVEDIR);
}

/* Only what this very user made is ours to remove: others may put anything under our names into /tmp. */
static bool is_ours(int dir_fd)
{
    struct stat st;
    return fstat(dir_fd, &st) == 0 && st.st_uid == geteuid() && !(st.st_mode & (S_IWGRP | S_IWOTH));
}

/* The lock file holds the daemon's uid, for the word that it made in /dev/shm. */
static void note_daemon(int lock_fd, uid_t uid)
{
    char text[16];
    int n = snprintf(text, sizeof(text), "%u\n", uid);
    (void)!ftruncate(lock_fd, 0);
    (void)!pwrite(lock_fd, text, (size_t)n, 0);
}

static void forget_daemon(int lock_fd)
{
    char text[16] = "";
    if (pread(lock_fd, text, sizeof(text) - 1, 0) <= 0)
        return;
    unsigned long uid = strtoul(text, NULL, 10);
    if (uid >= IDENTITY_OURS_FIRST)
        wake_forget((uid_t)uid);
}

void home_remove_stale(const char *path)
{
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir < 0)
        return;
    int lock = is_ours(dir) ? openat(dir, "lock", O_RDWR | O_NOFOLLOW | O_CLOEXEC) : -1;
    if (lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0) {
        forget_daemon(lock);
        tree_remove(AT_FDCWD, path);
    }
    if (lock >= 0)
        close(lock);
    close(dir);
}

static void sweep(const char *base)
{
    DIR *dir = opendir(base);
    if (!dir)
        return;
    struct dirent *entry;
    char path[HOME_PATH_MAX];
    while ((entry = readdir(dir)))
        if (!strncmp(entry->d_name, FRESH_PREFIX, strlen(FRESH_PREFIX)) &&
            snprintf(path, sizeof(path), "%s/%s", base, entry->d_name) < (int)sizeof(path))
            home_remove_stale(path);
    closedir(dir);
}

static void close_home(struct session_home *home)
{
    int *fds[] = {&home->lock_fd, &home->log_fd, &home->keeper_fd};
    for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++) {
        if (*fds[i] >= 0)
            close(*fds[i]);
        *fds[i] = -1;
    }
    if (home->control)
        munmap(home->control, sizeof(*home->control));
    home->control = NULL;
}

static int map_control(struct session_home *home, int dir)
{
    int fd = openat(dir, "control", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return -errno;
    int rc = ftruncate(fd, sizeof(*home->control)) < 0 ? -errno : 0;
    if (rc == 0) {
        void *page = mmap(NULL, sizeof(*home->control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        rc = page == MAP_FAILED ? -errno : 0;
        home->control = rc == 0 ? page : NULL;
    }
    close(fd);
    if (rc == 0)
        home->control->magic = TR_CONTROL_MAGIC;
    return rc;
}

/* The daemon's identity must be able to make sockets below; only trying tells (modes, user namespaces, file systems
 * without sockets). */
static int try_socket(const struct session_identity *id, const char *path)
{
    char dir[HOME_PATH_MAX + 8], sock[HOME_PATH_MAX + 16];
    snprintf(dir, sizeof(dir), "%s/.lttng", path);
    snprintf(sock, sizeof(sock), "%s/try", dir);

    int rc = identity_enter(id);
    if (rc < 0)
        return rc;
    int fd = listen_at(dir, "try");
    if (fd >= 0) {
        close(fd);
        unlink(sock);
    }
    rc = identity_leave(id);
    return fd < 0 ? fd : rc;
}

/* In a directory that stays ours, the daemon owns two. */
static int let_daemon_in(int dir, const struct session_identity *id)
{
    return fchmodat(dir, ".", 0711, 0) < 0 || fchownat(dir, ".lttng", id->uid, id->gid, AT_SYMLINK_NOFOLLOW) < 0 ||
                   fchownat(dir, "load", id->uid, id->gid, AT_SYMLINK_NOFOLLOW) < 0
               ? -1
               : 0;
}

/* Fills the directory `path`, which is ours. On failure what was made is left to the caller's home_remove. */
static int furnish(struct session_home *home, const struct session_identity *id)
{
    int dir = open(home->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir < 0)
        return -errno;
    int rc = 0;
    home->lock_fd = openat(dir, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (home->lock_fd < 0 || flock(home->lock_fd, LOCK_EX | LOCK_NB) < 0) {
        rc = errno == EWOULDBLOCK ? -EBUSY : -errno;
        goto out;
    }
    forget_daemon(home->lock_fd);
    note_daemon(home->lock_fd, id->uid);
    /* What a killed predecessor at a known place left; a job may be there already and is no reason to stop. */
    tree_remove(dir, ".lttng");
    tree_remove(dir, "load");
    (void)unlinkat(dir, "keeper", 0);

    home->log_fd = openat(dir, "log", O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (home->log_fd < 0 || mkdirat(dir, "load", 0700) < 0 || mkdirat(dir, ".lttng", 0700) < 0 ||
        (id->kind == IDENTITY_SETUID && let_daemon_in(dir, id) < 0)) {
        rc = -errno;
        goto out;
    }
    rc = map_control(home, dir);
    if (rc == 0)
        rc = try_socket(id, home->path);
    if (rc == 0) {
        home->keeper_fd = listen_at(home->path, "keeper");
        rc = home->keeper_fd < 0 ? home->keeper_fd : 0;
    }
out:
    close(dir);
    return rc;
}

static void init_home(struct session_home *home)
{
    *home = (struct session_home){.lock_fd = -1, .log_fd = -1, .keeper_fd = -1};
}

static int make_below(struct session_home *home, const struct session_identity *id, const char *base)
{
    init_home(home);
    int n = snprintf(home->path, sizeof(home->path), "%s/" FRESH_PREFIX "XXXXXX", base);
    if (n >= (int)sizeof(home->path))
        return -ENAMETOOLONG;
    sweep(base);
    if (!mkdtemp(home->path))
        return -errno;
    int rc = furnish(home, id);
    if (rc < 0)
        home_remove(home);
    return rc;
}

int home_make(struct session_home *ret, const struct session_identity *id, const char *last_resort, char **ret_error)
{
    const char *const bases[] = {getenv("TRSHIM_RUNTIME_DIR"), getenv("XDG_RUNTIME_DIR"), "/tmp", "/dev/shm",
                                 last_resort};
    char tried[512] = "";

    for (size_t i = 0; i < sizeof(bases) / sizeof(*bases); i++) {
        if (!bases[i] || bases[i][0] != '/')
            continue;
        struct session_home home;
        int rc = make_below(&home, id, bases[i]);
        if (rc == 0) {
            *ret = home;
            return 0;
        }
        size_t len = strlen(tried);
        snprintf(tried + len, sizeof(tried) - len, "%s%s: %s", len ? ", " : "", bases[i], strerror(-rc));
    }
    return session_fail(ret_error, -EACCES,
                        "no directory for the session's sockets (%s); name a writable local one with a short path in "
                        "TRSHIM_RUNTIME_DIR",
                        tried);
}

int home_make_at(struct session_home *ret, const struct session_identity *id, const char *path, char **ret_error)
{
    struct session_home home;
    init_home(&home);
    int n = snprintf(home.path, sizeof(home.path), "%s", path);
    if (n >= (int)sizeof(home.path))
        return session_fail(ret_error, -ENAMETOOLONG, "%s is too long for sockets below it (at most %d bytes)", path,
                            HOME_PATH_MAX - 1);
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return session_fail(ret_error, -errno, "cannot make %s: %s", path, strerror(errno));
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    bool ours = dir >= 0 && is_ours(dir);
    if (dir >= 0)
        close(dir);
    if (!ours)
        return session_fail(ret_error, -EPERM,
                            "%s is not a directory of yours that only you can write; remove it or set TRSHIM_HOME",
                            path);
    int rc = furnish(&home, id);
    if (rc == -EBUSY) {
        close_home(&home);
        return session_fail(ret_error, rc, "a session is running at %s already; end it with: trshim stop", path);
    }
    if (rc < 0) {
        home_remove(&home);
        return session_fail(ret_error, rc, "cannot use %s for the session's sockets: %s; set TRSHIM_HOME", path,
                            strerror(-rc));
    }
    *ret = home;
    return 0;
}

int home_meeting_path(char *path, size_t size, char **ret_error)
{
    const char *home = getenv("TRSHIM_HOME");
    int n = home && home[0] == '/' ? snprintf(path, size, "%s", home)
                                   : snprintf(path, size, "/tmp/trshim-%u", (unsigned)getuid());
    if (n >= (int)size || n >= HOME_PATH_MAX)
        return session_fail(ret_error, -ENAMETOOLONG, "TRSHIM_HOME is too long for sockets below it (at most %d bytes)",
                            HOME_PATH_MAX - 1);
    return 0;
}

void home_remove(struct session_home *home)
{
    /* The lock is let go last: nobody may take the place while it is being emptied. */
    tree_remove(AT_FDCWD, home->path);
    close_home(home);
}
