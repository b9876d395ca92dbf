/* thread.c - the table of threads. */
#include "shim/core/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shim/core/burst.h"
#include "shim/core/nccl.h"

#define NR_THREADS 8192
#define CPU_EVERY_NS 2000000u /* a thread samples itself at most this often: it costs three system calls */

static struct thread *threads;
static atomic_uint nr_threads; /* slots ever used */
static pthread_key_t exit_key;
static _Atomic uint64_t calls_of_the_dead;

/* Threads of LTTng, ours, and of other tracers: never recorded. */
static bool is_ours(const char *comm)
{
    size_t n = strlen(comm);
    return strcmp(comm, "trshim-core") == 0 || (n >= 4 && strcmp(comm + n - 4, "-ust") == 0);
}

static void on_exit_of_thread(void *arg)
{
    struct thread *t = arg;
    struct shim_tls *tls = t->tls;
    tls->frame = __builtin_frame_address(0);
    burst_flush(t);
    nccl_thread_ends(t);
    thread_sample_cpu(t);
    thread_send(t, TR_thread_how_end);
    tls->dead = 1;
    tls->ready = 0;
    tls->self = NULL;
    tls->frame = NULL;
    atomic_fetch_add(&calls_of_the_dead, atomic_load(&t->calls));
    atomic_store_explicit(&t->state, THREAD_FREE, memory_order_release);
}

int threads_init(void)
{
    threads = map_lazily(NR_THREADS * sizeof(*threads));
    if (!threads)
        return -ENOMEM;
    return -pthread_key_create(&exit_key, on_exit_of_thread);
}

static struct thread *claim(void)
{
    unsigned used = atomic_load_explicit(&nr_threads, memory_order_relaxed);
    for (unsigned i = 0; i < NR_THREADS; i++) {
        int free_ = THREAD_FREE;
        if (!atomic_compare_exchange_strong(&threads[i].state, &free_, THREAD_CLAIMED))
            continue;
        while (i >= used && !atomic_compare_exchange_weak(&nr_threads, &used, i + 1))
            ;
        return &threads[i];
    }
    return NULL;
}

struct thread *thread_self(struct shim_tls *tls)
{
    if (tls->self)
        return tls->self;

    char comm[16] = "";
    prctl(PR_GET_NAME, comm);
    struct thread *t = is_ours(comm) ? NULL : claim();
    tls->tid = (uint32_t)syscall(SYS_gettid);
    if (!t) {
        tls->dead = 1;
        return NULL;
    }
    memset((char *)t + sizeof(t->state), 0, sizeof(*t) - sizeof(t->state));
    t->tid = tls->tid;
    t->tls = tls;
    t->pthread = (uint64_t)pthread_self();
    t->start_ns = now_ns();
    t->is_main = t->tid == process.pid;
    memcpy(t->comm, comm, sizeof(t->comm));
    struct rusage ru;
    if (getrusage(RUSAGE_THREAD, &ru) == 0)
        t->last_inblock = (uint64_t)ru.ru_inblock;
    tls->self = t;
    atomic_store_explicit(&t->state, THREAD_LIVE, memory_order_release);
    /* The main thread's end is the process's: see process.c. */
    if (!t->is_main)
        (void)pthread_setspecific(exit_key, t);
    thread_send(t, TR_thread_how_start);
    return t;
}

void threads_each(void (*fn)(struct thread *, void *), void *arg)
{
    unsigned used = atomic_load_explicit(&nr_threads, memory_order_acquire);
    for (unsigned i = 0; i < used; i++)
        if (atomic_load_explicit(&threads[i].state, memory_order_acquire) == THREAD_LIVE)
            fn(&threads[i], arg);
}

