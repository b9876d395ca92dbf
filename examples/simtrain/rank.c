/* rank.c - one rank: the training loop, and the backward thread. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "examples/simtrain/job.h"
#include "tests/sim/engine/engine.h"

#define NON_BLOCKING 1
#define NO_TIMING 2

/* ---- The backward thread: autograd launches from a thread of its own
 * ----------------------------------------------------- */
static struct {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int wanted, done; /* micro-batches; wanted < 0: stop */
} backward = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER, .wanted = 0, .done = 0};

static bool backward_wanted(void)
{
    pthread_mutex_lock(&backward.lock);
    while (backward.wanted == backward.done)
        pthread_cond_wait(&backward.changed, &backward.lock);
    bool wanted = backward.wanted > 0;
    pthread_mutex_unlock(&backward.lock);
    return wanted;
}

static void backward_finished(void)
{
    pthread_mutex_lock(&backward.lock);
    backward.done = backward.wanted;
    pthread_cond_broadcast(&backward.changed);
    pthread_mutex_unlock(&backward.lock);
}

static bool enter_backward(void)
{
    enum state before = truth_enter(STATE_IDLE);
    bool wanted = backward_wanted();
    truth_enter(before);
    return wanted;
}

static void *backward_run(void *p)
{
    struct rank *r = p;
    cudaSetDevice(r->local_rank);
    pthread_setname_np(pthread_self(), "pt_autograd_0");
    truth_enter(STATE_HOST);
    while (enter_backward()) {
        sim_set_tag((uint32_t)r->step + 1);
        for (int i = r->layers - 1; i >= 0; i--) {
            model_backward(r, i);
            if (pipeline_last_micro(r))
                comms_gradients(r, i);
        }
        backward_finished();
    }
    return NULL;
}

/* units: of work so far; negative: no more. */
static void backward_give(int units)
{
    pthread_mutex_lock(&backward.lock);
    backward.wanted = units;
    pthread_cond_broadcast(&backward.changed);
    while (units > 0 && backward.done != backward.wanted)
        pthread_cond_wait(&backward.changed, &backward.lock);
    pthread_mutex_unlock(&backward.lock);
}

void rank_backward(struct rank *r)
{
    static int units;
    truth_other_thread(true);
    backward_give(++units);
    truth_other_thread(false);
}

/* ---- The step
 * ------------------------------------------------------------------------------------------------------------------ */
static struct {
    void *device[2], *staging; /* batches on the device; what a job copies that does not pin its memory */
    size_t bytes;
    void *gradients, *scalar; /* pinned */
    void *device_gradients;
} buffers;

#define GRADIENT_BYTES (32u << 20)

static int buffers_init(const struct rank *r)
{
    bool pageable = fault_here(r, FAULT_PAGEABLE);
    buffers.bytes = pageable ? (size_t)(fault_size(r, FAULT_PAGEABLE) * 1e6) : r->o->batch_bytes;
    buffers.staging = NULL;
    if (pageable && !(buffers.staging = malloc(buffers.bytes)))
        return -1;
    if (!pageable && cudaHostAlloc(&buffers.staging, buffers.bytes, 0))
        return -1;
    memset(buffers.staging, 1, buffers.bytes);
    buffers.device[0] = c10_cuda_malloc(buffers.bytes);
    buffers.device[1] = c10_cuda_malloc(buffers.bytes);
    if (cudaHostAlloc(&buffers.scalar, 4096, 0) || !buffers.device[1])
        return -1;
    if (!fault_here(r, FAULT_OFFLOAD))
        return 0;
    buffers.device_gradients = c10_cuda_malloc(GRADIENT_BYTES);
    return cudaHostAlloc(&buffers.gradients, GRADIENT_BYTES, 0) ? -1 : 0;
}

static void wait_stream(cudaStream_t stream)
{
    enum state before = truth_enter(STATE_SYNC);
    cudaStreamSynchronize(stream);
    truth_enter(before);
}

/* A batch goes over on a stream of its own, beside the step before; a job that does not know better copies from
 * pageable memory on the stream it computes on. */
static void copy_batch(struct rank *r, const void *batch)
{
    void *target = buffers.device[r->step % 2];
    if (fault_here(r, FAULT_PAGEABLE)) {
        enum state before = truth_enter(STATE_SYNC);
        cudaMemcpyAsync(target, buffers.staging, buffers.bytes, cudaMemcpyHostToDevice, r->compute);
        truth_enter(before);
        return;
    }
    memcpy(buffers.staging, batch, 4096); /* the pinning thread's work, as far as anybody looks at it */
    cudaMemcpyAsync(target, buffers.staging, buffers.bytes, cudaMemcpyHostToDevice, r->copy);
    cudaEventRecord(r->copied, r->copy);
    cudaStreamWaitEvent(r->compute, r->copied, 0);
}

