/* wait.c - what threads wait for, and who wakes them. */
#include "shim/core/burst.h"
#include "shim/core/calls.h"
#include "shim/core/fd.h"
#include "shim/core/options.h"

#define LONG_WAIT_NS 10000000u /* after such a wait the thread tells its CPU time */

/* Who posted a semaphore last. Collisions and races only lose a waker, they never invent one that does not exist:
 * the address is checked, and the thread that posted last is the one remembered. */
#define NR_POSTS 4096
static struct {
    _Atomic uint64_t sem;
    atomic_uint tid;
} posts[NR_POSTS];

static unsigned post_slot(uint64_t sem)
{
    return (unsigned)((sem >> 4) * 0x9e3779b97f4a7c15u >> 52) & (NR_POSTS - 1);
}

void call_posted(struct shim_tls *tls, const void *sem)
{
    if (!tls->tid)
        return; /* a thread that has not been recorded yet */
    unsigned i = post_slot((uintptr_t)sem);
    atomic_store_explicit(&posts[i].tid, tls->tid, memory_order_relaxed);
    atomic_store_explicit(&posts[i].sem, (uintptr_t)sem, memory_order_release);
}

static uint32_t poster(uint64_t sem)
{
    unsigned i = post_slot(sem);
    return atomic_load_explicit(&posts[i].sem, memory_order_acquire) == sem
               ? atomic_load_explicit(&posts[i].tid, memory_order_relaxed)
               : 0;
}

void call_blocking(struct shim_tls *tls, enum tr_wait_kind kind, uint64_t key, uint64_t start_ns)
{
    struct thread *t = tls->self;
    if (kind == TR_wait_kind_cuda || kind == TR_wait_kind_nccl) {
        if (kind == TR_wait_kind_cuda && tls->in_nccl)
            return; /* NCCL's own */
        atomic_store_explicit(&t->api_kind, kind, memory_order_relaxed);
        atomic_store_explicit(&t->api_start_ns, start_ns, memory_order_release);
        return;
    }
    atomic_store_explicit(&t->open_kind, kind, memory_order_relaxed);
    atomic_store_explicit(&t->open_key, key, memory_order_relaxed);
    atomic_store_explicit(&t->open_start_ns, start_ns, memory_order_release);
}

static void waited(struct thread *t, const struct shim_call *call, enum tr_wait_kind kind, uint64_t obj, uint32_t waker)
{
    burst_wait(t, kind, obj, waker, call->start_ns, call->end_ns);
    if (call->end_ns - call->start_ns >= LONG_WAIT_NS)
        thread_sample_cpu(t);
}

void call_wait(struct shim_call *call, enum tr_wait_kind kind, uint64_t obj)
{
    struct thread *t = thread_of(call);
    bool is_long = call->end_ns - call->start_ns >= options.wait_ns;
    if (!detail_is_off())
        waited(t, call, kind, obj, is_long && kind == TR_wait_kind_sem ? poster(obj) : 0);
}

void call_wait_fd(struct shim_call *call, enum tr_wait_kind kind, int fd)
{
    struct thread *t = thread_of(call);
    uint64_t inode = 0;
    if (detail_is_off())
        return;
    if (call->end_ns - call->start_ns >= options.wait_ns) {
        struct fd_entry *e = fd_lookup(fd);
        if (e)
            inode = atomic_load_explicit(&e->inode, memory_order_relaxed);
    }
    waited(t, call, kind, inode, 0);
}
