/* real.c - finds the real functions. Runs in the constructor, before the program has threads.
 *
 * An allocator that is preloaded too may call us before that, from inside its own first malloc; looking symbols up then
 * would malloc again (a symbol that is missing becomes an error text) and never return. So the calls that allocators
 * make to get going (memory, and their settings from files) start out as bare system calls. */
#include "shim/preload/real.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shim/preload/old_libc.h"

static void *bare_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t off)
{
    return (void *)syscall(SYS_mmap, addr, len, prot, flags, fd, off);
}

static int bare_open(const char *path, int flags, mode_t mode)
{
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

static int bare_openat(int dir, const char *path, int flags, mode_t mode)
{
    return (int)syscall(SYS_openat, dir, path, flags, mode);
}

static ssize_t bare_read(int fd, void *buf, size_t n)
{
    return syscall(SYS_read, fd, buf, n);
}

static ssize_t bare_pread(int fd, void *buf, size_t n, off_t off)
{
    return syscall(SYS_pread64, fd, buf, n, off);
}

static ssize_t bare_write(int fd, const void *buf, size_t n)
{
    return syscall(SYS_write, fd, buf, n);
}

static int bare_close(int fd)
{
    return (int)syscall(SYS_close, fd);
}

struct real real = {
    .mmap = bare_mmap,
    .mmap64 = bare_mmap,
    .open = bare_open,
    .open64 = bare_open,
    .openat = bare_openat,
    .openat64 = bare_openat,
    .read = bare_read,
    .pread = bare_pread,
    .pread64 = bare_pread,
    .write = bare_write,
    .close = bare_close,
};

void *real_dlopen, *real_vfork;

/* Stands for what this libc does not have. A program may find our name by dlsym and take it for libc's. */
static long missing(void)
{
    errno = ENOSYS;
    return -1;
}

static int missing_pthread(void)
{
    return ENOSYS;
}

static const struct {
    const char *name;
    void **where;
} table[] = {
#define HOOK(gate, ret, name, params, args, before, after) {#name, (void **)&real.name},
#define HOOK_SPECIAL(ret, name, params) {#name, (void **)&real.name},
#include "shim/hooks.def"
#include "shim/hooks_special.def"
#undef HOOK
#undef HOOK_SPECIAL
    {"dlopen", &real_dlopen},
    {"vfork", &real_vfork},
};

/* Condition variables changed their layout in 2.3.2 on x86_64 and kept both: a plain dlsym may hand out the one for
 * the old layout. */
static void *newest(const char *name)
{
#ifdef __x86_64__
    if (__builtin_strcmp(name, "pthread_cond_wait") == 0 || __builtin_strcmp(name, "pthread_cond_timedwait") == 0)
        return dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2");
#endif
    return dlsym(RTLD_NEXT, name);
}

static void *stand_in(const char *name)
{
    return __builtin_strncmp(name, "pthread_", 8) == 0 ? (void *)missing_pthread : (void *)missing;
}

void real_resolve(void)
{
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
        void *found = newest(table[i].name);
        *table[i].where = found ? found : stand_in(table[i].name);
    }
    /* What this libc lacks has left an error behind, which is not the program's. */
    (void)dlerror();
}

bool real_is_missing(const void *function)
{
    return function == (const void *)missing || function == (const void *)missing_pthread;
}
