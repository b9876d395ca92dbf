/* real.h - the functions behind the hooks: the next definition after ours in the loader's search order.
 *
 * Filled once, from the constructor or from the first hook that comes earlier and needs one. What libc does not have
 * fails with ENOSYS. */
#ifndef TRSHIM_PRELOAD_REAL_H
#define TRSHIM_PRELOAD_REAL_H

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

/* glibc makes some calls macros where it inlines. */
#undef fread_unlocked
#undef fwrite_unlocked

struct real {
#define HOOK(gate, ret, name, params, args, before, after) ret(*name) params;
#define HOOK_SPECIAL(ret, name, params) ret(*name) params;
#include "shim/hooks.def"
#include "shim/hooks_special.def"
#undef HOOK
#undef HOOK_SPECIAL
};

extern struct real real;

/* Jumped to by stubs.S. */
extern void *real_dlopen, *real_vfork;

void real_resolve(void);

/* REAL(read)(fd, buf, n): also right before the constructor has run. */
#define REAL(name) (__builtin_expect(real.name != NULL, 1) ? real.name : (real_resolve(), real.name))

/* True for what real_resolve() did not find: a library may have come since. */
bool real_is_missing(const void *function);

#endif
