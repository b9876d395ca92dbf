/* watch.c - what the engine tells, turned into records and callbacks of the kinds that are wanted. */
#include <string.h>
#include <unistd.h>

#include "tests/sim/cupti/cupti.h"

static void enter(struct sim_call *call)
{
    cupti_call_back(call, false);
}

/* The ids that the job has pushed for other tools; see activity.c. */
void cupti_put_external(uint32_t correlation);

static void leave(struct sim_call *call)
{
    cupti_call_back(call, true);
    if (!cupti_wants_call(call->domain, call->cbid))
        return;
    if (cupti_wants(KIND_EXTERNAL_CORRELATION))
        cupti_put_external(call->correlation);
    struct record_api r = {.kind = call->domain == SIM_RUNTIME_API ? KIND_RUNTIME : KIND_DRIVER,
                           .cbid = call->cbid,
                           .start = cupti_stamp(call->start),
                           .end = cupti_stamp(call->end),
                           .process = (uint32_t)getpid(),
                           .thread = cupti_thread_id(),
                           .correlation = call->correlation,
                           .result = (uint32_t)call->result};
    cupti_put(&r, sizeof(r));
}

static void op(struct sim_op *o)
{
    bool in_graph = o->graph_id && cupti_wants(KIND_GRAPH_TRACE); /* then the launch is one record */
    bool wanted = o->kind == SIM_OP_KERNEL ? cupti_wants(KIND_CONCURRENT_KERNEL) || cupti_wants(KIND_KERNEL)
                  : o->kind == SIM_OP_COPY ? cupti_wants(KIND_MEMCPY)
                                           : o->kind == SIM_OP_SET && cupti_wants(KIND_MEMSET);
    if (wanted && !in_graph)
        cupti_put_op(o);
}

static void graph(struct sim_exec *exec, struct sim_op *first, struct sim_op *last, uint32_t stream)
{
    if (cupti_wants(KIND_GRAPH_TRACE))
        cupti_put_graph(exec, first, last, stream);
}

static void told_sync(const struct sim_sync *s)
{
    if (!cupti_wants(KIND_SYNCHRONIZATION))
        return;
    struct record_sync r = {.kind = KIND_SYNCHRONIZATION,
                            .type = s->kind,
                            .start = cupti_stamp(s->start),
                            .end = cupti_stamp(s->end),
                            .correlation = s->correlation,
                            .context = s->device + 1,
                            .stream = s->stream_id,
                            .event = s->event_id};
    cupti_put(&r, cupti_record_size(KIND_SYNCHRONIZATION));
}

static void memory(const struct sim_memory *m)
{
    if (!cupti_wants(KIND_MEMORY2))
        return;
    static const uint32_t kinds[] = {MEMORY_PAGEABLE, MEMORY_PINNED, MEMORY_DEVICE, MEMORY_MANAGED};
    struct record_memory2 r = {.kind = KIND_MEMORY2,
                               .operation = m->release ? 2 : 1,
                               .memory_kind = kinds[m->place],
                               .correlation = m->correlation,
                               .address = m->address,
                               .bytes = m->bytes,
                               .ns = cupti_stamp(m->ns),
                               .process = (uint32_t)getpid(),
                               .device = m->device,
                               .context = m->device + 1,
                               .stream = m->async ? m->stream_id : UINT32_MAX,
                               .async = m->async,
                               .pool_type = m->pool != NULL,
                               .pool_address = (uintptr_t)m->pool};
    cupti_put(&r, cupti_record_size(KIND_MEMORY2));
}

static const struct sim_observer watcher = {enter, leave, op, graph, told_sync, memory};

void cupti_watch(void)
{
    sim_observe(&watcher);
}

void cupti_unwatch(void)
{
    sim_observe(NULL);
}
