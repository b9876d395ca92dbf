/* v12.c - what CUDA 12's runtime has in another form than 13's: the properties' layout, and names with a version. */
#include <string.h>

#include "tests/sim/cudart/cudart.h"

const int cudart_version = 12080;

/* The fields both have are copied by name; those that 13 dropped are attributes. */
static int properties(struct sim_properties_12 *old, int device)
{
    struct sim_properties_13 p;
    int error = cudart_fill_properties(&p, device);
    if (error)
        return error;
    memset(old, 0, sizeof(*old));
#define BOTH(type, name, array) memcpy(&old->name, &p.name, sizeof(old->name));
#define NEITHER(type, name, array)
    DEVICE_PROPERTIES(BOTH, NEITHER, NEITHER)
    sim_attribute(device, 13, &old->clockRate);
    sim_attribute(device, 15, &old->deviceOverlap);
    sim_attribute(device, 36, &old->memoryClockRate);
    return SIM_OK;
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

RUNTIME(cudaGetDeviceProperties_v2, 440, (void *p, int device), P2(p, device), properties(p, device))
RUNTIME(cudaStreamGetCaptureInfo_v2, 409,
        (cudaStream_t s, enum cudaStreamCaptureStatus *status, unsigned long long *id, cudaGraph_t *graph,
         const cudaGraphNode_t **nodes, size_t *n),
        P6(s, status, id, graph, nodes, n), capture_info(s, status, id, graph))
