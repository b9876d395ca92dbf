/* hook.h - what every hook does around the real call.
 *
 * A hook is: gate closed? forward. Else hook_enter() (re-entry guard, thread known, clock), hook_out(), the real call,
 * hook_leave() (clock, errno), one call into the core, hook_done(). While the gate is closed that is two loads and a
 * branch.
 *
 * The guard is up while we work, not during the real call: a signal handler that runs over a blocked call is recorded,
 * and one that leaves it by longjmp, or a cancelled thread, leaves nothing behind. */
#ifndef TRSHIM_PRELOAD_HOOK_H
#define TRSHIM_PRELOAD_HOOK_H

#include <errno.h>
#include <stdbool.h>
#include <time.h>

#include "shim/preload/real.h"
#include "shim/shim.h"
#include "traces/clock.h"

#define PUBLIC __attribute__((visibility("default")))
#define unlikely(x) __builtin_expect(!!(x), 0)

extern __thread struct shim_tls shim_tls;
extern const struct shim_core *core; /* NULL until the core is loaded */
extern const int *volatile shim_gate[GATE_MAX];
extern volatile char shim_attention; /* a stub left a mark */

/* Does what shim_attention asks for. Returns nothing: gates may be open afterwards. */
void shim_attend(void);

/* True if the thread that asks is a vfork child on its parent's memory: then nothing may be touched. */
bool shim_in_vfork_child(struct shim_tls *tls);

/* Whether a hook has anything to do beyond forwarding. */
static inline bool gate_open(enum shim_gate gate)
{
    if (unlikely(shim_attention))
        shim_attend();
    return unlikely(*shim_gate[gate]);
}

/* Begins a recorded call. False: forward only. Pairs with hook_done(). */
static inline bool hook_enter(struct shim_call *c)
{
    struct shim_tls *tls = &shim_tls;
    void *frame = __builtin_frame_address(0);

    /* Re-entered: by a signal handler over our own work. A saved frame deeper than ours is no re-entry: a handler left
     * it by longjmp. */
    if (unlikely(tls->frame) && (char *)tls->frame >= (char *)frame)
        return false;
    if (unlikely(tls->in_vfork) && shim_in_vfork_child(tls))
        return false;
    tls->frame = frame;
    c->tls = tls;
    c->caller = NULL;
    c->saved_errno = errno;
    if (unlikely(!tls->ready) && !core->enter(tls)) {
        tls->frame = NULL;
        return false;
    }
    errno = c->saved_errno;
    c->start_ns = now_ns();
    return true;
}

/* The real call comes next. */
static inline void hook_out(struct shim_call *c)
{
    c->tls->frame = NULL;
}

static inline void hook_leave(struct shim_call *c)
{
    c->end_ns = now_ns();
    c->saved_errno = errno;
    c->tls->frame = __builtin_frame_address(0);
}

static inline void hook_done(struct shim_call *c)
{
    errno = c->saved_errno;
    c->tls->frame = NULL;
}

#endif