void threads_after_fork(struct shim_tls *tls)
{
    unsigned used = atomic_load(&nr_threads);
    for (unsigned i = 0; i < used; i++)
        if (&threads[i] != tls->self)
            atomic_store(&threads[i].state, THREAD_FREE);
    tls->tid = process.pid;
    atomic_store(&calls_of_the_dead, 0);
    struct thread *t = tls->self;
    if (!t)
        return;
    t->tid = process.pid;
    t->is_main = true;
    t->start_ns = now_ns();
    t->last_inblock = 0;
    t->nccl = NULL;
    memset(t->slots, 0, sizeof(t->slots));
    memset(t->waits, 0, sizeof(t->waits));
    memset(&t->cpu, 0, sizeof(t->cpu));
    atomic_store(&t->open_start_ns, 0);
    atomic_store(&t->api_start_ns, 0);
    atomic_store(&t->cpu_sampled_ns, 0);
    atomic_store(&t->calls, 0);
}

static void add_calls(struct thread *t, void *sum)
{
    *(uint64_t *)sum += atomic_load_explicit(&t->calls, memory_order_relaxed);
}

uint64_t threads_calls(void)
{
    uint64_t sum = atomic_load(&calls_of_the_dead);
    threads_each(add_calls, &sum);
    return sum;
}

static void flush_one(struct thread *t, void *arg)
{
    burst_flush(t);
}

void threads_flush(void)
{
    threads_each(flush_one, NULL);
}

void thread_send(struct thread *t, enum tr_thread_how how)
{
    EMIT(thread, t->tid, .how = (uint8_t)how, .start_ns = t->start_ns, .comm = t->comm);
}

/* "cpu runnable slices" of /proc/.../schedstat, in ns. */
static bool read_schedstat(const char *path, uint64_t *cpu_ns, uint64_t *runnable_ns)
{
    char text[96];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, text, sizeof(text) - 1);
    close(fd);
    if (n <= 0)
        return false;
    text[n] = 0;
    char *end;
    *cpu_ns = strtoull(text, &end, 10);
    *runnable_ns = strtoull(end, NULL, 10);
    return true;
}

static void send_cpu(const struct thread *t, const struct tr_cpu *cpu)
{
    EMIT(cpu, t->tid, .at_ns = cpu->at_ns, .cpu_ns = cpu->cpu_ns, .runnable_ns = cpu->runnable_ns, .nvcsw = cpu->nvcsw,
         .nivcsw = cpu->nivcsw, .minflt = cpu->minflt, .majflt = cpu->majflt, .inblock = cpu->inblock,
         .oublock = cpu->oublock);
}

void thread_sample_cpu(struct thread *t)
{
    struct timespec cpu;
    struct rusage ru;
    uint64_t now = now_ns();
    if (now - atomic_load_explicit(&t->cpu_sampled_ns, memory_order_relaxed) < CPU_EVERY_NS)
        return;
    atomic_store_explicit(&t->cpu_sampled_ns, now, memory_order_relaxed);

    struct tr_cpu *s = &t->cpu;
    s->at_ns = now;
    (void)read_schedstat("/proc/thread-self/schedstat", &s->cpu_ns, &s->runnable_ns);
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu) == 0) /* schedstat lags by up to a tick */
        s->cpu_ns = (uint64_t)cpu.tv_sec * 1000000000u + (uint64_t)cpu.tv_nsec;
    if (getrusage(RUSAGE_THREAD, &ru) == 0) {
        s->nvcsw = (uint32_t)ru.ru_nvcsw;
        s->nivcsw = (uint32_t)ru.ru_nivcsw;
        s->minflt = (uint32_t)ru.ru_minflt;
        s->majflt = (uint32_t)ru.ru_majflt;
        s->inblock = (uint32_t)ru.ru_inblock;
        s->oublock = (uint32_t)ru.ru_oublock;
    }
    send_cpu(t, s);
}

void thread_sample_cpu_of(struct thread *t)
{
    char path[64];
    struct tr_cpu s = t->cpu; /* what only the thread can ask for stays as it last said */
    snprintf(path, sizeof(path), "/proc/self/task/%u/schedstat", t->tid);
    if (!read_schedstat(path, &s.cpu_ns, &s.runnable_ns) || s.cpu_ns <= t->cpu.cpu_ns)
        return;
    s.at_ns = now_ns();
    send_cpu(t, &s);
}
