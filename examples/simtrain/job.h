/* job.h - what the parts of simtrain share: the options of a run, and one rank's state.
 *
 * A rank is a process of its own. Its main thread is the training thread: it fetches a batch, copies it to the device,
 * launches the forward kernels, lets a backward thread launch the backward ones, and launches the optimizer's. The host
 * runs at most one step ahead of the device.
 *
 * Ranks are numbered as Megatron numbers them: those that share a layer (tp) next to each other, then those that share
 * nothing but the weights (dp), then the stages (pp). */
#ifndef SIMTRAIN_JOB_H
#define SIMTRAIN_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "examples/simtrain/cuda_calls.h"
#include "tests/sim/abi/nccl_abi.h"

enum fault {
#define FAULT(id, name, everywhere, standard, what) FAULT_##id,
#include "examples/simtrain/faults.def"
#undef FAULT
    FAULT_MAX
};

enum marks { MARKS_NONE, MARKS_NVTX, MARKS_STEP };

struct options { /* plain data: handed to the ranks as it is */
    int ranks, hosts, steps, layers, workers;
    int tp, pp, micro; /* ranks that share a layer, stages, micro-batches of a step */
    bool gpipe;        /* all micro-batches forward, then all backward; else one forward, one backward */
    size_t gradient_bytes, bucket_bytes; /* of a layer; sent together */
    int coalesce;                        /* all-reduces launched as one */
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

/* Ranks that communicate about one thing, on a stream of its own. comm is NULL where a rank is alone. */
struct group {
    ncclComm_t comm;
    cudaStream_t stream;
    int rank, size;
    cudaEvent_t ready, done;
};

struct rank {
    const struct options *o;
    int rank, local_rank;
    int step;  /* being trained */
    int micro; /* micro-batch being launched */
    struct group dp, tp, pp;
    int layers;   /* of this stage */
    double share; /* of a whole batch in a micro-batch */
    cudaStream_t compute, copy;
    void *blas;
    cudaEvent_t copied, step_done[2];
    uint64_t step_flop, flop; /* of the step being launched; of the last whole one */
};

/* options.c */
int options_parse(struct options *o, int argc, char **argv); /* 0, 1: told to stop (help), -1: said what is wrong */
bool fault_here(const struct rank *r, enum fault f);
double fault_size(const struct rank *r, enum fault f);

bool fault_on(const struct options *o, enum fault f, int rank);

/* scenario.c: what the hosts and their boards are like, in the folders that the simulated node looks at, and the
 * environment of a rank */
void scenario_write(const struct options *o, uint64_t elapsed_ns);
void scenario_environment(const struct options *o, int rank);

/* rank.c: one rank, from start to end; returns its exit status */
int rank_run(const struct options *o, int rank);
void rank_backward(struct rank *r); /* the backward thread launches one micro-batch; returns when it has */
void rank_look_at_loss(struct rank *r);
void rank_failed(const struct rank *r, const char *what, const char *why) __attribute__((noreturn));

/* comms.c: communicators, and what goes over them */
void comms_init(struct rank *r);
void comms_drain(struct rank *r); /* waits until nothing is under way */
void comms_finish(struct rank *r);
enum tensor_call { TENSOR_GATHER, TENSOR_SCATTER, TENSOR_REDUCE };
void comms_tensor(struct rank *r, enum tensor_call what); /* within a layer: the compute stream waits for it */
void comms_gradients(struct rank *r, int layer);          /* those of this layer are there */
void comms_wait_for_gradients(struct rank *r);            /* before the optimizer */
#define TO_NEXT 1u
#define FROM_NEXT 2u
#define TO_PREVIOUS 4u
#define FROM_PREVIOUS 8u
void comms_stages(struct rank *r, unsigned what); /* activations and their gradients, in one kernel */

/* pipeline.c: forward and backward of a step, in the order that stages and micro-batches want */
void pipeline_step(struct rank *r);
bool pipeline_last_micro(const struct rank *r);

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
