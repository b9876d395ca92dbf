/* special.c - the hooks of hooks_special.def: calls that need more than one line. */
#include <link.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>

#include "shim/preload/hook.h"
#include "shim/preload/old_libc.h"

#define SPECIAL(ret, name, params)                                                                                     \
    PUBLIC ret hook_##name params __asm__(#name);                                                                      \
    PUBLIC ret hook_##name params

/* ---- nothing is recorded of these; nccl_log.c puts itself behind them when a log is to be kept -------------- */

SPECIAL(int, vfprintf, (FILE * f, const char *format, va_list args))
{
    return REAL(vfprintf)(f, format, args);
}

SPECIAL(int, __vfprintf_chk, (FILE * f, int flag, const char *format, va_list args))
{
    return REAL(__vfprintf_chk)(f, flag, format, args);
}

/* ---- closing: what is known of a descriptor is forgotten *before* it can be given out again. ---------------- */

static bool untouched_child(void)
{
    return core && core->untouched_child();
}

static void forget(int fd)
{
    if (core && !shim_tls.in_vfork)
        core->fd_forget(fd);
}

/* `call` closes `fd`; unwatched: a process that must not be watched, whatever is enabled. */
#define CLOSE(fd, unwatched, call)                                                                                     \
    struct shim_call c;                                                                                                \
    if (!gate_open(GATE_FILE) || (unwatched) || !hook_enter(&c)) {                                                     \
        forget(fd);                                                                                                    \
        return call;                                                                                                   \
    }                                                                                                                  \
    core->closing(&c, fd);                                                                                             \
    c.start_ns = now_ns();                                                                                             \
    hook_out(&c);                                                                                                      \
    int rc = call;                                                                                                     \
    hook_leave(&c);                                                                                                    \
    core->closed(&c);                                                                                                  \
    hook_done(&c);                                                                                                     \
    return rc

SPECIAL(int, close, (int fd))
{
    CLOSE(fd, untouched_child(), REAL(close)(fd));
}

SPECIAL(int, fclose, (FILE * f))
{
    int file = fileno_unlocked(f);
    CLOSE(file, false, REAL(fclose)(f));
}

/* Ranges can be huge (Python closes 3..max): beyond what anybody opens there is nothing to forget. */
static void forget_range(unsigned first, unsigned last)
{
    for (unsigned fd = first; fd <= last && fd < 65536; fd++)
        forget((int)fd);
}

SPECIAL(int, close_range, (unsigned first, unsigned last, int flags))
{
    (void)gate_open(GATE_FILE);
    forget_range(first, last);
    return REAL(close_range)(first, last, flags);
}

SPECIAL(void, closefrom, (int first))
{
    (void)gate_open(GATE_FILE);
    forget_range(first < 0 ? 0 : (unsigned)first, 65535);
    REAL(closefrom)(first);
}

SPECIAL(int, dup2, (int from, int to))
{
    (void)gate_open(GATE_FILE);
    if (from != to)
        forget(to);
    return REAL(dup2)(from, to);
}

SPECIAL(int, dup3, (int from, int to, int flags))
{
    (void)gate_open(GATE_FILE);
    forget(to);
    return REAL(dup3)(from, to, flags);
}

SPECIAL(FILE *, freopen, (const char *path, const char *mode, FILE *f))
{
    (void)gate_open(GATE_FILE);
    forget(fileno_unlocked(f));
    return REAL(freopen)(path, mode, f);
}

SPECIAL(FILE *, freopen64, (const char *path, const char *mode, FILE *f))
{
    (void)gate_open(GATE_FILE);
    forget(fileno_unlocked(f));
    return REAL(freopen64)(path, mode, f);
}

/* ---- mappings of files: their reads are page faults, seen in the thread's counters. -------------------------- */

