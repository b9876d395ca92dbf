/* model.c - a transformer's kernels: matrix products by cuBLAS, the rest registered as a compiled program's are, with
 * their length as first argument. */
#include "examples/simtrain/job.h"
#include "tests/sim/engine/engine.h"

#define TOKENS 4096
#define WIDTH 2048
#define BF16 14
#define COMPUTE_32F 68

enum kernel { ATTENTION, ATTENTION_BACKWARD, NORM, ELEMENTWISE, EMBEDDING, SOFTMAX, ADAM, KERNEL_MAX };

/* One stub each, at its own address: that is how a launch says which kernel it means. */
#define STUB(n)                                                                                                        \
    static void stub_##n(void)                                                                                         \
    {                                                                                                                  \
        __asm__ volatile("" ::"i"(n));                                                                                 \
    }
/* clang-format off */
STUB(0) STUB(1) STUB(2) STUB(3) STUB(4) STUB(5) STUB(6)
    /* clang-format on */

    static const struct {
    void (*stub)(void);
    const char *name;
    double us;
    unsigned blocks;
} kernels[KERNEL_MAX] = {
    {stub_0, "_ZN5flash16flash_fwd_kernelI23Flash_fwd_kernel_traitsILi128ELi128ELi64ELi4EEEEvNS_16Flash_fwd_paramsE",
     250, 512},
    {stub_1,
     "_ZN5flash27flash_bwd_dq_dk_dv_loop_seqk_parallel_kernelI23Flash_bwd_kernel_traitsEEvNS_16Flash_bwd_paramsE", 520,
     512},
    {stub_2, "_ZN2at6native53_GLOBAL__N__vectorized_layer_norm_kernelIN3c108BFloat16EfEEviT0_PKT_S6_S6_PS4_S7_PS3_", 20,
     4096},
    {stub_3, "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15GeluCUDAKernelEEEviT0_T1_", 30, 16384},
    {stub_4, "_ZN2at6native28indexSelectLargeIndexKernelIfjLi2ELi2ELin2ELb1EEEvv", 60, 1024},
    {stub_5, "_ZN2at6native54cunn_SoftMaxForwardSmemILi8EN3c108BFloat16EfS3_NS1_29LogSoftMaxForwardEpilogueEEEvv", 400,
     4096},
    {stub_6, "_ZN2at6native12multi_tensor_apply_kernelINS1_28FusedOptimizerTensorListMetadataILi4EEEEEvv", 90, 320},
};

static unsigned count; /* launches of this rank so far; the main and the backward thread take turns */

void model_init(struct rank *r)
{
    static int binary; /* nothing looks at it */
    void **handle = __cudaRegisterFatBinary(&binary);
    for (int i = 0; i < KERNEL_MAX; i++) {
        __cudaRegisterFunction(handle, (const char *)kernels[i].stub, (char *)kernels[i].name, kernels[i].name, -1, 0,
                               0, 0, 0, 0);
        sim_kernel_told((const void *)kernels[i].stub);
    }
    __cudaRegisterFatBinaryEnd(handle);
    cublasCreate_v2(&r->blas);
    cublasSetStream_v2(r->blas, r->compute);
}

static double slower(const struct rank *r)
{
    return fault_here(r, FAULT_THROTTLED) ? fault_size(r, FAULT_THROTTLED) : 1;
}

/* With CUDA_LAUNCH_BLOCKING a launch waits for its kernel. */
static enum state launch_begins(void)
{
    return sim_settings()->blocking ? truth_enter(STATE_SYNC) : STATE_MAX;
}

static void launch_ended(enum state before)
{
    if (before != STATE_MAX)
        truth_enter(before);
}

static void host_work(const struct rank *r)
{
    if (fault_here(r, FAULT_LAUNCHES))
        busy_us(fault_size(r, FAULT_LAUNCHES));
}

