/* stream.c - streams, events, capture and graphs. */
#include "tests/sim/cudart/cudart.h"

#define WITH(handle, call) (sim_stream_of(handle) ? (call) : SIM_INVALID_HANDLE)
#define S(handle) sim_stream_of(handle)
#define E(handle) ((struct sim_event *)(handle))

static int create(cudaStream_t *ret, unsigned flags, int priority)
{
    return ret ? sim_stream_create(flags, priority, (struct sim_stream **)ret) : SIM_INVALID_VALUE;
}

static int destroy(cudaStream_t stream)
{
    return (uintptr_t)stream > 2 && S(stream) ? sim_stream_destroy(S(stream)) : SIM_INVALID_HANDLE;
}

static int get(unsigned *ret, unsigned value)
{
    *ret = value;
    return SIM_OK;
}

static int get_id(unsigned long long *ret, cudaStream_t stream)
{
    *ret = sim_stream_id(S(stream));
    return SIM_OK;
}

static int status(cudaStream_t stream, enum cudaStreamCaptureStatus *ret)
{
    *ret = sim_capturing(S(stream)) ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
    return SIM_OK;
}

struct callback {
    cudaStreamCallback_t fn;
    cudaStream_t stream;
    void *data;
};

static void run_callback(void *p)
{
    struct callback c = *(struct callback *)p;
    __builtin_free(p);
    c.fn(c.stream, 0, c.data);
}

static int add_callback(cudaStream_t stream, cudaStreamCallback_t fn, void *data)
{
    struct callback *c = fn ? __builtin_malloc(sizeof(*c)) : NULL;
    if (!c)
        return SIM_INVALID_VALUE;
    *c = (struct callback){fn, stream, data};
    return sim_host_func(S(stream), run_callback, c);
}

static int elapsed(float *ms, cudaEvent_t from, cudaEvent_t to)
{
    return ms ? sim_event_elapsed(E(from), E(to), ms) : SIM_INVALID_VALUE;
}

static int graph_create(cudaGraph_t *ret)
{
    *ret = (cudaGraph_t)sim_graph_new();
    return *ret ? SIM_OK : SIM_OUT_OF_MEMORY;
}

static int graph_destroy(cudaGraph_t graph)
{
    sim_graph_free((struct sim_graph *)graph);
    return SIM_OK;
}

static int exec_destroy(cudaGraphExec_t exec)
{
    sim_exec_free((struct sim_exec *)exec);
    return SIM_OK;
}

static int graph_nodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count)
{
    if (nodes)
        sim_say_missing("cudaGraphGetNodes with a list");
    *count = sim_graph_nodes((struct sim_graph *)graph);
    return nodes ? SIM_NOT_SUPPORTED : SIM_OK;
}

static int instantiate(cudaGraphExec_t *ret, cudaGraph_t graph)
{
    return graph ? sim_instantiate((struct sim_graph *)graph, (struct sim_exec **)ret) : SIM_INVALID_VALUE;
}

static __thread enum cudaStreamCaptureMode capture_mode;

static int exchange_mode(enum cudaStreamCaptureMode *mode)
{
    enum cudaStreamCaptureMode before = capture_mode;
    capture_mode = *mode;
    *mode = before;
    return SIM_OK;
}

RUNTIME(cudaStreamCreate, 129, (cudaStream_t * s), P1(s), create(s, 0, 0))
RUNTIME(cudaStreamCreateWithFlags, 198, (cudaStream_t * s, unsigned flags), P2(s, flags), create(s, flags, 0))
RUNTIME(cudaStreamCreateWithPriority, 202, (cudaStream_t * s, unsigned flags, int priority), P3(s, flags, priority),
        create(s, flags, priority))
RUNTIME(cudaStreamDestroy, 201, (cudaStream_t s), P1(s), destroy(s))
RUNTIME(cudaStreamSynchronize, 131, (cudaStream_t s), P1(s), WITH(s, sim_stream_sync(S(s))))
RUNTIME(cudaStreamQuery, 132, (cudaStream_t s), P1(s), WITH(s, sim_stream_query(S(s))))
RUNTIME(cudaStreamWaitEvent, 147, (cudaStream_t s, cudaEvent_t e, unsigned flags), P3(s, e, flags),
        WITH(s, sim_stream_wait_event(S(s), E(e))))
