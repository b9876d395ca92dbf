/* file.c - calls on files, pipes and sockets become bursts; calls that change files become events of their own. */
#include "shim/core/calls.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "shim/core/burst.h"
#include "shim/core/fd.h"
#include "shim/core/name.h"
#include "shim/core/nccl_code.h"
#include "shim/core/options.h"
#include "shim/core/torch.h"

static struct burst one_call(const struct shim_call *call, uint64_t key)
{
    return (struct burst){.key = key,
                          .start_ns = call->start_ns,
                          .end_ns = call->end_ns,
                          .busy_ns = call->end_ns - call->start_ns,
                          .count = 1};
}

/* Whether the call begins where the last one on this descriptor ended. offset -1: wherever the file stands. */
static bool is_random(struct fd_entry *e, int64_t offset, uint64_t bytes)
{
    uint64_t expected = atomic_load_explicit(&e->next_offset, memory_order_relaxed);
    uint64_t at = offset < 0 ? expected : (uint64_t)offset;
    atomic_store_explicit(&e->next_offset, at + bytes, memory_order_relaxed);
    return at != expected;
}

/* Reading from a pipe or socket that was empty is waiting for whoever feeds it. */
static void pipe_or_socket(struct thread *t, struct fd_entry *e, const struct shim_call *call, enum tr_io_op op,
                           uint64_t bytes, enum fd_kind kind)
{
    uint64_t inode = atomic_load_explicit(&e->inode, memory_order_relaxed);
    bool socket = kind == FD_SOCK;
    struct burst b = one_call(call, socket ? atomic_load_explicit(&e->name, memory_order_relaxed) : inode);
    if (socket && nccl_has_code(call->caller))
        b.key |= BURST_BY_NCCL;
    b.op = op;
    b.bytes = bytes;
    if (b.busy_ns >= options.wait_ns)
        burst_wait(t, socket ? TR_wait_kind_sock : TR_wait_kind_pipe, inode, 0, call->start_ns, call->end_ns);
    burst_add(t, socket ? SLOT_SOCK : SLOT_PIPE, &b);
}

void call_io(struct shim_call *call, enum tr_io_op op, int fd, ssize_t rc, int64_t offset)
{
    struct thread *t = thread_of(call);
    struct fd_entry *e = detail_is_off() ? NULL : fd_lookup(fd);
    enum fd_kind kind = e ? atomic_load_explicit(&e->kind, memory_order_relaxed) : FD_OTHER;
    uint64_t bytes = rc > 0 ? (uint64_t)rc : 0;

    if (kind == FD_PIPE || kind == FD_SOCK) {
        if (rc >= 0)
            pipe_or_socket(t, e, call, op, bytes, kind);
    } else if (kind == FD_FILE) {
        if (rc < 0 && op == TR_io_op_write && !atomic_load_explicit(&e->error, memory_order_relaxed))
            atomic_store_explicit(&e->error, call->saved_errno, memory_order_relaxed); /* a full disk, a lost mount */
        struct burst b = one_call(call, fd_file_name(e, fd, bytes));
        b.op = op;
        b.bytes = bytes;
        b.random = is_random(e, offset, bytes);
        burst_add(t, SLOT_FILE, &b);
    }
}

static void add_meta(struct thread *t, const struct shim_call *call, uint32_t dir, bool is_open, bool failed)
{
    struct burst b = one_call(call, dir);
    b.opens = is_open;
    b.failed = failed;
    if (dir && !detail_is_off())
        burst_add(t, SLOT_META, &b);
}

/* A job that writes thousands of small files must not drown its checkpoints, whose events are kept for good: beyond
 * a burst of TOLD_MAX and TOLD_PER_S after it, such files are only counted in their directory. */
#define TOLD_MAX 1000u
#define TOLD_PER_S 100u

static bool is_worth_telling(uint64_t now)
{
    static atomic_uint left = TOLD_MAX;
    static _Atomic uint64_t refilled_s;
    uint64_t second = now / 1000000000u, last = atomic_load_explicit(&refilled_s, memory_order_relaxed);
    if (second != last && atomic_compare_exchange_strong(&refilled_s, &last, second)) {
        uint64_t more = atomic_load(&left) + (second - last) * TOLD_PER_S;
        atomic_store(&left, more > TOLD_MAX ? TOLD_MAX : (unsigned)more);
    }
    unsigned have = atomic_load_explicit(&left, memory_order_relaxed);
    while (have && !atomic_compare_exchange_weak(&left, &have, have - 1))
        ;
    return have != 0;
}

static void emit_file_op(struct thread *t, const struct shim_call *call, enum tr_file_act op, uint32_t name,
                         uint32_t name2, uint64_t size, int err)
{
    name_send(name, t->tid);
    name_send(name2, t->tid);
    EMIT(file_op, t->tid, .op = (uint8_t)op, .err = err, .name = name, .name2 = name2, .size_bytes = size,
         .start_ns = call->start_ns, .dur_ns = call->end_ns - call->start_ns);
}

static uint32_t name_of_path(const char *path)
{
    return name_of(TR_name_kind_file, path, strlen(path));
}