static void launch(struct rank *r, enum kernel k, double factor)
{
    double us = fault_here(r, FAULT_LAUNCHES) ? 6 : kernels[k].us * factor;
    if (k != ADAM)
        factor *= r->share, us *= r->share;
    if (fault_here(r, FAULT_MFU))
        us /= 2; /* so that products still make up most of the step */
    double spread = 0.98 + 0.04 * (double)(mix(r->o->seed, mix((uint64_t)r->rank, count++)) % 1000) / 1000;
    uint64_t ns = (uint64_t)(us * slower(r) * spread * 1e3);
    void *args[] = {&ns, NULL};
    host_work(r);
    enum state before = launch_begins();
    cudaLaunchKernel((const void *)kernels[k].stub, (dim3){(unsigned)(kernels[k].blocks * factor), 1, 1},
                     (dim3){256, 1, 1}, args, 0, r->compute);
    launch_ended(before);
}

/* columns: of the weight, `inner`: what is summed over. */
static void product(struct rank *r, int columns, int inner)
{
    int tokens = (int)(TOKENS * r->share);
    if (fault_here(r, FAULT_LAUNCHES))
        tokens = 64; /* a small product costs what the least one costs */
    if (fault_here(r, FAULT_MFU))
        tokens = 1280; /* as long as before, by the share of the peak that main.c lets products reach */
    host_work(r);
    enum state before = launch_begins();
    cublasGemmEx(r->blas, 0, 0, columns, tokens, inner, 0, 0, BF16, columns, 0, BF16, inner, 0, 0, BF16, columns,
                 COMPUTE_32F, -1);
    launch_ended(before);
    r->step_flop += 2ull * (uint64_t)columns * (uint64_t)tokens * (uint64_t)inner;
    count++;
}

static double attention_factor(const struct rank *r)
{
    return fault_here(r, FAULT_UNBALANCED) ? fault_size(r, FAULT_UNBALANCED) : 1;
}

/* What ranks that share a layer tell each other in it, forward and backward: the tokens of each are gathered for the
 * attention, its result is scattered again, and that of the second half is summed up. */
void model_forward(struct rank *r, int layer)
{
    if (layer == 0 && r->pp.rank == 0)
        launch(r, EMBEDDING, 1);
    launch(r, NORM, 1);
    comms_tensor(r, TENSOR_GATHER);
    product(r, 3 * WIDTH, WIDTH);
    launch(r, ATTENTION, attention_factor(r));
    product(r, WIDTH, WIDTH);
    comms_tensor(r, TENSOR_SCATTER);
    launch(r, NORM, 1);
    product(r, 4 * WIDTH, WIDTH);
    launch(r, ELEMENTWISE, 1);
    product(r, WIDTH, 4 * WIDTH);
    comms_tensor(r, TENSOR_REDUCE);
}

void model_loss(struct rank *r)
{
    launch(r, SOFTMAX, 1);
}

void model_backward(struct rank *r, int layer)
{
    for (int i = 0; i < 2; i++) { /* by the inputs, and by the weights */
        product(r, 4 * WIDTH, WIDTH);
        product(r, WIDTH, 4 * WIDTH);
    }
    launch(r, ELEMENTWISE, 1.5);
    launch(r, NORM, 2);
    comms_tensor(r, TENSOR_GATHER);
    for (int i = 0; i < 2; i++)
        product(r, WIDTH, WIDTH);
    launch(r, ATTENTION_BACKWARD, attention_factor(r));
    for (int i = 0; i < 2; i++)
        product(r, 3 * WIDTH, WIDTH);
    comms_tensor(r, TENSOR_SCATTER);
    launch(r, NORM, 2);
    if (layer == 0 && r->pp.rank == 0)
        launch(r, EMBEDDING, 1);
}

void model_optimizer(struct rank *r)
{
    for (int i = 0; i < r->layers; i++)
        launch(r, ADAM, 1);
    r->flop = r->step_flop;
    r->step_flop = 0;
}
