/* stream.c - streams, events, modules, launches and graphs of the driver API. A module is a bag of names: asking it for
 * a function makes one. */
#include <stdlib.h>
#include <string.h>

#include "tests/sim/cuda/driver.h"

#define S(handle) sim_stream_of(handle)
#define E(handle) ((struct sim_event *)(handle))
#define WITH(handle, call) (S(handle) ? (call) : SIM_INVALID_HANDLE)

static int create(CUstream *ret, unsigned flags, int priority)
{
    return sim_stream_create(flags, priority, (struct sim_stream **)ret);
}

static int destroy(CUstream stream)
{
    return (uintptr_t)stream > 2 && S(stream) ? sim_stream_destroy(S(stream)) : SIM_INVALID_HANDLE;
}

static int context(CUstream stream, CUcontext *ret)
{
    *ret = (CUcontext)sim_device_at(sim_stream_device(S(stream)));
    return SIM_OK;
}

static int id(CUstream stream, unsigned long long *ret)
{
    *ret = sim_stream_id(S(stream));
    return SIM_OK;
}

static int capturing(CUstream stream, CUstreamCaptureStatus *ret)
{
    *ret = sim_capturing(S(stream)) ? 1 : 0;
    return SIM_OK;
}

/* ---- Modules and launches ------------------------------------------------------------------------------------------
 */
struct module {
    char unused;
};

static int load(CUmodule *ret)
{
    *ret = (CUmodule)malloc(sizeof(struct module));
    return *ret ? SIM_OK : SIM_OUT_OF_MEMORY;
}

static int unload(CUmodule module)
{
    free(module);
    return SIM_OK;
}

/* The function's handle is a copy of its name, kept for good: records point to it. */
static int function(CUfunction *ret, const char *name)
{
    char *stub = strdup(name);
    if (!stub)
        return SIM_OUT_OF_MEMORY;
    sim_function_register(stub, name);
    *ret = (CUfunction)stub;
    return SIM_OK;
}

static int launch(CUfunction f, struct sim_dim grid, struct sim_dim block, unsigned shared, CUstream stream,
                  void **args, bool cooperative)
{
    struct sim_function *known = sim_function_of(f);
    if (!known || !S(stream))
        return known ? SIM_INVALID_HANDLE : SIM_INVALID_VALUE;
    struct sim_launch l = {grid, block, shared, cooperative};
    return sim_launch(S(stream), known, &l, args);
}

static int launch_config(const CUlaunchConfig *c, CUfunction f, void **args)
{
    return launch(f, (struct sim_dim){c->gridDimX, c->gridDimY, c->gridDimZ},
                  (struct sim_dim){c->blockDimX, c->blockDimY, c->blockDimZ}, c->sharedMemBytes, c->hStream, args,
                  false);
}

#define DIM(x, y, z)                                                                                                   \
    (struct sim_dim)                                                                                                   \
    {                                                                                                                  \
        x, y, z                                                                                                        \
    }

static int exec_destroy(CUgraphExec exec)
{
    sim_exec_free((struct sim_exec *)exec);
    return SIM_OK;
}

static int graph_destroy(CUgraph graph)
{
    sim_graph_free((struct sim_graph *)graph);
    return SIM_OK;
}

static int occupancy(int *ret, int threads)
{
    *ret = threads > 0 ? 2048 / threads : 0;
    return SIM_OK;
}

DRIVER(cuStreamCreate, 124, (CUstream * s, unsigned flags), P2(s, flags), create(s, flags, 0))
DRIVER(cuStreamCreateWithPriority, 367, (CUstream * s, unsigned flags, int priority), P3(s, flags, priority),
       create(s, flags, priority))
DRIVER(cuStreamDestroy_v2, 326, (CUstream s), P1(s), destroy(s))
DRIVER(cuStreamSynchronize, 126, (CUstream s), P1(s), WITH(s, sim_stream_sync(S(s))))
DRIVER(cuStreamQuery, 125, (CUstream s), P1(s), WITH(s, sim_stream_query(S(s))))
DRIVER(cuStreamWaitEvent, 295, (CUstream s, CUevent e, unsigned flags), P3(s, e, flags),
       WITH(s, sim_stream_wait_event(S(s), E(e))))
