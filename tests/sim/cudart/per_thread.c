/* per_thread.c - the forms that programs compiled for a default stream per thread call: where a stream is left out they
 * mean the calling thread's own. (Calls between the runtime's own functions are bound inside the library:
 * -Bsymbolic-functions.) */
#include "tests/sim/cudart/cudart.h"

#define OWN ((cudaStream_t)2)
#define PT(stream) ((stream) ? (stream) : OWN)

#ifndef SIM_REAL_HEADERS
cudaError_t cudaLaunchKernel(const void *f, dim3 grid, dim3 block, void **args, size_t shared, cudaStream_t s);
cudaError_t cudaLaunchCooperativeKernel(const void *f, dim3 grid, dim3 block, void **args, size_t shared,
                                        cudaStream_t s);
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *f, void **args);
cudaError_t cudaLaunchHostFunc(cudaStream_t s, cudaHostFn_t fn, void *data);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t s);
cudaError_t cudaMemsetAsync(void *p, int value, size_t bytes, cudaStream_t s);
cudaError_t cudaMallocAsync(void **p, size_t bytes, cudaStream_t s);
cudaError_t cudaFreeAsync(void *p, cudaStream_t s);
cudaError_t cudaStreamSynchronize(cudaStream_t s);
cudaError_t cudaStreamQuery(cudaStream_t s);
cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned flags);
cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s);
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t s);
cudaError_t cudaStreamBeginCapture(cudaStream_t s, enum cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t *graph);
cudaError_t cudaStreamIsCapturing(cudaStream_t s, enum cudaStreamCaptureStatus *ret);
#endif
cudaError_t __cudaLaunchKernel(cudaKernel_t k, dim3 grid, dim3 block, void **args, size_t shared, cudaStream_t s);

static int launch_config(const cudaLaunchConfig_t *config, const void *f, void **args)
{
    if (!config)
        return SIM_INVALID_VALUE;
    cudaLaunchConfig_t own = *config;
    own.stream = PT(config->stream);
    return (int)cudaLaunchKernelExC(&own, f, args);
}

static int copy_and_wait(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    int error = (int)cudaMemcpyAsync(to, from, bytes, kind, OWN);
    return error ? error : (int)cudaStreamSynchronize(OWN);
}

RUNTIME(cudaLaunchKernel_ptsz, 214, (const void *f, dim3 grid, dim3 block, void **args, size_t shared, cudaStream_t s),
        P6(f, grid, block, args, shared, s), (int)cudaLaunchKernel(f, grid, block, args, shared, PT(s)))
RUNTIME(cudaLaunchCooperativeKernel_ptsz, 270,
        (const void *f, dim3 grid, dim3 block, void **args, size_t shared, cudaStream_t s),
        P6(f, grid, block, args, shared, s), (int)cudaLaunchCooperativeKernel(f, grid, block, args, shared, PT(s)))
RUNTIME(cudaLaunchKernelExC_ptsz, 431, (const cudaLaunchConfig_t *config, const void *f, void **args),
        P3(config, f, args), launch_config(config, f, args))
RUNTIME(__cudaLaunchKernel_ptsz, 506,
        (cudaKernel_t k, dim3 grid, dim3 block, void **args, size_t shared, cudaStream_t s),
        P6(k, grid, block, args, shared, s), (int)__cudaLaunchKernel(k, grid, block, args, shared, PT(s)))
RUNTIME(cudaLaunchHostFunc_ptsz, 285, (cudaStream_t s, cudaHostFn_t fn, void *data), P3(s, fn, data),
        (int)cudaLaunchHostFunc(PT(s), fn, data))
RUNTIME(cudaMemcpy_ptds, 215, (void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind),
        P4(to, from, bytes, kind), copy_and_wait(to, from, bytes, kind))
RUNTIME(cudaMemcpyAsync_ptsz, 225, (void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t s),
        P5(to, from, bytes, kind, s), (int)cudaMemcpyAsync(to, from, bytes, kind, PT(s)))
RUNTIME(cudaMemset_ptds, 233, (void *p, int value, size_t bytes), P3(p, value, bytes),
        (int)cudaMemsetAsync(p, value, bytes, OWN))
RUNTIME(cudaMemsetAsync_ptsz, 235, (void *p, int value, size_t bytes, cudaStream_t s), P4(p, value, bytes, s),
        (int)cudaMemsetAsync(p, value, bytes, PT(s)))
RUNTIME(cudaMallocAsync_ptsz, 374, (void **p, size_t bytes, cudaStream_t s), P3(p, bytes, s),
        (int)cudaMallocAsync(p, bytes, PT(s)))
RUNTIME(cudaFreeAsync_ptsz, 376, (void *p, cudaStream_t s), P2(p, s), (int)cudaFreeAsync(p, PT(s)))
RUNTIME(cudaStreamSynchronize_ptsz, 239, (cudaStream_t s), P1(s), (int)cudaStreamSynchronize(PT(s)))
RUNTIME(cudaStreamQuery_ptsz, 240, (cudaStream_t s), P1(s), (int)cudaStreamQuery(PT(s)))
RUNTIME(cudaStreamWaitEvent_ptsz, 247, (cudaStream_t s, cudaEvent_t e, unsigned flags), P3(s, e, flags),
        (int)cudaStreamWaitEvent(PT(s), e, flags))
RUNTIME(cudaEventRecord_ptsz, 242, (cudaEvent_t e, cudaStream_t s), P2(e, s), (int)cudaEventRecord(e, PT(s)))
RUNTIME(cudaGraphLaunch_ptsz, 312, (cudaGraphExec_t exec, cudaStream_t s), P2(exec, s),
        (int)cudaGraphLaunch(exec, PT(s)))
RUNTIME(cudaStreamBeginCapture_ptsz, 316, (cudaStream_t s, enum cudaStreamCaptureMode mode), P2(s, mode),
        (int)cudaStreamBeginCapture(PT(s), mode))
RUNTIME(cudaStreamEndCapture_ptsz, 320, (cudaStream_t s, cudaGraph_t *graph), P2(s, graph),
        (int)cudaStreamEndCapture(PT(s), graph))
RUNTIME(cudaStreamIsCapturing_ptsz, 318, (cudaStream_t s, enum cudaStreamCaptureStatus *ret), P2(s, ret),
        (int)cudaStreamIsCapturing(PT(s), ret))
