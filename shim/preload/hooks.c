/* hooks.c - makes the wrappers of hooks.def. Runs on every thread of the job; must only observe. */
#include "shim/preload/hook.h"

#include <string.h>

/* For poll: the descriptor that ended the wait, else the first that was asked for. */
static int first_ready(const struct pollfd *fds, nfds_t n)
{
    for (nfds_t i = 0; fds && i < n; i++)
        if (fds[i].revents)
            return fds[i].fd;
    return fds && n ? fds[0].fd : -1;
}

static int first_set(const fd_set *set, int n)
{
    for (int fd = 0; set && fd < n && fd < FD_SETSIZE; fd++)
        if (FD_ISSET(fd, set))
            return fd;
    return -1;
}

/* What fopen's mode means in open's flags, as far as the core asks. */
static int stdio_flags(const char *mode)
{
    if (mode[0] == 'r')
        return mode[1] == '+' || (mode[1] && mode[2] == '+') ? O_RDWR : O_RDONLY;
    return O_WRONLY | O_CREAT | (mode[0] == 'w' ? O_TRUNC : O_APPEND);
}

static ssize_t bytes_of(const struct mmsghdr *messages, int n)
{
    ssize_t sum = 0;
    for (int i = 0; i < n; i++)
        sum += messages[i].msg_len;
    return sum;
}

#define BLOCKS(kind, key) core->blocking(c.tls, TR_wait_kind_##kind, (uint64_t)(key), c.start_ns)
#define QUICK (void)0

/* asm(#name): the wrapper gets the name of the call without meeting libc's own declaration of it. */
#define HOOK(gate, ret, name, params, args, before, after)                                                             \
    PUBLIC ret hook_##name params __asm__(#name);                                                                      \
    PUBLIC ret hook_##name params                                                                                      \
    {                                                                                                                  \
        struct shim_call c;                                                                                            \
        if (!gate_open(gate) || !hook_enter(&c))                                                                       \
            return REAL(name) args;                                                                                    \
        c.caller = __builtin_return_address(0);                                                                        \
        before;                                                                                                        \
        hook_out(&c);                                                                                                  \
        ret rc = real.name args;                                                                                       \
        hook_leave(&c);                                                                                                \
        after;                                                                                                         \
        hook_done(&c);                                                                                                 \
        return rc;                                                                                                     \
    }
#include "shim/hooks.def"