DRIVER(cuStreamGetCtx, 483, (CUstream s, CUcontext *c), P2(s, c), WITH(s, context(s, c)))
DRIVER(cuStreamGetId, 693, (CUstream s, unsigned long long *i), P2(s, i), WITH(s, id(s, i)))
DRIVER(cuLaunchHostFunc, 527, (CUstream s, CUhostFn fn, void *data), P3(s, fn, data),
       WITH(s, sim_host_func(S(s), fn, data)))
DRIVER(cuEventCreate, 118, (CUevent * e, unsigned flags), P2(e, flags), sim_event_create(flags, (struct sim_event **)e))
DRIVER(cuEventDestroy_v2, 325, (CUevent e), P1(e), sim_event_destroy(E(e)))
DRIVER(cuEventRecord, 119, (CUevent e, CUstream s), P2(e, s), WITH(s, sim_event_record(E(e), S(s))))
DRIVER(cuEventQuery, 120, (CUevent e), P1(e), sim_event_query(E(e)))
DRIVER(cuEventSynchronize, 121, (CUevent e), P1(e), sim_event_sync(E(e)))
DRIVER(cuStreamBeginCapture_v2, 539, (CUstream s, CUstreamCaptureMode mode), P2(s, mode),
       WITH(s, sim_capture_begin(S(s))))
DRIVER(cuStreamEndCapture, 497, (CUstream s, CUgraph *graph), P2(s, graph),
       WITH(s, sim_capture_end(S(s), (struct sim_graph **)graph)))
DRIVER(cuStreamIsCapturing, 499, (CUstream s, CUstreamCaptureStatus *ret), P2(s, ret), WITH(s, capturing(s, ret)))
DRIVER(cuGraphInstantiateWithFlags, 643, (CUgraphExec * exec, CUgraph graph, unsigned long long flags),
       P3(exec, graph, flags), sim_instantiate((struct sim_graph *)graph, (struct sim_exec **)exec))
DRIVER(cuGraphLaunch, 514, (CUgraphExec exec, CUstream s), P2(exec, s),
       WITH(s, sim_graph_launch((struct sim_exec *)exec, S(s))))
DRIVER(cuGraphExecDestroy, 516, (CUgraphExec exec), P1(exec), exec_destroy(exec))
DRIVER(cuGraphDestroy, 517, (CUgraph graph), P1(graph), graph_destroy(graph))

DRIVER(cuModuleLoadData, 19, (CUmodule * m, const void *image), P2(m, image), load(m))
DRIVER(cuModuleLoadDataEx, 20, (CUmodule * m, const void *image, unsigned n, CUjit_option *options, void **values),
       P5(m, image, n, options, values), load(m))
DRIVER(cuModuleUnload, 22, (CUmodule m), P1(m), unload(m))
DRIVER(cuModuleGetFunction, 23, (CUfunction * f, CUmodule m, const char *name), P3(f, m, name), function(f, name))
DRIVER(cuFuncSetAttribute, 481, (CUfunction f, CUfunction_attribute a, int value), P3(f, a, value), SIM_OK)
DRIVER(cuFuncSetCacheConfig, 86, (CUfunction f, CUfunc_cache config), P2(f, config), SIM_OK)
DRIVER(cuOccupancyMaxActiveBlocksPerMultiprocessor, 374, (int *n, CUfunction f, int threads, size_t shared),
       P4(n, f, threads, shared), occupancy(n, threads))
DRIVER(cuLaunchKernel, 307,
       (CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
        CUstream s, void **args, void **extra),
       P7(f, gx, gy, gz, bx, by, bz), launch(f, DIM(gx, gy, gz), DIM(bx, by, bz), shared, s, args, false))
DRIVER(cuLaunchCooperativeKernel, 477,
       (CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
        CUstream s, void **args),
       P7(f, gx, gy, gz, bx, by, bz), launch(f, DIM(gx, gy, gz), DIM(bx, by, bz), shared, s, args, true))
DRIVER(cuLaunchKernelEx, 652, (const CUlaunchConfig *c, CUfunction f, void **args, void **extra), P4(c, f, args, extra),
       c ? launch_config(c, f, args) : SIM_INVALID_VALUE)
