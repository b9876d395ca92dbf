/* tender.c - one thread per recorded process, all signals blocked, awake four times a second. Its own calls are never
 * recorded (thread.c knows it by name). It takes no lock: see thread.h. */
#include "shim/core/tender.h"

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "shim/core/burst.h"
#include "shim/core/fd.h"
#include "shim/core/gates.h"
#include "shim/core/gpu.h"
#include "shim/core/mounts.h"
#include "shim/core/name.h"
#include "shim/core/nccl.h"
#include "shim/core/nccl_code.h"
#include "shim/core/nccl_open.h"
#include "shim/core/options.h"
#include "shim/core/process.h"
#include "shim/core/py_stack.h"
#include "shim/core/sampler.h"

#define WAKE_NS 250000000u
#define SECOND 1000000000u
#define RESEND_NS (10ull * SECOND)

static _Atomic uint64_t own_cpu_ns;

static void close_stale(struct thread *t, void *now)
{
    burst_flush_stale(t, *(uint64_t *)now - BURST_STALE_NS);
}

static void sample(struct thread *t, void *now)
{
    thread_sample_cpu_of(t);
}

static bool still_in(struct thread *t, bool api, uint64_t start)
{
    return atomic_load(api ? &t->api_start_ns : &t->open_start_ns) == start;
}

/* Where it stands, if it still does when that has been read. */
static void send_stack(struct thread *t, bool api, uint64_t start, uint64_t now)
{
    char frames[1024];
    if (lttng_ust_tracepoint_enabled(trshim, stack) && py_stack_of(t->pthread, frames, sizeof(frames)) &&
        still_in(t, api, start))
        EMIT(stack, t->tid, .kind = TR_stack_kind_python, .at_ns = now, .start_ns = start, .frames = frames);
}

/* A call that lasts: told once per TRSHIM_HANG_S. */
static void watch(struct thread *t, void *now_)
{
    uint64_t now = *(uint64_t *)now_, api = atomic_load_explicit(&t->api_start_ns, memory_order_acquire);
    uint64_t start = api ? api : atomic_load_explicit(&t->open_start_ns, memory_order_acquire);
    uint64_t last = atomic_load(&t->reported_ns);
    if (!start || start > now || now - start < options.hang_ns || (last > start && now - last < options.hang_ns))
        return;
    int kind = atomic_load(api ? &t->api_kind : &t->open_kind);
    uint64_t key = api ? 0 : atomic_load(&t->open_key), obj = key;
    uint32_t name = 0;
    if (kind == TR_wait_kind_file || kind == TR_wait_kind_poll || kind == TR_wait_kind_epoll ||
        kind == TR_wait_kind_sock) {
        struct fd_entry *e = fd_lookup((int)key);
        obj = e ? atomic_load(&e->inode) : 0;
        name = e ? atomic_load(&e->name) : 0;
        if (e && !name)
            name = atomic_load(&e->dir);
    }
    if (!still_in(t, api, start))
        return; /* it came back meanwhile */
    atomic_store(&t->reported_ns, now);
    name_send(name, t->tid);
    EMIT(open_op, t->tid, .kind = (uint8_t)kind, .name = name, .obj = obj, .start_ns = start, .age_ns = now - start);
    send_stack(t, api, start, now);
    if (atomic_load_explicit(&t->trains, memory_order_relaxed))
        process_alarm();
}

void tender_send_self(void)
{
    EMIT(self, process.pid, .cpu_ns = atomic_load(&own_cpu_ns), .events = atomic_load(&process.events),
         .calls = threads_calls(), .lost_names = atomic_load(&process.lost_names), .level = (uint32_t)level_in_force(),
         .lost_nccl = atomic_load(&process.lost_nccl));
}

/* Everything later events refer to, for a session that has just begun or after a while. */
static void send_state(bool new_session)
{
    atomic_fetch_add(&process.names_epoch, 1);
    if (new_session)
        fd_forget_all(); /* closes were not seen while nobody listened */
    process_send(TR_proc_how_resend, new_session);
    mounts_send(1);
    gpu_tend(true);
    tender_send_self();
}

static void *tend(void *arg)
{
    uint64_t last_second = 0, last_state = now_ns();
    bool listened = lttng_ust_tracepoint_enabled(trshim, proc);
    uint32_t pid = process.pid;

    prctl(PR_SET_NAME, "trshim-core");
    while (process.pid == pid) {
        struct timespec wake = {0, WAKE_NS};
        nanosleep(&wake, NULL);
        uint64_t now = now_ns();
        bool listens = lttng_ust_tracepoint_enabled(trshim, proc);
        bool is_new = listens && (!listened || !atomic_load(&process.announced));
        if (is_new || (listens && now - last_state >= RESEND_NS)) {
            send_state(is_new);
            last_state = now;
        }
        listened = listens;
        nccl_tend(now, false); /* also without listeners: NCCL is asked for nothing then */
        if (!listens)
            continue;
        threads_each(close_stale, &now);
        sampler_tend(now);
        if (now - last_second < SECOND)
            continue;
        last_second = now;
        threads_each(sample, &now);
        mounts_send(0);
        nccl_code_look();
        gpu_tend(false);
        if (options.hang_ns)
            threads_each(watch, &now);
        if (nccl_open_watch(now, false))
            process_alarm();
        struct timespec cpu;
        if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu) == 0)
            atomic_store(&own_cpu_ns, (uint64_t)cpu.tv_sec * SECOND + (uint64_t)cpu.tv_nsec);
        gates_keep_budget(now, atomic_load(&own_cpu_ns));
    }
    return NULL;
}

void tender_start(void)
{
    pthread_t thread;
    pthread_attr_t attr;
    sigset_t all, before;
    atomic_store(&own_cpu_ns, 0);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attr, 256 * 1024);
    if (pthread_create(&thread, &attr, tend, NULL) != 0)
        say(1, "no thread for the recorder; bursts close later");
    pthread_attr_destroy(&attr);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}
