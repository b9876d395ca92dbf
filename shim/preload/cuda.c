/* cuda.c - makes the wrappers of hooks_cuda.def. */
#include "shim/preload/cuda_graph.h"
#include "shim/preload/cuda_vmm.h"
#include "shim/preload/hook.h"
#include "shim/preload/library.h"
#include "shim/preload/nccl.h"

struct cuda_dim3 {
    unsigned x, y, z;
};

/* Free memory of the calling thread's device, for a request that failed; 0 unknown. */
static uint64_t device_free_bytes(const void *caller)
{
    static struct library_hook hook = {.library = "libcudart.so", .name = "cudaMemGetInfo"};
    int (*get)(size_t *, size_t *) = (int (*)(size_t *, size_t *))library_real(&hook, caller);
    size_t free_bytes = 0, total = 0;
    return get && get(&free_bytes, &total) == 0 ? free_bytes : 0;
}

/* cudaDataType and cublasComputeType_t as far as they tell peaks apart. */
static enum tr_dtype dtype_of(int cuda_type, int compute)
{
    enum { R_32F = 0, R_64F = 1, R_16F = 2, R_8I = 3, R_16BF = 14, R_8F_E4M3 = 28, R_8F_E5M2 = 29, FAST_TF32 = 77 };
    switch (cuda_type) {
    case R_32F:
        return compute == FAST_TF32 ? TR_dtype_tf32 : TR_dtype_f32;
    case R_64F:
        return TR_dtype_f64;
    case R_16F:
        return TR_dtype_f16;
    case R_16BF:
        return TR_dtype_bf16;
    case R_8F_E4M3:
    case R_8F_E5M2:
        return TR_dtype_f8;
    case R_8I:
        return TR_dtype_i8;
    default:
        return TR_dtype_unknown;
    }
}

struct lt_product {
    enum tr_dtype type;
    uint64_t m, n, k;
    int32_t batch;
};

/* cublasLt describes its matrices by opaque objects: it is asked itself. */
static bool lt_look(void *desc, void *a, void *d, const void *caller, struct lt_product *ret)
{
    static struct library_hook layout_hook = {.library = "libcublasLt.so", .name = "cublasLtMatrixLayoutGetAttribute"};
    static struct library_hook matmul_hook = {.library = "libcublasLt.so", .name = "cublasLtMatmulDescGetAttribute"};
    typedef int (*get_attribute)(void *, int, void *, size_t, size_t *);
    get_attribute layout = (get_attribute)library_real(&layout_hook, caller);
    get_attribute matmul = (get_attribute)library_real(&matmul_hook, caller);
    enum { TYPE = 0, ROWS = 2, COLS = 3, BATCH = 5, COMPUTE = 0, TRANSA = 3 };
    uint32_t type = 0;
    int32_t transposed = 0, compute = 0;

    *ret = (struct lt_product){.batch = 1};
    if (!layout || !matmul || layout(a, TYPE, &type, sizeof(type), NULL) != 0 ||
        layout(d, ROWS, &ret->m, sizeof(ret->m), NULL) != 0 || layout(d, COLS, &ret->n, sizeof(ret->n), NULL) != 0 ||
        matmul(desc, TRANSA, &transposed, sizeof(transposed), NULL) != 0 ||
        layout(a, transposed ? ROWS : COLS, &ret->k, sizeof(ret->k), NULL) != 0)
        return false;
    (void)layout(d, BATCH, &ret->batch, sizeof(ret->batch), NULL);
    (void)matmul(desc, COMPUTE, &compute, sizeof(compute), NULL);
    ret->type = dtype_of((int)type, compute);
    return true;
}

#define HOOK_LIB(lib, gate, ret, fn, params, args, missing, before, after)                                             \
    PUBLIC ret hook_##fn params __asm__(#fn);                                                                          \
    PUBLIC ret hook_##fn params                                                                                        \
    {                                                                                                                  \
        static struct library_hook hook = {.library = lib, .name = #fn};                                               \
        const void *caller = __builtin_return_address(0);                                                              \
        struct shim_call c;                                                                                            \
        bool open = gate_open(gate); /* first: it notices new libraries */                                             \
        ret(*call) params = (ret(*) params)library_real(&hook, caller);                                                \
        if (unlikely(!call))                                                                                           \
            return missing;                                                                                            \
        if (!open || !hook_enter(&c))                                                                                  \
            return call args;                                                                                          \
        before;                                                                                                        \
        hook_out(&c);                                                                                                  \
        ret rc = call args;                                                                                            \
        hook_leave(&c);                                                                                                \
        after;                                                                                                         \
        hook_done(&c);                                                                                                 \
        return rc;                                                                                                     \
    }

/* Without a result there is nothing to wait for either: told before it is forwarded. */
#define HOOK_LIB_VOID(lib, gate, fn, params, args, when, after)                                                        \
    PUBLIC void hook_##fn params __asm__(#fn);                                                                         \
    PUBLIC void hook_##fn params                                                                                       \
    {                                                                                                                  \
        static struct library_hook hook = {.library = lib, .name = #fn};                                               \
        struct shim_call c;                                                                                            \
        bool open = gate_open(gate) && (when);                                                                         \
        void(*call) params = (void(*) params)library_real(&hook, __builtin_return_address(0));                         \
        if (open && hook_enter(&c)) {                                                                                  \
            c.end_ns = c.start_ns;                                                                                     \
            after;                                                                                                     \
            hook_done(&c);                                                                                             \
        }                                                                                                              \
        if (call)                                                                                                      \
            call args;                                                                                                 \
    }

#include "shim/hooks_cuda.def"