void rank_look_at_loss(struct rank *r)
{
    cudaMemcpyAsync(buffers.scalar, buffers.device[0], 4, cudaMemcpyDeviceToHost, r->compute);
    wait_stream(r->compute);
    busy_us(fault_size(r, FAULT_SYNCS));
}

static void optimizer_on_host(struct rank *r)
{
    cudaMemcpyAsync(buffers.gradients, buffers.device_gradients, GRADIENT_BYTES, cudaMemcpyDeviceToHost, r->compute);
    wait_stream(r->compute);
    busy_us(fault_size(r, FAULT_OFFLOAD) * 1e3);
    cudaMemcpyAsync(buffers.device_gradients, buffers.gradients, GRADIENT_BYTES, cudaMemcpyHostToDevice, r->compute);
    r->flop = r->step_flop;
    r->step_flop = 0;
}

/* The host runs one step ahead of the device, no more. */
static void wait_for_step_before(struct rank *r)
{
    cudaEventRecord(r->step_done[r->step % 2], r->compute);
    if (!r->step)
        return;
    enum state before = truth_enter(STATE_SYNC);
    cudaEventSynchronize(r->step_done[(r->step - 1) % 2]);
    truth_enter(before);
}

static void train_step(struct rank *r, const void *batch)
{
    if (fault_here(r, FAULT_HOST) && r->step % 3 == 0) /* it collects garbage */
        busy_us(fault_size(r, FAULT_HOST) * 1e3);
    copy_batch(r, batch);
    memory_step(r);
    pipeline_step(r);
    comms_wait_for_gradients(r);
    if (fault_here(r, FAULT_OFFLOAD))
        optimizer_on_host(r);
    else
        model_optimizer(r);
    if (checkpoint_due(r))
        checkpoint_save(r);
    wait_for_step_before(r);
}

static int train(struct rank *r)
{
    struct loader *l = loader_start(r);
    for (r->step = 0; l && r->step < r->o->steps; r->step++) {
        marks_step_begin(r);
        const void *batch = loader_next(l, r->step);
        if (!batch) {
            fprintf(stderr, "simtrain: rank %d: no batch for step %d\n", r->rank, r->step);
            return 1;
        }
        truth_anchor(r->step);
        train_step(r, batch);
        marks_step_end(r);
    }
    wait_stream(r->compute);
    comms_drain(r);
    checkpoint_finish();
    if (l)
        loader_stop(l);
    return l ? 0 : 1;
}

/* The whole job cannot go on without this rank: its launcher ends the others. */
void rank_failed(const struct rank *r, const char *what, const char *why)
{
    fprintf(stderr, "simtrain: rank %d: %s: %s\n", r->rank, what, why);
    exit(1);
}

static int check(int error, const char *what)
{
    if (error)
        fprintf(stderr, "simtrain: %s: %s\n", what, cudaGetErrorString((cudaError_t)error));
    return error;
}

int rank_run(const struct options *o, int rank)
{
    struct rank r = {.o = o, .rank = rank, .local_rank = rank % (o->ranks / o->hosts)};
    if (check(cudaSetDevice(r.local_rank), "cudaSetDevice") ||
        check(cudaStreamCreateWithFlags(&r.compute, NON_BLOCKING), "cudaStreamCreateWithFlags") ||
        check(cudaStreamCreateWithFlags(&r.copy, NON_BLOCKING), "cudaStreamCreateWithFlags"))
        return 1;
    cudaEventCreateWithFlags(&r.copied, NO_TIMING);
    cudaEventCreateWithFlags(&r.step_done[0], NO_TIMING);
    cudaEventCreateWithFlags(&r.step_done[1], NO_TIMING);
    comms_init(&r);
    model_init(&r);
    if (check(buffers_init(&r) || checkpoint_init(&r) ? 2 : 0, "buffers"))
        return 1;
    memory_init(&r);
    truth_init();
    if (pthread_create(&backward.thread, NULL, backward_run, &r))
        return 1;
    int status = train(&r);
    backward_give(-1);
    pthread_join(backward.thread, NULL);
    char path[600];
    snprintf(path, sizeof(path), "%s/truth.%d", o->dir, rank);
    if (o->truth[0] && truth_write(&r, path)) {
        fprintf(stderr, "simtrain: cannot write %s\n", path);
        return 1;
    }
    comms_finish(&r);
    return status;
}
