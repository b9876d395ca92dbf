/* libcublas.c - the calls of cuBLAS that a training job makes. Like the real one it goes to the driver by itself: no
 * call of the runtime API is made. */
#include <stdlib.h>

#include "tests/sim/cublas/gemm.h"

#define WORKSPACE (32u << 20)

struct handle {
    void *stream, *workspace;
    int math_mode, pointer_mode;
};

SIM_EXPORT int cublasCreate_v2(struct handle **ret);
SIM_EXPORT int cublasDestroy_v2(struct handle *h);
SIM_EXPORT int cublasSetStream_v2(struct handle *h, void *stream);
SIM_EXPORT int cublasGetStream_v2(struct handle *h, void **stream);
SIM_EXPORT int cublasSetWorkspace_v2(struct handle *h, void *workspace, size_t bytes);
SIM_EXPORT int cublasSetMathMode(struct handle *h, int mode);
SIM_EXPORT int cublasGetMathMode(struct handle *h, int *mode);
SIM_EXPORT int cublasSetPointerMode_v2(struct handle *h, int mode);
SIM_EXPORT int cublasGetPointerMode_v2(struct handle *h, int *mode);
SIM_EXPORT int cublasGetVersion_v2(struct handle *h, int *version);
SIM_EXPORT int cublasSgemm_v2(struct handle *h, int ta, int tb, int m, int n, int k, const float *alpha, const float *a,
                              int lda, const float *b, int ldb, const float *beta, float *c, int ldc);
SIM_EXPORT int cublasDgemm_v2(struct handle *h, int ta, int tb, int m, int n, int k, const double *alpha,
                              const double *a, int lda, const double *b, int ldb, const double *beta, double *c,
                              int ldc);
SIM_EXPORT int cublasGemmEx(struct handle *h, int ta, int tb, int m, int n, int k, const void *alpha, const void *a,
                            int a_type, int lda, const void *b, int b_type, int ldb, const void *beta, void *c,
                            int c_type, int ldc, int compute, int algo);
SIM_EXPORT int cublasGemmStridedBatchedEx(struct handle *h, int ta, int tb, int m, int n, int k, const void *alpha,
                                          const void *a, int a_type, int lda, long long sa, const void *b, int b_type,
                                          int ldb, long long sb, const void *beta, void *c, int c_type, int ldc,
                                          long long sc, int batch, int compute, int algo);

int cublasCreate_v2(struct handle **ret)
{
    struct handle *h = sim_init() ? NULL : calloc(1, sizeof(*h));
    if (!h)
        return 1; /* CUBLAS_STATUS_NOT_INITIALIZED */
    sim_malloc(sim_current(), WORKSPACE, &h->workspace);
    *ret = h;
    return 0;
}

int cublasDestroy_v2(struct handle *h)
{
    sim_free(h->workspace);
    free(h);
    return 0;
}

int cublasSetStream_v2(struct handle *h, void *stream)
{
    h->stream = stream;
    return 0;
}

int cublasGetStream_v2(struct handle *h, void **stream)
{
    *stream = h->stream;
    return 0;
}

int cublasSetWorkspace_v2(struct handle *h, void *workspace, size_t bytes)
{
    return 0;
}

int cublasSetMathMode(struct handle *h, int mode)
{
    h->math_mode = mode;
    return 0;
}

int cublasGetMathMode(struct handle *h, int *mode)
{
    *mode = h->math_mode;
    return 0;
}

int cublasSetPointerMode_v2(struct handle *h, int mode)
{
    h->pointer_mode = mode;
    return 0;
}

int cublasGetPointerMode_v2(struct handle *h, int *mode)
{
    *mode = h->pointer_mode;
    return 0;
}

int cublasGetVersion_v2(struct handle *h, int *version)
{
    *version = 130000;
    return 0;
}

#define TF32_MODE 3

int cublasSgemm_v2(struct handle *h, int ta, int tb, int m, int n, int k, const float *alpha, const float *a, int lda,
                   const float *b, int ldb, const float *beta, float *c, int ldc)
{
    return gemm_launch(h->stream, GEMM_F32, h->math_mode == TF32_MODE, m, n, k, 1);
}

int cublasDgemm_v2(struct handle *h, int ta, int tb, int m, int n, int k, const double *alpha, const double *a, int lda,
                   const double *b, int ldb, const double *beta, double *c, int ldc)
{
    return gemm_launch(h->stream, GEMM_F64, false, m, n, k, 1);
}

#define COMPUTE_32F_FAST_TF32 77

int cublasGemmEx(struct handle *h, int ta, int tb, int m, int n, int k, const void *alpha, const void *a, int a_type,
                 int lda, const void *b, int b_type, int ldb, const void *beta, void *c, int c_type, int ldc,
                 int compute, int algo)
{
    return gemm_launch(h->stream, (enum gemm_type)a_type, compute == COMPUTE_32F_FAST_TF32 || h->math_mode == TF32_MODE,
                       m, n, k, 1);
}

int cublasGemmStridedBatchedEx(struct handle *h, int ta, int tb, int m, int n, int k, const void *alpha, const void *a,
                               int a_type, int lda, long long sa, const void *b, int b_type, int ldb, long long sb,
                               const void *beta, void *c, int c_type, int ldc, long long sc, int batch, int compute,
                               int algo)
{
    return gemm_launch(h->stream, (enum gemm_type)a_type, compute == COMPUTE_32F_FAST_TF32, m, n, k, batch);
}
