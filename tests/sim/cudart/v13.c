/* v13.c - what only CUDA 13's runtime has, or has in this form. */
#include "tests/sim/cudart/cudart.h"

const int cudart_version = 13000;

static int properties(void *p, int device)
{
    return cudart_fill_properties(p, device);
}

static int capture_info(cudaStream_t stream, enum cudaStreamCaptureStatus *status, unsigned long long *id,
                        cudaGraph_t *graph)
{
    struct sim_stream *s = sim_stream_of(stream);
    if (!s)
        return SIM_INVALID_HANDLE;
    *status = sim_capturing(s) ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
    if (id)
        *id = sim_capture_id(s);
    if (graph)
        *graph = (cudaGraph_t)sim_capturing(s);
    return SIM_OK;
}

RUNTIME(cudaGetDeviceProperties, 440, (struct cudaDeviceProp * p, int device), P2(p, device), properties(p, device))
RUNTIME(cudaStreamGetCaptureInfo, 461,
        (cudaStream_t s, enum cudaStreamCaptureStatus *status, unsigned long long *id, cudaGraph_t *graph,
         const cudaGraphNode_t **nodes, const cudaGraphEdgeData **edges, size_t *n),
        P6(s, status, id, graph, nodes, n), capture_info(s, status, id, graph))
