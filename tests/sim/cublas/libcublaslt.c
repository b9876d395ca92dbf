/* libcublaslt.c - cublasLtMatmul and the descriptors it needs. Descriptors are opaque to the caller; what is set in
 * them is kept where it matters for the length of the product. */
#include <stdlib.h>
#include <string.h>

#include "tests/sim/cublas/gemm.h"

struct layout {
    uint32_t type;
    uint64_t rows, cols;
    int64_t ld;
    int32_t batch;
    int64_t stride;
};

struct matmul {
    int compute, scale_type;
    int32_t transposed_a, transposed_b, epilogue;
    const void *bias;
};

#define LAYOUT_TYPE 0
#define LAYOUT_ROWS 2
#define LAYOUT_COLS 3
#define LAYOUT_LD 4
#define LAYOUT_BATCH 5
#define LAYOUT_STRIDE 6
#define MATMUL_TRANSA 3
#define MATMUL_TRANSB 4
#define MATMUL_EPILOGUE 7
#define MATMUL_BIAS 8
#define INVALID_VALUE 7

SIM_EXPORT int cublasLtCreate(void **handle);
SIM_EXPORT int cublasLtDestroy(void *handle);
SIM_EXPORT size_t cublasLtGetVersion(void);
SIM_EXPORT int cublasLtMatmulDescCreate(struct matmul **ret, int compute, int scale_type);
SIM_EXPORT int cublasLtMatmulDescDestroy(struct matmul *m);
SIM_EXPORT int cublasLtMatmulDescSetAttribute(struct matmul *m, int attribute, const void *value, size_t size);
SIM_EXPORT int cublasLtMatrixLayoutCreate(struct layout **ret, int type, uint64_t rows, uint64_t cols, int64_t ld);
SIM_EXPORT int cublasLtMatrixLayoutDestroy(struct layout *l);
SIM_EXPORT int cublasLtMatrixLayoutSetAttribute(struct layout *l, int attribute, const void *value, size_t size);
SIM_EXPORT int cublasLtMatmulPreferenceCreate(void **ret);
SIM_EXPORT int cublasLtMatmulPreferenceDestroy(void *preference);
SIM_EXPORT int cublasLtMatmulPreferenceSetAttribute(void *preference, int attribute, const void *value, size_t size);
SIM_EXPORT int cublasLtMatmulAlgoGetHeuristic(void *handle, struct matmul *m, struct layout *a, struct layout *b,
                                              struct layout *c, struct layout *d, void *preference, int wanted,
                                              void *results, int *found);
SIM_EXPORT int cublasLtMatmul(void *handle, struct matmul *m, const void *alpha, const void *a, struct layout *a_layout,
                              const void *b, struct layout *b_layout, const void *beta, const void *c,
                              struct layout *c_layout, void *d, struct layout *d_layout, const void *algo,
                              void *workspace, size_t workspace_bytes, void *stream);

int cublasLtCreate(void **handle)
{
    *handle = sim_init() ? NULL : malloc(1);
    return *handle ? 0 : 1;
}

int cublasLtDestroy(void *handle)
{
    free(handle);
    return 0;
}

size_t cublasLtGetVersion(void)
{
    return 130000;
}

int cublasLtMatmulDescCreate(struct matmul **ret, int compute, int scale_type)
{
    *ret = calloc(1, sizeof(**ret));
    if (!*ret)
        return 3;
    (*ret)->compute = compute;
    (*ret)->scale_type = scale_type;
    return 0;
}

int cublasLtMatmulDescDestroy(struct matmul *m)
{
    free(m);
    return 0;
}

int cublasLtMatmulDescSetAttribute(struct matmul *m, int attribute, const void *value, size_t size)
{
    if (attribute == MATMUL_TRANSA && size == 4)
        memcpy(&m->transposed_a, value, 4);
    if (attribute == MATMUL_TRANSB && size == 4)
        memcpy(&m->transposed_b, value, 4);
    if (attribute == MATMUL_EPILOGUE && size == 4)
        memcpy(&m->epilogue, value, 4);
    if (attribute == MATMUL_BIAS && size == sizeof(m->bias))
        memcpy(&m->bias, value, sizeof(m->bias));
    return 0;
}

