/* calls.c - the rows of hooks_cuda.def against the real declarations: each call is made once with our parameters, so a
 * parameter too many, too few or of another class does not compile. Compiled, never run (tests/check-abi.t).
 *
 * CHECK_CUDART or CHECK_CUBLAS says whose rows; the others are left out. */
#include <stddef.h>
#include <stdint.h>

#ifdef CHECK_CUDART
#define CUDA_API_PER_THREAD_DEFAULT_STREAM /* declares the _ptsz forms */
#include <cuda_runtime_api.h>
#define __cudaLaunchKernel(...) 0 /* declared for nvcc only: crt/device_functions.h */
#define __cudaLaunchKernel_ptsz(...) 0
#if CUDART_VERSION < 12030
#define cudaStreamBeginCaptureToGraph(...) 0 /* came with 12.3 */
#define cudaStreamBeginCaptureToGraph_ptsz(...) 0
#endif
#if CUDART_VERSION < 12050
#define cudaGetDriverEntryPointByVersion(...) 0 /* came with 12.5 */
#endif
#if CUDART_VERSION < 12000 /* without the last parameter: ours is then handed on unread */
#undef cudaGetDriverEntryPoint
#define cudaGetDriverEntryPoint(symbol, fn, flags, status) cudaGetDriverEntryPoint_ptsz(symbol, fn, flags)
#endif
#if CUDART_VERSION >= 12000
#define cudaGraphInstantiate(exec, graph, flags, log, log_bytes)                                                       \
    cudaGraphInstantiate(exec, graph, (unsigned long long)(flags))
#endif
#define WANTED_CUDART(code) code
#else
#define WANTED_CUDART(code)
#endif
#ifdef CHECK_CUBLAS
#include <cublasLt.h>
#include <cublas_v2.h>
#undef cublasSgemm
#undef cublasDgemm
#define cublasHgemm(...) 0 /* declared for C++ only */
#define WANTED_CUBLAS(code) code
#else
#define WANTED_CUBLAS(code)
#endif

#define cuda_dim3 dim3
#define HOOK_LIB_VOID(lib, gate, fn, params, args, when, after)
#define HOOK_LIB(lib, gate, ret, fn, params, args, missing, before, after)                                             \
    WANTED_##lib(ret check_##fn params; ret check_##fn params { return (ret)fn args; })
#define WANTED_CUBLAS_LT(code) WANTED_CUBLAS(code)
#define WANTED_CUPTI(code)
#define WANTED_C10(code)
#include "shim/hooks_cuda.def"
