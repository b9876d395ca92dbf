/* gemm.c - how long a product takes: 2 m n k operations at what the device reaches of its peak for that type, and never
 * less than a few microseconds. */
#include "tests/sim/cublas/gemm.h"

#define LEAST_NS 3000

/* Relative to the peak of 16 bit types, as on Hopper. */
static double relative_peak(enum gemm_type type, bool tf32)
{
    switch (type) {
    case GEMM_F64:
        return 67.0 / 989;
    case GEMM_F32:
        return tf32 ? 0.5 : 67.0 / 989;
    case GEMM_F8_E4M3:
    case GEMM_F8_E5M2:
        return 2;
    default:
        return 1;
    }
}

static const char *kernel_name(enum gemm_type type)
{
    switch (type) {
    case GEMM_F64:
        return "sm90_xmma_gemm_f64f64_f64f64_f64_nn_n_tilesize64x64x32_warpgroupsize1x1x1_execute_kernel__5x_cublas";
    case GEMM_F32:
        return "sm90_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize128x128x32_warpgroupsize1x1x1_execute_kernel__5x_cublas";
    case GEMM_F16:
        return "sm90_xmma_gemm_f16f16_f16f32_f32_nn_n_tilesize128x256x64_warpgroupsize2x1x1_execute_kernel__5x_cublas";
    case GEMM_F8_E4M3:
    case GEMM_F8_E5M2:
        return "sm90_xmma_gemm_e4m3bf16_e4m3f32_f32_tn_n_tilesize128x128x128_warpgroupsize2x1x1_execute_kernel__5x_"
               "cublas";
    default:
        return "nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_NNT";
    }
}

int gemm_launch(void *stream, const struct gemm_product *p)
{
    int64_t m = p->m, n = p->n, k = p->k, batch = p->batch;
    enum gemm_type type = p->a.type;
    struct sim_stream *s = sim_stream_of(stream);
    if (!s || m < 0 || n < 0 || k < 0)
        return 7; /* CUBLAS_STATUS_INVALID_VALUE */
    double flop = 2.0 * (double)m * (double)n * (double)k * (double)batch;
    double rate = sim_settings()->peak_flops * relative_peak(type, p->tf32) * sim_settings()->gemm_reached;
    uint64_t ns = (uint64_t)(flop * 1e9 / rate);
    struct sim_launch l = {
        {(unsigned)((m + 127) / 128 + 1), (unsigned)((n + 255) / 256 + 1), (unsigned)batch}, {384, 1, 1}, 0, false};
    struct sim_work work = flop <= sim_settings()->compute ? gemm_work(p) : (struct sim_work){0};
    /* cuBLAS launches by the driver's cuLaunchKernelEx, so a tool sees that call and ties the kernel to it. */
    struct sim_call call = {.domain = SIM_DRIVER_API, .cbid = 652, .name = "cuLaunchKernelEx", .params = &l};
    sim_call_enter(&call);
    int err = sim_launch_work(s, kernel_name(type), &l, ns < LEAST_NS ? LEAST_NS : ns, &work);
    return sim_call_exit(&call, err) ? 13 : 0;
}