#define MAP(name)                                                                                                      \
    struct shim_call c;                                                                                                \
    if (fd < 0 || (flags & MAP_ANONYMOUS) || !gate_open(GATE_FILE) || !hook_enter(&c))                                 \
        return REAL(name)(addr, len, prot, flags, fd, off);                                                            \
    hook_out(&c);                                                                                                      \
    void *rc = REAL(name)(addr, len, prot, flags, fd, off);                                                            \
    hook_leave(&c);                                                                                                    \
    core->file(&c, TR_file_act_mmap, fd, 0, NULL, 0, NULL, len, rc == MAP_FAILED);                                     \
    hook_done(&c);                                                                                                     \
    return rc

SPECIAL(void *, mmap, (void *addr, size_t len, int prot, int flags, int fd, off_t off))
{
    MAP(mmap);
}

SPECIAL(void *, mmap64, (void *addr, size_t len, int prot, int flags, int fd, off64_t off))
{
    MAP(mmap64);
}

/* ---- waits ---------------------------------------------------------------------------------------------------- */

/* Who wakes whom: remembered before the post, for the waiter may return before we do. No clock, no event. */
SPECIAL(int, sem_post, (sem_t * s))
{
    if (gate_open(GATE_WAIT) && !shim_tls.frame && !shim_tls.in_vfork)
        core->posted(&shim_tls, s);
    return REAL(sem_post)(s);
}

SPECIAL(int, connect, (int fd, const struct sockaddr *addr, socklen_t len))
{
    struct shim_call c;
    if (!gate_open(GATE_WAIT) || !hook_enter(&c))
        return REAL(connect)(fd, addr, len);
    core->fd_forget(fd); /* it has a peer from now on */
    core->blocking(c.tls, TR_wait_kind_sock, (uint64_t)fd, c.start_ns);
    hook_out(&c);
    int rc = REAL(connect)(fd, addr, len);
    hook_leave(&c);
    core->wait_fd(&c, TR_wait_kind_sock, fd);
    hook_done(&c);
    return rc;
}

/* libaio (linux/aio_abi.h). A finished request names its descriptor through the iocb it came from. */
struct aio_request {
    uint64_t data;
    uint32_t key, rw_flags;
    uint16_t opcode;
    int16_t priority;
    uint32_t fd;
    uint64_t buf, bytes;
    int64_t offset;
};

struct aio_event {
    uint64_t data;
    struct aio_request *request;
    int64_t result, result2;
};

enum { AIO_PREAD = 0, AIO_PWRITE = 1, AIO_PREADV = 7, AIO_PWRITEV = 8 };

/* Unlike libc, libaio may come late, and out of sight (RTLD_LOCAL): then the next definition is not the one we had
 * looked for, and has to be found in the library itself. */
static int find_libaio(struct dl_phdr_info *info, size_t size, void *ret_path)
{
    if (!strstr(info->dlpi_name, "/libaio.so"))
        return 0;
    *(const char **)ret_path = info->dlpi_name;
    return 1;
}

static void look_for_libaio(void)
{
    const char *path = NULL;
    if (!dl_iterate_phdr(find_libaio, &path) || !path)
        return;
    void *lib = ((void *(*)(const char *, int))real_dlopen)(path, RTLD_LAZY | RTLD_NOLOAD);
    void *found = lib ? dlsym(lib, "io_getevents") : NULL;
    if (found)
        real.io_getevents = (int (*)(void *, long, long, void *, struct timespec *))found;
}

SPECIAL(int, io_getevents, (void *ctx, long min, long max, void *events, struct timespec *t))
{
    struct shim_call c;
    if (unlikely(real_is_missing((void *)real.io_getevents)))
        look_for_libaio();
    if (!gate_open(GATE_IO) || !hook_enter(&c))
        return REAL(io_getevents)(ctx, min, max, events, t);
    core->blocking(c.tls, TR_wait_kind_aio, 0, c.start_ns);
    hook_out(&c);
    int rc = REAL(io_getevents)(ctx, min, max, events, t);
    hook_leave(&c);
    core->wait(&c, TR_wait_kind_aio, (uintptr_t)ctx);
    for (int i = 0; i < rc; i++) {
        const struct aio_request *r = ((struct aio_event *)events)[i].request;
        enum tr_io_op op = r->opcode == AIO_PREAD || r->opcode == AIO_PREADV ? TR_io_op_read : TR_io_op_write;
        core->io(&c, op, (int)r->fd, (ssize_t)((struct aio_event *)events)[i].result, r->offset);
    }
    hook_done(&c);
    return rc;
}

