/* sampler.c - see sampler.h. A thread of its own, since NVML may take milliseconds: ten times a second for ten seconds,
 * then once. A value is told when it has changed, and when names are told again (every 10 s, or a new session).
 *
 * Who does it is settled by a time stamp in the page that record and the job share: renewed each round, claimed by
 * compare-and-swap when it is stale. So it needs no descriptor that the job could close, survives kill -9 and crosses
 * pid namespaces. Without that page (a job that only has the preload) it is local rank 0. */
#include "shim/core/sampler.h"

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>

#include "shim/core/gpu_records.h"
#include "shim/core/node_sources.h"
#include "shim/core/options.h"
#include "shim/core/thread.h"

#define SECOND 1000000000ull
#define STALE_NS (5 * SECOND)
#define FAST_NS (SECOND / 10)
#define FAST_ROUNDS 100

enum { IDLE, RUNNING, NEVER };
static atomic_int state;
static atomic_bool stop, in_round;

static struct {
    bool known;
    uint64_t value;
} told[TR_node_metric_MAX][NODE_DEVICES_MAX];

static void tell(void *arg, enum tr_node_metric metric, unsigned device, uint64_t value)
{
    bool again = *(bool *)arg;
    if (device >= NODE_DEVICES_MAX || (!again && told[metric][device].known && told[metric][device].value == value))
        return;
    told[metric][device].known = true;
    told[metric][device].value = value;
    EMIT(node_sample, process.pid, .metric = (uint8_t)metric, .device = (uint16_t)device, .value = value);
}

/* One round, unless the process ends or another one has taken over while this one was stopped. */
static bool sample(uint64_t now, uint64_t *renewed_ns, unsigned *epoch)
{
    struct tr_control *c = process.control;
    uint64_t mine = *renewed_ns;
    if (c && !__atomic_compare_exchange_n(&c->sampled_ns, &mine, now, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        return false;
    *renewed_ns = now;
    atomic_store(&in_round, true);
    if (!atomic_load(&stop) && lttng_ust_tracepoint_enabled(trshim, node_sample)) {
        unsigned names = atomic_load(&process.names_epoch);
        bool again = names != *epoch;
        *epoch = names;
        node_read_files(options.node, tell, &again);
        node_read_nvml(tell, &again);
    }
    atomic_store(&in_round, false);
    return !atomic_load(&stop);
}

static uint64_t claimed_ns; /* written before the thread begins */

static void *run(void *arg)
{
    uint64_t renewed_ns = claimed_ns;
    unsigned epoch = 0;
    prctl(PR_SET_NAME, "trshim-core"); /* by which thread.c knows our own */
    for (unsigned round = 0; sample(now_ns(), &renewed_ns, &epoch); round++) {
        uint64_t pause_ns = round < FAST_ROUNDS ? FAST_NS : SECOND;
        nanosleep(&(const struct timespec){(time_t)(pause_ns / SECOND), (long)(pause_ns % SECOND)}, NULL);
    }
    int running = RUNNING;
    atomic_compare_exchange_strong(&state, &running, IDLE);
    return NULL;
}

static bool claim(uint64_t now)
{
    struct tr_control *c = process.control;
    if (!c)
        return process.local_rank <= 0;
    uint64_t last = __atomic_load_n(&c->sampled_ns, __ATOMIC_RELAXED);
    if (last && now - last < STALE_NS)
        return false;
    return __atomic_compare_exchange_n(&c->sampled_ns, &last, now, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

static void look_whether_it_trains(struct thread *t, void *trains)
{
    if (atomic_load_explicit(&t->trains, memory_order_relaxed))
        *(bool *)trains = true;
}

static void begin(void)
{
    pthread_t thread;
    pthread_attr_t attr;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attr, 256 * 1024);
    if (pthread_create(&thread, &attr, run, NULL) != 0)
        atomic_store(&state, NEVER);
    pthread_attr_destroy(&attr);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void sampler_tend(uint64_t now_ns)
{
    bool trains = gpu_records_devices() != 0;
    if (!options.node || process.excluded || atomic_load(&state) != IDLE || atomic_load(&stop))
        return;
    threads_each(look_whether_it_trains, &trains);
    if (!trains || !claim(now_ns))
        return;
    claimed_ns = now_ns;
    atomic_store(&state, RUNNING);
    begin();
}

void sampler_stop(void)
{
    atomic_store(&stop, true);
    for (int i = 0; i < 100 && atomic_load(&in_round); i++)
        nanosleep(&(const struct timespec){0, 1000000}, NULL);
}

void sampler_after_fork(void)
{
    atomic_store(&state, NEVER);
    atomic_store(&in_round, false);
}
