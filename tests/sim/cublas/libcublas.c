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
SIM_EXPORT int cublasSgemmStridedBatched(struct handle *h, int ta, int tb, int m, int n, int k, const float *alpha,
                                         const float *a, int lda, long long sa, const float *b, int ldb, long long sb,
                                         const float *beta, float *c, int ldc, long long sc, int batch);
SIM_EXPORT int cublasDgemmStridedBatched(struct handle *h, int ta, int tb, int m, int n, int k, const double *alpha,
                                         const double *a, int lda, long long sa, const double *b, int ldb, long long sb,
                                         const double *beta, double *c, int ldc, long long sc, int batch);
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
#define COMPUTE_32F 68
#define COMPUTE_64F 70
#define COMPUTE_32F_FAST_TF32 77

/* cublasComputeType_t: 64 and 65 in half precision, 68 and 69 single, 70 and 71 double, 74 to 78 single on tensor
 * cores. */
static enum gemm_type scale_type(int compute)
{
    if (compute == 64 || compute == 65)
        return GEMM_F16;
    return compute == 70 || compute == 71 ? GEMM_F64 : GEMM_F32;
}

/* Scales behind device pointers (pointer mode 1) are read at once: nothing here computes them on the device. */
static int product(struct handle *h, int compute, const void *alpha, const void *beta, struct gemm_product *p)
{
    p->tf32 = compute == COMPUTE_32F_FAST_TF32 || h->math_mode == TF32_MODE;
    if (sim_settings()->compute > 0) {
        p->alpha = gemm_scale(alpha, scale_type(compute));
        p->beta = gemm_scale(beta, scale_type(compute));
    }
    p->c = p->d;
    return gemm_launch(h->stream, p);
}

#define MATRIX(x, transposed_, stride_)                                                                                \
    {                                                                                                                  \
        .at = x, .type = (enum gemm_type)x##_type, .transposed = transposed_, .ld = ld##x, .stride = stride_           \
    }

int cublasGemmStridedBatchedEx(struct handle *h, int ta, int tb, int m, int n, int k, const void *alpha, const void *a,
                               int a_type, int lda, long long sa, const void *b, int b_type, int ldb, long long sb,
                               const void *beta, void *c, int c_type, int ldc, long long sc, int batch, int compute,
                               int algo)
{
    struct gemm_product p = {m, n, k, batch, .a = MATRIX(a, ta, sa), .b = MATRIX(b, tb, sb), .d = MATRIX(c, 0, sc)};
    return product(h, compute, alpha, beta, &p);
}

int cublasGemmEx(struct handle *h, int ta, int tb, int m, int n, int k, const void *alpha, const void *a, int a_type,
                 int lda, const void *b, int b_type, int ldb, const void *beta, void *c, int c_type, int ldc,
                 int compute, int algo)
{
    return cublasGemmStridedBatchedEx(h, ta, tb, m, n, k, alpha, a, a_type, lda, 0, b, b_type, ldb, 0, beta, c, c_type,
                                      ldc, 0, 1, compute, algo);
}

int cublasSgemm_v2(struct handle *h, int ta, int tb, int m, int n, int k, const float *alpha, const float *a, int lda,
                   const float *b, int ldb, const float *beta, float *c, int ldc)
{
    return cublasGemmEx(h, ta, tb, m, n, k, alpha, a, GEMM_F32, lda, b, GEMM_F32, ldb, beta, c, GEMM_F32, ldc,
                        COMPUTE_32F, 0);
}

int cublasDgemm_v2(struct handle *h, int ta, int tb, int m, int n, int k, const double *alpha, const double *a, int lda,
                   const double *b, int ldb, const double *beta, double *c, int ldc)
{
    return cublasGemmEx(h, ta, tb, m, n, k, alpha, a, GEMM_F64, lda, b, GEMM_F64, ldb, beta, c, GEMM_F64, ldc,
                        COMPUTE_64F, 0);
}

int cublasSgemmStridedBatched(struct handle *h, int ta, int tb, int m, int n, int k, const float *alpha, const float *a,
                              int lda, long long sa, const float *b, int ldb, long long sb, const float *beta, float *c,
                              int ldc, long long sc, int batch)
{
    return cublasGemmStridedBatchedEx(h, ta, tb, m, n, k, alpha, a, GEMM_F32, lda, sa, b, GEMM_F32, ldb, sb, beta, c,
                                      GEMM_F32, ldc, sc, batch, COMPUTE_32F, 0);
}

int cublasDgemmStridedBatched(struct handle *h, int ta, int tb, int m, int n, int k, const double *alpha,
                              const double *a, int lda, long long sa, const double *b, int ldb, long long sb,
                              const double *beta, double *c, int ldc, long long sc, int batch)
{
    return cublasGemmStridedBatchedEx(h, ta, tb, m, n, k, alpha, a, GEMM_F64, lda, sa, b, GEMM_F64, ldb, sb, beta, c,
                                      GEMM_F64, ldc, sc, batch, COMPUTE_64F, 0);
}
