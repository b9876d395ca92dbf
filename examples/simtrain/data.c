/* data.c - the dataset and its workers, as PyTorch's DataLoader has them: files, worker processes made by fork, an
 * index pipe to each, one pipe back, batches in shared memory. Two batches per worker are asked for ahead. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "examples/simtrain/job.h"

#define SHARDS 4
#define SHARD_BYTES (16u << 20)
#define READ_BYTES (256u << 10)
#define AHEAD 2
#define WORKERS_MAX 16
#define STEP_MS 47 /* about what a step takes the device; what a slow worker is measured by */

struct message {
    int step, worker;
};

/* What a worker is told is as large as PyTorch's: the pickled indices of the batch. */
struct question {
    struct message message;
    char indices[120];
};

/* What comes back is as well: a pickled handle of the memory the batch lies in. */
struct answer {
    struct message message;
    char handle[344];
};

struct loader {
    const struct rank *r;
    int workers, slots;
    size_t bytes;
    char *batches; /* shared with the workers; slot = step % slots */
    pid_t pids[WORKERS_MAX];
    int index[WORKERS_MAX]; /* write ends */
    int results;            /* read end */
    int asked;              /* steps handed out */
    bool *arrived;          /* by slot */
};

static void shard_name(const struct rank *r, int shard, char *ret, size_t size)
{
    snprintf(ret, size, "%s/data/shard-%02d.bin", r->o->dir, shard);
}

/* Reads one batch's share of its shard. */
static int read_batch(const struct rank *r, int step, char *batch, size_t bytes)
{
    char name[600];
    shard_name(r, step % SHARDS, name, sizeof(name));
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    off_t at = (off_t)(mix(r->o->seed, (uint64_t)step) % (SHARD_BYTES - (2u << 20)));
    for (size_t done = 0; done < 2u << 20; done += READ_BYTES) {
        ssize_t n = pread(fd, batch + done % (bytes - bytes % READ_BYTES), READ_BYTES, at + (off_t)done);
        if (n < 0) {
            close(fd);
            return -errno;
        }
    }
    close(fd);
    return 0;
}

static void decode(void)
{
    busy_us(2000);
}

static void slow_down(const struct rank *r, int workers)
{
    if (!fault_here(r, FAULT_DATALOADER))
        return;
    double ms = fault_size(r, FAULT_DATALOADER) * STEP_MS * (workers ? workers : 1);
    struct timespec t = {(time_t)(ms / 1e3), (long)(ms * 1e6) % 1000000000};
    nanosleep(&t, NULL);
}

static void worker_run(const struct loader *l, int worker, int index, int results)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (struct question q; read(index, &q, sizeof(q)) == sizeof(q);) {
        struct message m = q.message;
        if (read_batch(l->r, m.step, l->batches + (size_t)(m.step % l->slots) * l->bytes, l->bytes))
            _exit(1);
        decode();
        slow_down(l->r, l->workers);
        struct answer answer = {{m.step, worker}, {0}};
        if (write(results, &answer, sizeof(answer)) != sizeof(answer))
            _exit(1);
    }
    _exit(0);
}

static void ask(struct loader *l)
{
    struct question q = {{l->asked, 0}, {0}};
    l->arrived[l->asked % l->slots] = false;
    if (write(l->index[l->asked % l->workers], &q, sizeof(q)) == sizeof(q))
        l->asked++;
}

struct loader *loader_start(const struct rank *r)
{
    struct loader *l = calloc(1, sizeof(*l));
    int results[2];
    if (!l || pipe2(results, O_CLOEXEC))
        return NULL;
    l->r = r;
    l->workers = r->o->workers < WORKERS_MAX ? r->o->workers : WORKERS_MAX;
    l->slots = (l->workers ? l->workers : 1) * AHEAD + 3; /* and those that the device may still be copying */
    l->bytes = r->o->batch_bytes > READ_BYTES ? r->o->batch_bytes : READ_BYTES;
    l->arrived = calloc((size_t)l->slots, sizeof(bool));
    l->batches = mmap(NULL, (size_t)l->slots * l->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    l->results = results[0];
    if (!l->arrived || l->batches == MAP_FAILED)
        return NULL;
    for (int w = 0; w < l->workers; w++) {
        int index[2];
        if (pipe2(index, O_CLOEXEC))
            return NULL;
        l->pids[w] = fork();
        if (l->pids[w] == 0) {
            for (int other = 0; other < w; other++)
                close(l->index[other]);
            close(index[1]);
            close(results[0]);
            worker_run(l, w, index[0], results[1]);
        }
        close(index[0]);
        l->index[w] = index[1];
    }
    close(results[1]);
    for (int i = 0; i < l->workers * AHEAD; i++)
        ask(l);
    return l;
}

/* Blocks on the pipe that the workers feed. */
static int receive(struct loader *l, struct message *ret)
{
    enum state before = truth_enter(STATE_DATALOADER);
    struct pollfd p = {l->results, POLLIN, 0};
    int ready;
    while ((ready = poll(&p, 1, 5000)) == 0 || (ready < 0 && errno == EINTR))
        ;
    struct answer answer;
    int error = ready < 0 || read(l->results, &answer, sizeof(answer)) != sizeof(answer) ? -EPIPE : 0;
    *ret = answer.message;
    truth_enter(before);
    return error;
}

const void *loader_next(struct loader *l, int step)
{
    char *batch = l->batches + (size_t)(step % l->slots) * l->bytes;
    if (!l->workers) {
        enum state before = truth_enter(STATE_DATALOADER);
        int error = read_batch(l->r, step, batch, l->bytes);
        slow_down(l->r, 0);
        truth_enter(before);
        decode(); /* on the CPU: without a range around it nobody can tell it from other work of the host */
        return error ? NULL : batch;
    }
    while (!l->arrived[step % l->slots]) {
        struct message m;
        if (receive(l, &m))
            return NULL;
        l->arrived[m.step % l->slots] = true;
    }
    if (l->asked < l->r->o->steps) {
        enum state before = truth_enter(STATE_DATALOADER); /* the worker it wakes may take the CPU */
        ask(l);
        truth_enter(before);
    }
    return batch;
}

void loader_stop(struct loader *l)
{
    for (int w = 0; w < l->workers; w++)
        close(l->index[w]);
    for (int w = 0; w < l->workers; w++)
        waitpid(l->pids[w], NULL, 0);
    close(l->results);
    munmap(l->batches, (size_t)l->slots * l->bytes);
    free(l->arrived);
    free(l);
}
