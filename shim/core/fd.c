/* fd.c - see fd.h. */
#include "shim/core/fd.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/core/name.h"
#include "shim/core/options.h"

#define CHUNK 1024
#define NR_CHUNKS 1024

static _Atomic(struct fd_entry *) chunks[NR_CHUNKS];

static struct fd_entry *entry(int fd, bool make)
{
    if (fd < 0 || fd >= CHUNK * NR_CHUNKS)
        return NULL;
    struct fd_entry *chunk = atomic_load_explicit(&chunks[fd / CHUNK], memory_order_acquire);
    if (!chunk) {
        if (!make)
            return NULL;
        struct fd_entry *fresh = map_lazily(CHUNK * sizeof(*fresh));
        if (!fresh)
            return NULL;
        if (atomic_compare_exchange_strong(&chunks[fd / CHUNK], &chunk, fresh))
            chunk = fresh;
        else
            munmap(fresh, CHUNK * sizeof(*fresh));
    }
    return &chunk[fd % CHUNK];
}

bool path_is_dull(const char *path)
{
    if (strncmp(path, "/dev/shm/", 9) == 0)
        return false;
    if (options.nccl_log && strncmp(path, options.nccl_log, strlen(options.nccl_log)) == 0)
        return true; /* ours */
    return strncmp(path, "/proc/", 6) == 0 || strncmp(path, "/sys/", 5) == 0 || strncmp(path, "/dev/", 5) == 0;
}

static const char *path_of_fd(int fd, char *buf, size_t room)
{
    char link[40];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, buf, room - 1);
    if (n <= 0 || buf[0] != '/')
        return NULL;
    buf[n] = 0;
    return buf;
}

const char *fd_absolute(int dirfd, const char *path, char *buf, size_t room)
{
    if (!path || !*path)
        return path_of_fd(dirfd, buf, room);
    if (path[0] == '/')
        return path;
    if (dirfd == AT_FDCWD ? !getcwd(buf, room) : !path_of_fd(dirfd, buf, room))
        return NULL;
    size_t n = strlen(buf);
    if (path[0] == '.' && path[1] == '/')
        path += 2;
    if (n + 1 + strlen(path) + 1 > room)
        return NULL;
    if (n && buf[n - 1] != '/')
        buf[n++] = '/';
    strcpy(buf + n, path);
    return buf;
}

static void publish(struct fd_entry *e, enum fd_kind kind)
{
    atomic_store_explicit(&e->next_offset, 0, memory_order_relaxed);
    atomic_store_explicit(&e->moved, 0, memory_order_relaxed);
    atomic_store_explicit(&e->error, 0, memory_order_relaxed);
    atomic_store_explicit(&e->kind, kind, memory_order_release);
}

struct fd_entry *fd_opened(int fd, int dirfd, const char *path, int flags, bool name_it)
{
    char buf[PATH_MAX];
    struct fd_entry *e = entry(fd, true);
    if (!e)
        return NULL;
    path = fd_absolute(dirfd, path, buf, sizeof(buf));
    e->writes = (flags & O_ACCMODE) != O_RDONLY;
    if (!path || path_is_dull(path)) {
        publish(e, path ? FD_OTHER : FD_UNKNOWN);
        return e;
    }
    atomic_store_explicit(&e->dir, name_of_dir(path), memory_order_relaxed);
    atomic_store_explicit(&e->name, name_it ? name_of(TR_name_kind_file, path, strlen(path)) : 0, memory_order_relaxed);
    publish(e, FD_FILE);
    return e;
}

/* "10.0.0.7:443" where we called; "10.0.0.7 to :6000" where we were called: then its port says nothing. */
static uint32_t peer_name(const struct sockaddr_storage *peer, const struct sockaddr_storage *own)
{
    char address[INET6_ADDRSTRLEN] = "", text[INET6_ADDRSTRLEN + 24];
    const struct sockaddr_in *p4 = (const void *)peer, *o4 = (const void *)own;
    const struct sockaddr_in6 *p6 = (const void *)peer, *o6 = (const void *)own;
    bool v4 = peer->ss_family == AF_INET;
    unsigned port = ntohs(v4 ? p4->sin_port : p6->sin6_port), own_port = ntohs(v4 ? o4->sin_port : o6->sin6_port);

    inet_ntop(peer->ss_family, v4 ? (const void *)&p4->sin_addr : (const void *)&p6->sin6_addr, address,
              sizeof(address));
    bool called = port >= 32768 && own_port < 32768;
    const char *form = called ? "%s to :%u" : v4 ? "%s:%u" : "[%s]:%u";
    int n = snprintf(text, sizeof(text), form, address, called ? own_port : port);
    return name_of(TR_name_kind_peer, text, (size_t)n);
}

