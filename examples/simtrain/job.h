/* job.h - what the parts of simtrain share: the options of a run, and one rank's state.
 *
 * A rank is a process of its own. Its main thread is the training thread: it fetches a batch, copies it to the device,
 * launches the forward kernels, lets a backward thread launch the backward ones, and launches the optimizer's. The host
 * runs at most one step ahead of the device. */
#ifndef SIMTRAIN_JOB_H
#define SIMTRAIN_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "examples/simtrain/cuda_calls.h"

enum fault {
#define FAULT(id, name, everywhere, standard, what) FAULT_##id,
#include "examples/simtrain/faults.def"
#undef FAULT
    FAULT_MAX
};

enum marks { MARKS_NONE, MARKS_NVTX, MARKS_STEP };

struct options { /* plain data: handed to the ranks as it is */
    int ranks, hosts, steps, layers, workers;
    uint64_t seed;
    enum marks marks;
    size_t batch_bytes;
    int checkpoint_every;
    size_t checkpoint_bytes;
    bool keep; /* the work folder */
    char dir[512], truth[512];
    struct {
        bool on;
        int rank; /* -1: every rank */
        double size;
    } faults[FAULT_MAX];
};

/* What the training thread (or the one it waits for) is doing when it is not simply running, by precedence. Idle:
 * it waits for the other thread. */
enum state { STATE_HOST, STATE_SYNC, STATE_CHECKPOINT, STATE_DATALOADER, STATE_IDLE, STATE_MAX };

struct rank {
    const struct options *o;
    int rank, local_rank;
    int step; /* being trained */
    cudaStream_t compute, copy;
    void *blas;
    cudaEvent_t copied, step_done[2];
    uint64_t step_flop, flop; /* of the step being launched; of the last whole one */
};

/* options.c */
int options_parse(struct options *o, int argc, char **argv); /* 0, 1: told to stop (help), -1: said what is wrong */
bool fault_here(const struct rank *r, enum fault f);
double fault_size(const struct rank *r, enum fault f);

/* rank.c: one rank, from start to end; returns its exit status */
int rank_run(const struct options *o, int rank);

/* model.c: the network. Each launches what a layer launches; lengths vary by two percent, the same for the same seed.
 */
void model_init(struct rank *r);
void model_forward(struct rank *r, int layer);
void model_backward(struct rank *r, int layer);
void model_loss(struct rank *r);
void model_optimizer(struct rank *r);

/* data.c: files, worker processes, batches */
struct loader;
struct loader *loader_start(const struct rank *r);
/* Valid until the batch after the next is asked for; NULL: failed. */
const void *loader_next(struct loader *l, int step);
void loader_stop(struct loader *l);

/* checkpoint.c */
int checkpoint_init(const struct rank *r);
bool checkpoint_due(const struct rank *r); /* after this step */
void checkpoint_save(struct rank *r);      /* copied between this step and the next, written by a thread of its own */
void checkpoint_finish(void);

/* memory.c: what the job keeps in the allocator, and the faults that show there */
void memory_init(struct rank *r);
void memory_step(struct rank *r);

/* marks.c */
void marks_step_begin(const struct rank *r);
void marks_step_end(const struct rank *r);

/* truth.c: what really happened */
void truth_init(void);
void truth_anchor(int step);           /* the training thread has its batch */
enum state truth_enter(enum state s);  /* calling thread; returns the state before, to be entered again */
void truth_other_thread(bool waiting); /* the training thread waits for the backward thread: that one counts */
int truth_write(const struct rank *r, const char *path);

/* time.c */
uint64_t now_ns(void);
void busy_us(double us);              /* on the CPU */
uint64_t mix(uint64_t a, uint64_t b); /* two numbers into one, evenly spread */

#endif
