/* process.c - identity, fork, exec and exit.
 *
 * Fork: LTTng's locks are held across it by lttng_ust_before_fork, so a child that only execs must not pay for
 * bringing LTTng back (10 ms: it registers anew). The child is left `pending` and completed by its first recorded
 * call; until then nothing but close, dup and exec may have happened in it. */
#include "shim/core/process.h"

#include <fcntl.h>
#include <lttng/ust-fork.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "shim/core/attributes.h"
#include "shim/core/burst.h"
#include "shim/core/calls.h"
#include "shim/core/fd.h"
#include "shim/core/gates.h"
#include "shim/core/gpu.h"
#include "shim/core/mounts.h"
#include "shim/core/name.h"
#include "shim/core/nccl.h"
#include "shim/core/nccl_open.h"
#include "shim/core/options.h"
#include "shim/core/sampler.h"
#include "shim/core/tender.h"

struct process process = {.rank = -1, .world = -1, .local_rank = -1, .names_epoch = 1};

static char host[256], boot[64], comm[64], command[512];

/* The first of some variables that holds a number, else fallback. */
static int32_t env_number(const char *const *names, int32_t fallback)
{
    for (; *names; names++) {
        const char *text = getenv(*names);
        char *end;
        long v = text && *text ? strtol(text, &end, 10) : 0;
        if (text && *text && !*end && v >= 0 && v < INT32_MAX)
            return (int32_t)v;
    }
    return fallback;
}

static void read_rank(void)
{
    static const char *const rank[] = {"RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", NULL};
    static const char *const world[] = {"WORLD_SIZE", "SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", NULL};
    static const char *const local[] = {"LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
                                        NULL};
    static const char *const attempt[] = {"TORCHELASTIC_RESTART_COUNT", "SLURM_RESTART_COUNT", NULL};
    process.rank = env_number(rank, -1);
    process.world = env_number(world, -1);
    process.local_rank = env_number(local, process.rank);
    process.attempt = env_number(attempt, 0);
    process.excluded = process.rank >= 0 && !options_list_has(options.ranks, process.rank);
}

void process_refresh_rank(void)
{
    int32_t before = process.rank;
    if (before >= 0)
        return;
    read_rank();
    if (process.rank != before)
        process_send(TR_proc_how_resend, false);
}

static size_t read_file(const char *path, char *buf, size_t room)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, buf, room - 1);
    if (fd >= 0)
        close(fd);
    n = n > 0 ? n : 0;
    buf[n] = 0;
    return (size_t)n;
}

/* Program and script, without arguments: those may hold secrets. "python3 train.py", "python3 -m torch.run". */
static void read_command(void)
{
    char line[4096];
    size_t n = read_file("/proc/self/cmdline", line, sizeof(line)), used = 0;
    for (const char *arg = line; arg < line + n && used < sizeof(command) - 1; arg += strlen(arg) + 1) {
        used += (size_t)snprintf(command + used, sizeof(command) - used, "%s%s", used ? " " : "", arg);
        bool is_module = strcmp(arg, "-m") == 0, is_code = strcmp(arg, "-c") == 0;
        if (is_code || (arg != line && !is_module && arg[0] != '-'))
            break;
    }
}

/* Field 22 of stat: ticks after boot. The name before it may hold anything, so count from its last parenthesis. */
static uint64_t read_start(void)
{
    char text[1024];
    unsigned long long ticks = 0;
    read_file("/proc/self/stat", text, sizeof(text));
    char *p = strrchr(text, ')');
    for (int field = 2; p && field < 22; field++)
        p = strchr(p + 1, ' ');
    if (p)
        ticks = strtoull(p, NULL, 10);
    return ticks * (1000000000u / (unsigned long)sysconf(_SC_CLK_TCK));
}

static void read_identity(void)
{
    process.pid = (uint32_t)getpid();
    process.start_ns = read_start();
    gethostname(host, sizeof(host) - 1);
    read_file("/proc/sys/kernel/random/boot_id", boot, sizeof(boot));
    boot[strcspn(boot, "\n")] = 0;
    read_file("/proc/self/comm", comm, sizeof(comm));
    comm[strcspn(comm, "\n")] = 0;
    read_command();
    read_rank();
}

