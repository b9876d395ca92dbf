/* gemm.h - a matrix product on the simulated device: one kernel, as long as its arithmetic takes. */
#ifndef SIM_GEMM_H
#define SIM_GEMM_H

#include "tests/sim/engine/engine.h"

/* cudaDataType numbers. */
enum gemm_type { GEMM_F32 = 0, GEMM_F64 = 1, GEMM_F16 = 2, GEMM_BF16 = 14, GEMM_F8_E4M3 = 28, GEMM_F8_E5M2 = 29 };

enum gemm_epilogue { GEMM_RELU = 2, GEMM_BIAS = 4, GEMM_GELU = 32 }; /* cublasLtEpilogue_t, bits of it */

struct gemm_matrix { /* by columns; `transposed` as cublasOperation_t: 0 as it is */
    const void *at;
    enum gemm_type type;
    int transposed;
    int64_t ld, stride; /* of a column, of the batch */
};

/* D = epilogue(alpha A B + beta C). */
struct gemm_product {
    int64_t m, n, k, batch;
    struct gemm_matrix a, b, c, d;
    double alpha, beta;
    int epilogue;
    const void *bias; /* m values of d's type */
    bool tf32;        /* single precision may use the tensor cores */
};

/* cublasStatus_t of launching it. It is computed on the host if SIM_COMPUTE allows that many operations. */
int gemm_launch(void *stream, const struct gemm_product *p);
struct sim_work gemm_work(const struct gemm_product *p);
double gemm_scale(const void *scale, enum gemm_type compute); /* alpha or beta behind a pointer */

#endif