/* An open that failed: for writing it matters by name (a full disk, a checkpoint that cannot be made). */
static void open_failed(struct thread *t, const struct shim_call *call, const char *path, bool writes)
{
    if (!path || path_is_dull(path))
        return;
    if (writes && is_worth_telling(call->start_ns))
        emit_file_op(t, call, TR_file_act_create, name_of_path(path), 0, 0, call->saved_errno);
    else
        add_meta(t, call, name_of_dir(path), true, true);
}

void call_opened(struct shim_call *call, int dirfd, const char *path, int flags, int fd)
{
    char buf[PATH_MAX];
    struct thread *t = thread_of(call);
    bool writes = (flags & O_ACCMODE) != O_RDONLY;

    if (unlikely(call->tls->after_dlopen))
        torch_look(call->tls, path);
    if (fd < 0) {
        open_failed(t, call, fd_absolute(dirfd, path, buf, sizeof(buf)), writes);
        return;
    }
    bool told = writes && is_worth_telling(call->start_ns);
    struct fd_entry *e = fd_opened(fd, dirfd, path, flags, told);
    if (!e || atomic_load_explicit(&e->kind, memory_order_relaxed) != FD_FILE)
        return;
    add_meta(t, call, atomic_load_explicit(&e->dir, memory_order_relaxed), true, false);
    if (told)
        emit_file_op(t, call, TR_file_act_create, atomic_load_explicit(&e->name, memory_order_relaxed), 0, 0, 0);
}

void call_closing(struct shim_call *call, int fd)
{
    struct thread *t = call->tls->self;
    struct fd_entry *e = fd_lookup(fd);
    struct stat st;

    t->closing_name = t->closing_dir = 0;
    if (e && atomic_load_explicit(&e->kind, memory_order_relaxed) == FD_FILE) {
        t->closing_dir = atomic_load_explicit(&e->dir, memory_order_relaxed);
        if (e->writes) {
            t->closing_name = atomic_load_explicit(&e->name, memory_order_relaxed);
            t->closing_bytes = fstat(fd, &st) == 0 ? (uint64_t)st.st_size : 0;
            t->closing_error = atomic_load_explicit(&e->error, memory_order_relaxed);
        }
    }
    fd_forget(fd);
}

void call_closed(struct shim_call *call)
{
    struct thread *t = thread_of(call);
    if (t->closing_name)
        emit_file_op(t, call, TR_file_act_close, t->closing_name, 0, t->closing_bytes, t->closing_error);
    else
        add_meta(t, call, t->closing_dir, false, false);
}

void call_meta(struct shim_call *call, int dirfd, const char *path, bool failed)
{
    char buf[PATH_MAX];
    struct thread *t = thread_of(call);

    if (!path) { /* on an open file: only if we know it, a look would cost more than the call */
        struct fd_entry *e = fd_lookup(dirfd);
        if (e && atomic_load_explicit(&e->kind, memory_order_relaxed) == FD_FILE)
            add_meta(t, call, atomic_load_explicit(&e->dir, memory_order_relaxed), false, failed);
        return;
    }
    path = fd_absolute(dirfd, path, buf, sizeof(buf));
    if (path && !path_is_dull(path))
        add_meta(t, call, name_of_dir(path), false, failed);
}

/* Plumbing of multiprocessing and PyTorch in /dev/shm: a few per batch, and nobody's checkpoint. */
static bool is_plumbing(const char *path)
{
    static const char *const prefixes[] = {"torch_", "sem.", "psm_", "pym-", "pymp-", "lttng-"};
    if (strncmp(path, "/dev/shm/", 9) != 0)
        return path_is_dull(path);
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
        if (strncmp(path + 9, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

static uint32_t changed_name(int dirfd, const char *path)
{
    char buf[PATH_MAX];
    path = fd_absolute(dirfd, path, buf, sizeof(buf));
    return path && !is_plumbing(path) ? name_of_path(path) : 0;
}

/* The name of an open file, whatever its size: its change is told. */
static uint32_t open_file_name(int fd)
{
    struct fd_entry *e = fd_lookup(fd);
    if (!e || atomic_load_explicit(&e->kind, memory_order_relaxed) != FD_FILE)
        return 0;
    uint32_t name = atomic_load_explicit(&e->name, memory_order_relaxed);
    return name ? name : changed_name(fd, NULL);
}

void call_file(struct shim_call *call, enum tr_file_act op, int fd, int dirfd, const char *path, int dirfd2,
               const char *path2, uint64_t size, bool failed)
{
    struct thread *t = thread_of(call);
    bool always = op == TR_file_act_rename || op == TR_file_act_fsync || op == TR_file_act_link;
    if (!always && !is_worth_telling(call->start_ns)) {
        if (path)
            call_meta(call, dirfd, path, failed);
        return;
    }
    uint32_t name = path ? changed_name(dirfd, path) : open_file_name(fd);
    if (name)
        emit_file_op(t, call, op, name, path2 ? changed_name(dirfd2, path2) : 0, size, failed ? call->saved_errno : 0);
}