int cublasLtMatrixLayoutCreate(struct layout **ret, int type, uint64_t rows, uint64_t cols, int64_t ld)
{
    *ret = calloc(1, sizeof(**ret));
    if (!*ret)
        return 3;
    **ret = (struct layout){(uint32_t)type, rows, cols, ld, 1, 0};
    return 0;
}

int cublasLtMatrixLayoutDestroy(struct layout *l)
{
    free(l);
    return 0;
}

int cublasLtMatrixLayoutSetAttribute(struct layout *l, int attribute, const void *value, size_t size)
{
    static const struct {
        int attribute;
        size_t offset, size;
    } fields[] = {
        {LAYOUT_TYPE, offsetof(struct layout, type), 4},   {LAYOUT_ROWS, offsetof(struct layout, rows), 8},
        {LAYOUT_COLS, offsetof(struct layout, cols), 8},   {LAYOUT_LD, offsetof(struct layout, ld), 8},
        {LAYOUT_BATCH, offsetof(struct layout, batch), 4}, {LAYOUT_STRIDE, offsetof(struct layout, stride), 8}};
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
        if (fields[i].attribute == attribute && fields[i].size == size)
            memcpy((char *)l + fields[i].offset, value, size);
    return 0;
}

int cublasLtMatmulPreferenceCreate(void **ret)
{
    *ret = malloc(1);
    return *ret ? 0 : 3;
}

int cublasLtMatmulPreferenceDestroy(void *preference)
{
    free(preference);
    return 0;
}

int cublasLtMatmulPreferenceSetAttribute(void *preference, int attribute, const void *value, size_t size)
{
    return 0;
}

struct heuristic { /* cublasLtMatmulHeuristicResult_t */
    uint64_t algo[8];
    size_t workspace;
    int state;
    float waves;
    int reserved[4];
};

int cublasLtMatmulAlgoGetHeuristic(void *handle, struct matmul *m, struct layout *a, struct layout *b, struct layout *c,
                                   struct layout *d, void *preference, int wanted, void *results, int *found)
{
    if (wanted < 1)
        return INVALID_VALUE;
    memset(results, 0, sizeof(struct heuristic));
    *found = 1;
    return 0;
}

#define COMPUTE_32F_FAST_TF32 77

static struct gemm_matrix matrix(const void *at, const struct layout *l, int transposed)
{
    return (struct gemm_matrix){at, (enum gemm_type)l->type, transposed, l->ld, l->stride};
}

int cublasLtMatmul(void *handle, struct matmul *m, const void *alpha, const void *a, struct layout *a_layout,
                   const void *b, struct layout *b_layout, const void *beta, const void *c, struct layout *c_layout,
                   void *d, struct layout *d_layout, const void *algo, void *workspace, size_t workspace_bytes,
                   void *stream)
{
    if (!m || !a_layout || !b_layout || !d_layout)
        return INVALID_VALUE;
    struct gemm_product p = {(int64_t)d_layout->rows,
                             (int64_t)d_layout->cols,
                             (int64_t)(m->transposed_a ? a_layout->rows : a_layout->cols),
                             d_layout->batch,
                             .a = matrix(a, a_layout, m->transposed_a),
                             .b = matrix(b, b_layout, m->transposed_b),
                             .c = matrix(c, c_layout ? c_layout : d_layout, 0),
                             .d = matrix(d, d_layout, 0),
                             .epilogue = m->epilogue,
                             .bias = m->bias,
                             .tf32 = m->compute == COMPUTE_32F_FAST_TF32};
    if (sim_settings()->compute > 0) {
        p.alpha = gemm_scale(alpha, (enum gemm_type)m->scale_type);
        p.beta = gemm_scale(beta, (enum gemm_type)m->scale_type);
    }
    return gemm_launch(stream, &p);
}
