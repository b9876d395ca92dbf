/* memory.c - what the job holds on the device: weights and optimizer state for good, activations within a step; and the
 * faults that show in how the device's memory is cut up. Requests that fail are given up, as a job does that then takes
 * a smaller batch. */
#include "examples/simtrain/job.h"

#define MIB (1ull << 20)
#define GIB (1ull << 30)
#define TROUBLE_STEP 20

static void *activations[64];

/* Takes whole segments until only `leave` bytes of the device are free. */
static void fill(uint64_t leave)
{
    size_t available, total;
    while (cudaMemGetInfo(&available, &total) == 0 && available > leave + 2 * MIB) {
        uint64_t bytes = available - leave;
        bytes = bytes > 2 * GIB ? 2 * GIB : bytes / (2 * MIB) * (2 * MIB);
        if (bytes < 12 * MIB || !c10_cuda_malloc(bytes))
            return;
    }
}

/* Segments of 140 MiB with a small block at the end of each that stays: most of them is free, and none can be given
 * back. */
static void cut_up(void)
{
    static void *blocks[200];
    for (int i = 0; i < 200; i++)
        blocks[i] = c10_cuda_malloc(140 * MIB);
    for (int i = 0; i < 200; i++)
        c10_cuda_free(blocks[i]);
    for (int i = 0; i < 200; i++) {
        blocks[i] = c10_cuda_malloc(129 * MIB);
        c10_cuda_malloc(11 * MIB);
    }
    for (int i = 0; i < 200; i++)
        c10_cuda_free(blocks[i]);
}

void memory_init(struct rank *r)
{
    for (int i = 0; i < r->o->layers; i++)
        c10_cuda_malloc(200 * MIB);
    if (fault_here(r, FAULT_FRAGMENTATION)) {
        cut_up();
        fill(1 * GIB);
    }
    if (fault_here(r, FAULT_CAPACITY))
        fill(3 * GIB);
    if (fault_here(r, FAULT_RETRIES))
        fill(4 * GIB);
}

static void try_once(struct rank *r, enum fault f)
{
    if (fault_here(r, f) && r->step == TROUBLE_STEP)
        c10_cuda_free(c10_cuda_malloc((size_t)(fault_size(r, f) * (double)GIB)));
}

void memory_step(struct rank *r)
{
    for (int i = 0; i < r->o->layers && i < 64; i++)
        activations[i] = c10_cuda_malloc(48 * MIB);
    for (int i = 0; i < r->o->layers && i < 64; i++)
        c10_cuda_free(activations[i]);
    enum state before = truth_enter(STATE_SYNC); /* giving segments back waits for the device */
    try_once(r, FAULT_FRAGMENTATION);
    try_once(r, FAULT_CAPACITY);
    if (fault_here(r, FAULT_RETRIES)) /* sequences grow: what is cached is always a little too small */
        c10_cuda_free(
            c10_cuda_malloc((size_t)(fault_size(r, FAULT_RETRIES) * (double)GIB) + (size_t)(r->step % 120) * 8 * MIB));
    truth_enter(before);
}