RUNTIME(cudaStreamGetFlags, 204, (cudaStream_t s, unsigned *flags), P2(s, flags),
        WITH(s, get(flags, sim_stream_flags(S(s)))))
RUNTIME(cudaStreamGetPriority, 203, (cudaStream_t s, int *priority), P2(s, priority),
        WITH(s, get((unsigned *)priority, (unsigned)sim_stream_priority(S(s)))))
RUNTIME(cudaStreamGetId, 441, (cudaStream_t s, unsigned long long *id), P2(s, id), WITH(s, get_id(id, s)))
RUNTIME(cudaStreamAddCallback, 197, (cudaStream_t s, cudaStreamCallback_t fn, void *data, unsigned flags),
        P4(s, fn, data, flags), WITH(s, add_callback(s, fn, data)))
RUNTIME(cudaLaunchHostFunc, 284, (cudaStream_t s, cudaHostFn_t fn, void *data), P3(s, fn, data),
        WITH(s, sim_host_func(S(s), fn, data)))

RUNTIME(cudaEventCreate, 133, (cudaEvent_t * e), P1(e), sim_event_create(0, (struct sim_event **)e))
RUNTIME(cudaEventCreateWithFlags, 134, (cudaEvent_t * e, unsigned flags), P2(e, flags),
        sim_event_create(flags, (struct sim_event **)e))
RUNTIME(cudaEventDestroy, 136, (cudaEvent_t e), P1(e), sim_event_destroy(E(e)))
RUNTIME(cudaEventRecord, 135, (cudaEvent_t e, cudaStream_t s), P2(e, s), WITH(s, sim_event_record(E(e), S(s))))
RUNTIME(cudaEventRecordWithFlags, 370, (cudaEvent_t e, cudaStream_t s, unsigned flags), P3(e, s, flags),
        WITH(s, sim_event_record(E(e), S(s))))
RUNTIME(cudaEventQuery, 138, (cudaEvent_t e), P1(e), sim_event_query(E(e)))
RUNTIME(cudaEventSynchronize, 137, (cudaEvent_t e), P1(e), sim_event_sync(E(e)))
RUNTIME(cudaEventElapsedTime, 486, (float *ms, cudaEvent_t from, cudaEvent_t to), P3(ms, from, to),
        elapsed(ms, from, to))

RUNTIME(cudaStreamBeginCapture, 315, (cudaStream_t s, enum cudaStreamCaptureMode mode), P2(s, mode),
        WITH(s, sim_capture_begin(S(s))))
RUNTIME(cudaStreamEndCapture, 319, (cudaStream_t s, cudaGraph_t *graph), P2(s, graph),
        WITH(s, sim_capture_end(S(s), (struct sim_graph **)graph)))
RUNTIME(cudaStreamIsCapturing, 317, (cudaStream_t s, enum cudaStreamCaptureStatus *ret), P2(s, ret),
        WITH(s, status(s, ret)))
RUNTIME(cudaThreadExchangeStreamCaptureMode, 327, (enum cudaStreamCaptureMode * mode), P1(mode), exchange_mode(mode))
RUNTIME(cudaGraphCreate, 286, (cudaGraph_t * graph, unsigned flags), P2(graph, flags), graph_create(graph))
RUNTIME(cudaGraphDestroy, 314, (cudaGraph_t graph), P1(graph), graph_destroy(graph))
RUNTIME(cudaGraphGetNodes, 322, (cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *n), P3(graph, nodes, n),
        graph_nodes(graph, nodes, n))
RUNTIME(cudaGraphInstantiate, 443, (cudaGraphExec_t * exec, cudaGraph_t graph, unsigned long long flags),
        P3(exec, graph, flags), instantiate(exec, graph))
RUNTIME(cudaGraphInstantiateWithFlags, 418, (cudaGraphExec_t * exec, cudaGraph_t graph, unsigned long long flags),
        P3(exec, graph, flags), instantiate(exec, graph))
RUNTIME(cudaGraphUpload, 348, (cudaGraphExec_t exec, cudaStream_t s), P2(exec, s), WITH(s, SIM_OK))
RUNTIME(cudaGraphLaunch, 311, (cudaGraphExec_t exec, cudaStream_t s), P2(exec, s),
        WITH(s, sim_graph_launch((struct sim_exec *)exec, S(s))))
RUNTIME(cudaGraphExecDestroy, 313, (cudaGraphExec_t exec), P1(exec), exec_destroy(exec))
