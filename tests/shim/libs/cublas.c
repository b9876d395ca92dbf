/* cublas.c - stands for cuBLAS and cublasLt, checking that arguments arrive as they were given (libcublas.so.13 and
 * libcublasLt.so.13 of cuda.t). */
#include <stdint.h>
#include <string.h>

#define PUBLIC __attribute__((visibility("default")))

PUBLIC int cublasSgemm_v2(void *h, int ta, int tb, int m, int n, int k, const float *alpha, const float *A, int lda,
                          const float *B, int ldb, const float *beta, float *C, int ldc)
{
    return h == (void *)1 && m == 10 && n == 20 && k == 30 && lda == 11 && ldb == 31 && ldc == 12 ? 0 : 7;
}

PUBLIC int cublasGemmStridedBatchedEx(void *h, int ta, int tb, int m, int n, int k, const void *alpha, const void *A,
                                      int atype, int lda, long long sa, const void *B, int btype, int ldb, long long sb,
                                      const void *beta, void *C, int ctype, int ldc, long long sc, int batch,
                                      int compute, int algo)
{
    return sa == 1ll << 40 && sc == 3ll << 40 && batch == 8 && compute == 68 && algo == 99 ? 0 : 7;
}

struct layout {
    uint32_t type;
    uint64_t rows, cols;
    int32_t batch;
};

PUBLIC int cublasLtMatrixLayoutGetAttribute(void *layout, int attribute, void *buf, size_t size, size_t *written)
{
    struct layout *l = layout;
    switch (attribute) {
    case 0:
        memcpy(buf, &l->type, size);
        return 0;
    case 2:
        memcpy(buf, &l->rows, size);
        return 0;
    case 3:
        memcpy(buf, &l->cols, size);
        return 0;
    case 5:
        memcpy(buf, &l->batch, size);
        return 0;
    }
    return 7;
}

PUBLIC int cublasLtMatmulDescGetAttribute(void *desc, int attribute, void *buf, size_t size, size_t *written)
{
    int32_t value = attribute == 3 ? 1 : 68; /* A transposed; compute in 32 bits */
    memcpy(buf, &value, size);
    return attribute == 3 || attribute == 0 ? 0 : 7;
}

PUBLIC int cublasLtMatmul(void *h, void *desc, const void *alpha, const void *A, void *Adesc, const void *B,
                          void *Bdesc, const void *beta, const void *C, void *Cdesc, void *D, void *Ddesc,
                          const void *algo, void *space, size_t space_bytes, void *stream)
{
    return space_bytes == 1 << 20 && stream == (void *)5 ? 0 : 7;
}

/* The job's side, linked into one library with it to keep the test small: calls go through the dynamic symbols. */
PUBLIC int use_cublas(void)
{
    struct layout a = {14, 4096, 1024, 1}, d = {14, 1024, 512, 2};
    float one = 1;
    if (cublasSgemm_v2((void *)1, 0, 0, 10, 20, 30, &one, 0, 11, 0, 31, &one, 0, 12) != 0)
        return 1;
    if (cublasSgemm_v2((void *)1, 0, 0, 1, 1, 1, &one, 0, 11, 0, 31, &one, 0, 12) != 7)
        return 2; /* an error is an error */
    if (cublasGemmStridedBatchedEx((void *)1, 0, 1, 64, 64, 128, &one, 0, 2, 64, 1ll << 40, 0, 2, 64, 2ll << 40, &one,
                                   0, 2, 64, 3ll << 40, 8, 68, 99) != 0)
        return 3;
    if (cublasLtMatmul((void *)1, (void *)2, &one, 0, &a, 0, 0, &one, 0, 0, 0, &d, 0, 0, 1 << 20, (void *)5) != 0)
        return 4;
    return 0;
}