/* ---- life and death of processes ------------------------------------------------------------------------------ */

/* What is pending is written out before the process becomes another one; in a vfork child nothing is ours. */
static void before_exec(const char *path)
{
    struct shim_call c;
    if (gate_open(GATE_LIFE) && !untouched_child() && hook_enter(&c)) {
        core->before_exec(&c, path);
        hook_done(&c);
    }
}

SPECIAL(int, execve, (const char *path, char *const argv[], char *const envp[]))
{
    before_exec(path);
    return REAL(execve)(path, argv, envp);
}

SPECIAL(int, execv, (const char *path, char *const argv[]))
{
    before_exec(path);
    return REAL(execv)(path, argv);
}

SPECIAL(int, execvp, (const char *path, char *const argv[]))
{
    before_exec(path);
    return REAL(execvp)(path, argv);
}

SPECIAL(int, execvpe, (const char *path, char *const argv[], char *const envp[]))
{
    before_exec(path);
    return REAL(execvpe)(path, argv, envp);
}

/* The list forms become arrays on the stack: libc's own would call exec inside itself, where nobody sees it. */
#define EXEC_LIST(with_envp, call)                                                                                     \
    do {                                                                                                               \
        va_list args;                                                                                                  \
        size_t n = 0; /* arguments before the NULL */                                                                  \
        va_start(args, arg);                                                                                           \
        for (const char *a = arg; a; a = va_arg(args, char *))                                                         \
            n++;                                                                                                       \
        va_end(args);                                                                                                  \
        char **argv = __builtin_alloca((n + 1) * sizeof(*argv));                                                       \
        va_start(args, arg);                                                                                           \
        argv[0] = (char *)arg;                                                                                         \
        for (size_t i = 1; i <= n; i++)                                                                                \
            argv[i] = va_arg(args, char *);                                                                            \
        char **envp __attribute__((unused)) = with_envp ? va_arg(args, char **) : NULL;                                \
        va_end(args);                                                                                                  \
        before_exec(path);                                                                                             \
        return call;                                                                                                   \
    } while (0)

SPECIAL(int, execl, (const char *path, const char *arg, ...))
{
    EXEC_LIST(false, REAL(execv)(path, argv));
}

SPECIAL(int, execlp, (const char *path, const char *arg, ...))
{
    EXEC_LIST(false, REAL(execvp)(path, argv));
}

SPECIAL(int, execle, (const char *path, const char *arg, ...))
{
    EXEC_LIST(true, REAL(execve)(path, argv, envp));
}

SPECIAL(int, fexecve, (int fd, char *const argv[], char *const envp[]))
{
    before_exec(NULL);
    return REAL(fexecve)(fd, argv, envp);
}

static void before_exit(int status)
{
    struct shim_call c;
    if (gate_open(GATE_LIFE) && !untouched_child() && hook_enter(&c)) {
        core->before_exit(&c, status);
        hook_done(&c);
    }
}

SPECIAL(void, _exit, (int status))
{
    before_exit(status);
    REAL(_exit)(status);
    __builtin_unreachable();
}

SPECIAL(void, _Exit, (int status))
{
    before_exit(status);
    REAL(_Exit)(status);
    __builtin_unreachable();
}

/* ---- marks of the job's own: include/trshim.h ----------------------------------------------------------------- */

PUBLIC void trshim_step(uint64_t nr);
PUBLIC void trshim_step(uint64_t nr)
{
    struct shim_call c;
    if (!gate_open(GATE_LIFE) || !hook_enter(&c))
        return;
    hook_leave(&c);
    core->step(&c, nr);
    hook_done(&c);
}