static void look_at_socket(struct fd_entry *e, int fd)
{
    struct sockaddr_storage peer = {0}, own = {0};
    socklen_t peer_len = sizeof(peer), own_len = sizeof(own);
    if (getpeername(fd, (struct sockaddr *)&peer, &peer_len) != 0 ||
        getsockname(fd, (struct sockaddr *)&own, &own_len) != 0) {
        publish(e, FD_OTHER); /* listening, or not connected yet: connect() makes us look again */
        return;
    }
    if (peer.ss_family != AF_INET && peer.ss_family != AF_INET6) {
        publish(e, FD_PIPE); /* a local socket is as good as a pipe */
        return;
    }
    atomic_store_explicit(&e->name, peer_name(&peer, &own), memory_order_relaxed);
    publish(e, FD_SOCK);
}

static void look_at_file(struct fd_entry *e, int fd)
{
    char buf[PATH_MAX];
    const char *path = path_of_fd(fd, buf, sizeof(buf));
    int flags = fcntl(fd, F_GETFL);
    if (!path || path_is_dull(path)) {
        publish(e, FD_OTHER);
        return;
    }
    e->writes = flags >= 0 && (flags & O_ACCMODE) != O_RDONLY;
    atomic_store_explicit(&e->dir, name_of_dir(path), memory_order_relaxed);
    atomic_store_explicit(&e->name, e->writes ? name_of(TR_name_kind_file, path, strlen(path)) : 0,
                          memory_order_relaxed);
    publish(e, FD_FILE);
}

/* A descriptor whose open we have not seen: from before our time, inherited, received, or made inside libc. */
static void look(struct fd_entry *e, int fd)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return;
    atomic_store_explicit(&e->inode, st.st_ino, memory_order_relaxed);
    atomic_store_explicit(&e->name, 0, memory_order_relaxed);
    e->writes = false;
    if (S_ISREG(st.st_mode))
        look_at_file(e, fd);
    else if (S_ISSOCK(st.st_mode))
        look_at_socket(e, fd);
    else
        publish(e, S_ISFIFO(st.st_mode) ? FD_PIPE : FD_OTHER);
}

struct fd_entry *fd_lookup(int fd)
{
    struct fd_entry *e = entry(fd, true);
    if (e && unlikely(atomic_load_explicit(&e->kind, memory_order_acquire) == FD_UNKNOWN))
        look(e, fd);
    return e;
}

void fd_forget(int fd)
{
    struct fd_entry *e = entry(fd, false);
    if (e)
        atomic_store_explicit(&e->kind, FD_UNKNOWN, memory_order_relaxed);
}

void fd_forget_all(void)
{
    for (int fd = 0; fd < CHUNK * NR_CHUNKS; fd += CHUNK) {
        if (!entry(fd, false))
            continue;
        for (int i = 0; i < CHUNK; i++)
            fd_forget(fd + i);
    }
}

uint32_t fd_file_name(struct fd_entry *e, int fd, uint64_t bytes)
{
    uint64_t moved = atomic_load_explicit(&e->moved, memory_order_relaxed) + bytes;
    uint32_t name = atomic_load_explicit(&e->name, memory_order_relaxed);
    if (name)
        return name;
    atomic_store_explicit(&e->moved, moved, memory_order_relaxed);
    if (moved >= FD_LARGE_BYTES) {
        char buf[PATH_MAX];
        const char *path = path_of_fd(fd, buf, sizeof(buf));
        if (path) {
            name = name_of(TR_name_kind_file, path, strlen(path));
            atomic_store_explicit(&e->name, name, memory_order_relaxed);
            return name;
        }
        atomic_store_explicit(&e->moved, 0, memory_order_relaxed); /* not again at each call */
    }
    return atomic_load_explicit(&e->dir, memory_order_relaxed);
}