static void map_control(void)
{
    int fd = options.control && *options.control ? open(options.control, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    struct tr_control *c = mmap(NULL, sizeof(*c), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (c != MAP_FAILED && c->magic == TR_CONTROL_MAGIC)
        process.control = c;
}

void process_alarm(void)
{
    if (process.control)
        (void)__atomic_add_fetch(&process.control->alarms, 1, __ATOMIC_RELAXED);
}

/* Ends the process in the trace, from whichever of the two ways of exit() comes first. */
static void end_by_exit(int status)
{
    struct shim_tls *tls = process.preload->tls();
    void *frame = tls->frame;
    tls->frame = __builtin_frame_address(0);
    if (process_enter(tls))
        process_end(TR_exit_how_exit, status);
    tls->frame = frame;
}

static void on_exit_of_process(int status, void *arg)
{
    end_by_exit(status);
}

/* Handlers run last in, first out, and the loader's own, which ends LTTng, is registered when main is about to begin:
 * ours must be registered later than that, so not from a constructor but at the first call. */
static atomic_bool exit_is_watched;

static void watch_exit(void)
{
    if (!atomic_exchange(&exit_is_watched, true))
        on_exit(on_exit_of_process, NULL);
}

/* Without such a call, or if that was too early: here LTTng still stands, for we depend on it. */
__attribute__((destructor)) static void at_unload(void)
{
    if (process.preload)
        end_by_exit(-1);
}

void process_init(int late)
{
    read_identity();
    map_control();
    process_send(late ? TR_proc_how_late : TR_proc_how_start, true);
}

static void send_thread(struct thread *t, void *arg)
{
    thread_send(t, TR_thread_how_resend);
}

void process_send(enum tr_proc_how how, bool attributes)
{
    atomic_store(&process.announced, lttng_ust_tracepoint_enabled(trshim, proc));
    EMIT(proc, process.pid, .how = (uint8_t)how, .schema = TR_SCHEMA, .ppid = (uint32_t)getppid(), .rank = process.rank,
         .world = process.world, .local_rank = process.local_rank, .attempt = process.attempt,
         .start_ns = process.start_ns, .host = host, .boot = boot, .comm = comm, .cmd = command);
    if (attributes)
        attributes_send();
    if (how == TR_proc_how_resend)
        threads_each(send_thread, NULL);
}

/* ---- fork ----------------------------------------------------------------------------------------------------- */

void call_fork_prepare(struct shim_call *call)
{
    struct thread *t = call->tls->self;
    /* In a pending child LTTng's locks are still held from the fork that made it. */
    if (!process.foreign_fork && !atomic_load(&process.fork_pending))
        lttng_ust_before_fork(&t->fork_mask);
}

void call_fork_parent(struct shim_call *call)
{
    if (!process.foreign_fork && !atomic_load(&process.fork_pending))
        lttng_ust_after_fork_parent(&call->tls->self->fork_mask);
}

void call_fork_child(struct shim_call *call)
{
    bool was_pending = atomic_load(&process.fork_pending) != 0;
    process.pid = (uint32_t)getpid();
    process.start_ns = now_ns();
    atomic_fetch_add(&process.names_epoch, 1);
    atomic_store(&process.events, 0);
    threads_after_fork(call->tls);
    name_after_fork();
    gpu_after_fork();
    sampler_after_fork();
    nccl_after_fork();
    if (!process.foreign_fork && !was_pending)
        pthread_sigmask(SIG_SETMASK, &call->tls->self->fork_mask, NULL);
    call->tls->ready = 0;
    atomic_store(&process.fork_pending, 1);
}

bool process_untouched_child(void)
{
    return atomic_load_explicit(&process.fork_pending, memory_order_relaxed) == 1;
}

static bool complete_fork(void)
{
    int pending = 1;
    if (!atomic_compare_exchange_strong(&process.fork_pending, &pending, 2))
        return pending == 0;
    if (!process.foreign_fork) {
        sigset_t mask;
        pthread_sigmask(SIG_SETMASK, NULL, &mask);
        lttng_ust_after_fork_child(&mask);
    }
    process_send(TR_proc_how_fork, false);
    gates_after_fork();
    tender_start();
    atomic_store(&process.fork_pending, 0);
    return true;
}

bool process_enter(struct shim_tls *tls)
{
    if (unlikely(tls->dead))
        return false;
    if (unlikely(atomic_load_explicit(&process.fork_pending, memory_order_relaxed)) && !complete_fork())
        return false;
    if (!thread_self(tls))
        return false;
    if (unlikely(!atomic_load_explicit(&exit_is_watched, memory_order_relaxed)))
        watch_exit();
    tls->ready = 1; /* until a fork, or the thread's end */
    return true;
}

/* ---- other births, and ends ----------------------------------------------------------------------------------- */

void call_spawned(struct shim_call *call, enum tr_spawn_how how, pid_t child)
{
    struct thread *t = thread_of(call);
    if (child > 0)
        EMIT(child, t->tid, .how = (uint8_t)how, .child = (uint32_t)child, .start_ns = call->start_ns,
             .dur_ns = call->end_ns - call->start_ns);
}

void call_before_exec(struct shim_call *call, const char *path)
{
    threads_flush();
    mounts_send(0);
    EMIT(exec, call->tls->tid, .start_ns = call->start_ns, .path = path ? path : "");
}

void process_end(enum tr_exit_how how, int status)
{
    static atomic_uint ended; /* pid: a fork child ends for itself */
    if (atomic_exchange(&ended, process.pid) == process.pid)
        return;
    if (!atomic_load(&process.announced))
        process_send(TR_proc_how_resend, true);
    sampler_stop();
    gpu_stop();
    nccl_tend(now_ns(), true);
    (void)nccl_open_watch(now_ns(), true);
    threads_flush();
    struct thread *t = process.preload->tls()->self;
    if (t)
        thread_sample_cpu(t);
    mounts_send(0);
    tender_send_self();
    EMIT(exit, process.pid, .how = (uint8_t)how, .status = status, .start_ns = now_ns());
}

void call_before_exit(struct shim_call *call, int status)
{
    process_end(TR_exit_how_quick, status);
}
