/* fork.c - fork(), which must find LTTng's locks taken, so that the child does not inherit them from a thread it lacks.
 *
 * They are taken as late and given back as early as can be: in handlers of pthread_atfork, registered in our
 * constructor. Handlers before a fork run last first, so those of libraries loaded later have ended by then. OpenBLAS
 * in its one joins its threads, and a thread that ends needs LTTng's lock: taken before the call of fork, both would
 * wait for ever. The handlers of an allocator that was there before us come after ours, as they must: LTTng may
 * allocate with its locks held. Runs on the thread that forks; must not allocate or wait for anything but those locks.
 */
#include <pthread.h>

#include "shim/preload/fork.h"
#include "shim/preload/hook.h"

static bool watched; /* the handlers are registered */

static void before(void)
{
    if (shim_tls.forking)
        core->fork_prepare(shim_tls.forking);
}

static void after_in_parent(void)
{
    int saved_errno = errno;
    if (shim_tls.forking)
        core->fork_parent(shim_tls.forking);
    errno = saved_errno;
}

static void after_in_child(void)
{
    int saved_errno = errno;
    if (shim_tls.forking)
        core->fork_child(shim_tls.forking);
    errno = saved_errno;
}

void fork_watch(void)
{
    watched = pthread_atfork(before, after_in_parent, after_in_child) == 0;
}

PUBLIC pid_t hook_fork(void) __asm__("fork");
PUBLIC pid_t hook_fork(void)
{
    struct shim_call c;
    if (!watched || !gate_open(GATE_LIFE) || !hook_enter(&c))
        return REAL(fork)();
    c.tls->forking = &c; /* the guard stays up: others' handlers may run while LTTng is locked */
    pid_t pid = REAL(fork)();
    c.tls->forking = NULL;
    if (pid == 0) {
        c.saved_errno = errno;
    } else {
        hook_leave(&c);
        core->spawned(&c, TR_spawn_how_fork, pid);
    }
    hook_done(&c);
    return pid;
}
