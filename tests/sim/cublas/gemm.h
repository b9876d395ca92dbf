/* gemm.h - a matrix product on the simulated device: one kernel, as long as its arithmetic takes. */
#ifndef SIM_GEMM_H
#define SIM_GEMM_H

#include "tests/sim/engine/engine.h"

/* cudaDataType numbers. */
enum gemm_type { GEMM_F32 = 0, GEMM_F64 = 1, GEMM_F16 = 2, GEMM_BF16 = 14, GEMM_F8_E4M3 = 28, GEMM_F8_E5M2 = 29 };

/* cublasStatus_t of launching it; `tf32`: single precision may use the tensor cores. */
int gemm_launch(void *stream, enum gemm_type type, bool tf32, int64_t m, int64_t n, int64_t k, int64_t batch);

#endif
