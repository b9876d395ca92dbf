/* graph_work.c - matrix products that are captured into a CUDA graph are asked for once and run at each launch.
 *
 * While a stream captures, products on it are added up instead of told (the preload asks the stream); the end of the
 * capture gives the sum to the graph, instantiating hands it to the executable graph, and each launch of that tells
 * it. Two captures at one time add to one sum, which the first to end takes: work is then told with the wrong one of
 * two graphs, but none is lost. On the job's threads; slots are claimed by compare-and-swap. */
#include <stdatomic.h>
#include <string.h>

#include "shim/core/calls.h"
#include "shim/core/gpu_launches.h"
#include "shim/core/thread.h"

#define NR_GRAPHS 4096
#define PROBES 32

struct work {
    _Atomic uint64_t flop[TR_dtype_MAX];
    atomic_uint count[TR_dtype_MAX];
};

static struct graph {
    atomic_uintptr_t handle; /* cudaGraph_t or cudaGraphExec_t: objects that live at the same time; 0 free */
    struct work work;
} graphs[NR_GRAPHS];

static struct work captured;

static struct graph *look(const void *handle, bool claim)
{
    uintptr_t wanted = (uintptr_t)handle;
    size_t at = (wanted >> 4) * 0x9e3779b97f4a7c15u >> 40;
    for (size_t i = 0; wanted && i < PROBES; i++)
        if (atomic_load(&graphs[(at + i) % NR_GRAPHS].handle) == wanted)
            return &graphs[(at + i) % NR_GRAPHS];
    for (size_t i = 0; claim && wanted && i < PROBES; i++) {
        uintptr_t none = 0;
        if (atomic_compare_exchange_strong(&graphs[(at + i) % NR_GRAPHS].handle, &none, wanted))
            return &graphs[(at + i) % NR_GRAPHS];
    }
    return NULL;
}

static void move(struct work *to, struct work *from, bool empty)
{
    for (size_t type = 0; type < TR_dtype_MAX; type++) {
        atomic_store(&to->flop[type], empty ? atomic_exchange(&from->flop[type], 0) : atomic_load(&from->flop[type]));
        atomic_store(&to->count[type],
                     empty ? atomic_exchange(&from->count[type], 0) : atomic_load(&from->count[type]));
    }
}

static void tell(struct thread *t, const struct shim_call *call, const struct work *work)
{
    for (size_t type = 0; type < TR_dtype_MAX; type++) {
        unsigned count = atomic_load_explicit(&work->count[type], memory_order_relaxed);
        if (count)
            EMIT(gemm, t->tid, .type = (uint8_t)type, .count = (uint16_t)(count < UINT16_MAX ? count : UINT16_MAX),
                 .flop = atomic_load(&work->flop[type]), .start_ns = call->start_ns,
                 .dur_ns = call->end_ns - call->start_ns);
    }
}

void graph_work_add(enum tr_dtype type, uint64_t flop)
{
    atomic_fetch_add(&captured.flop[type], flop);
    atomic_fetch_add(&captured.count[type], 1);
}

void call_graph(struct shim_call *call, enum shim_graph does, const void *graph, const void *exec)
{
    struct thread *t = thread_of(call);
    struct graph *g, *e;
    switch (does) {
    case GRAPH_CAPTURE_BEGINS:
        gpu_capture(true, call->end_ns);
        break;
    case GRAPH_CAPTURE_ENDS:
        gpu_capture(false, call->start_ns);
        if ((g = look(graph, true)))
            move(&g->work, &captured, true);
        break;
    case GRAPH_INSTANTIATED:
        if ((g = look(graph, false)) && (e = look(exec, true)))
            move(&e->work, &g->work, false);
        break;
    case GRAPH_LAUNCHED:
        if ((e = look(exec, false)) && !detail_is_off())
            tell(t, call, &e->work);
        break;
    case GRAPH_GONE:
        if ((g = look(graph, false)))
            atomic_store(&g->handle, 0);
        break;
    }
}
