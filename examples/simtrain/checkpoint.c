/* checkpoint.c - saving: the training thread copies the weights to the host, a thread of its own writes them to a new
 * file, syncs and renames it. A save that is still being written when the next is due is waited for. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "examples/simtrain/job.h"

#define NO_TIMING 2
#define WRITE_BYTES (4u << 20)

static struct {
    char *host; /* pinned */
    void *device;
    size_t bytes;
    char path[600];
    cudaEvent_t trained, copied;
    int device_number;
    pthread_t writer;
    bool writing;
} save;

static int write_all(int fd)
{
    for (size_t done = 0; done < save.bytes;) {
        size_t n = save.bytes - done < WRITE_BYTES ? save.bytes - done : WRITE_BYTES;
        ssize_t written = write(fd, save.host + done, n);
        if (written < 0)
            return -errno;
        done += (size_t)written;
    }
    return fsync(fd) ? -errno : 0;
}

static void *write_file(void *unused)
{
    cudaSetDevice(save.device_number);
    cudaEventSynchronize(save.copied);
    char temporary[620];
    snprintf(temporary, sizeof(temporary), "%s.tmp", save.path);
    int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    int error = fd < 0 ? -errno : write_all(fd);
    if (fd >= 0)
        close(fd);
    if (error || rename(temporary, save.path))
        fprintf(stderr, "simtrain: cannot save %s: %d\n", save.path, error ? error : -errno);
    return unused;
}

void checkpoint_finish(void)
{
    if (save.writing)
        pthread_join(save.writer, NULL);
    save.writing = false;
}

bool checkpoint_due(const struct rank *r)
{
    return r->rank == 0 && r->o->checkpoint_every && (r->step + 1) % r->o->checkpoint_every == 0;
}

int checkpoint_init(const struct rank *r)
{
    if (r->rank || !r->o->checkpoint_every || r->o->steps < r->o->checkpoint_every)
        return 0;
    save.bytes = r->o->checkpoint_bytes;
    save.device_number = r->local_rank;
    cudaEventCreateWithFlags(&save.trained, NO_TIMING);
    cudaEventCreateWithFlags(&save.copied, NO_TIMING);
    save.device = c10_cuda_malloc(save.bytes);
    return save.device && cudaHostAlloc((void **)&save.host, save.bytes, 0) == 0 ? 0 : -1;
}

void checkpoint_save(struct rank *r)
{
    enum state before = truth_enter(STATE_CHECKPOINT);
    checkpoint_finish();
    if (save.host) {
        cudaEventRecord(save.trained, r->compute);
        cudaStreamWaitEvent(r->copy, save.trained, 0);
        cudaMemcpyAsync(save.host, save.device, save.bytes, cudaMemcpyDeviceToHost, r->copy);
        cudaEventRecord(save.copied, r->copy);
        cudaStreamWaitEvent(r->compute, save.copied, 0); /* the next step changes the weights */
        snprintf(save.path, sizeof(save.path), "%s/checkpoint-%05d.pt", r->o->dir, r->step);
        save.writing = pthread_create(&save.writer, NULL, write_file, NULL) == 0;
    }
    truth_enter(before);
}
