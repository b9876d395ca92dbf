/* copy.c - copies and fills: where the memory is decides how fast they go and whether the caller has to wait. */
#include "tests/sim/engine/inside.h"

#define COPY_LATENCY_NS 1500

static void locate(const void *p, enum sim_place *ret_place, int *ret_device)
{
    struct sim_range r;
    bool found = sim_find_range(p, &r);
    *ret_place = found ? r.place : SIM_PAGEABLE;
    *ret_device = found && (r.place == SIM_DEVICE || r.place == SIM_MANAGED) ? r.device : -1;
}

static double rate_of(const struct sim_op *op)
{
    const struct sim_settings *s = sim_settings();
    if (op->source_device >= 0 && op->target_device >= 0)
        return op->source_device == op->target_device ? s->device_rate : s->peer_rate;
    return op->from == SIM_PAGEABLE || op->to == SIM_PAGEABLE ? s->pageable_rate : s->pinned_rate;
}

/* CUDA's promise on host memory: a copy from pageable memory has read it when the call returns, one to pageable memory
 * has arrived; any copy that is not asked to be asynchronous has ended (but within one device it need not have). */
static bool must_wait(const struct sim_op *op, bool async)
{
    bool on_device = op->source_device >= 0 && op->target_device >= 0;
    return !on_device && (!async || op->from == SIM_PAGEABLE || op->to == SIM_PAGEABLE);
}

int sim_copy(struct sim_stream *s, void *target, const void *source, size_t bytes, bool async)
{
    if (!bytes)
        return SIM_OK;
    struct sim_op *op = target && source ? sim_op_new(SIM_OP_COPY) : NULL;
    if (!op)
        return SIM_INVALID_VALUE;
    locate(target, &op->to, &op->target_device);
    locate(source, &op->from, &op->source_device);
    op->bytes = bytes;
    op->async = async;
    op->target = target;
    op->source = source;
    op->length = COPY_LATENCY_NS + (uint64_t)((double)bytes * 1e9 / rate_of(op));
    bool wait = must_wait(op, async) && !s->capture;
    sim_op_ref(op);
    int error = sim_queue(s, op);
    if (!error && wait)
        sim_op_wait(op);
    sim_op_unref(op);
    return error;
}

int sim_set(struct sim_stream *s, void *target, unsigned value, unsigned width, size_t count, bool async)
{
    if (!count)
        return SIM_OK;
    struct sim_op *op = target ? sim_op_new(SIM_OP_SET) : NULL;
    if (!op)
        return SIM_INVALID_VALUE;
    locate(target, &op->to, &op->target_device);
    op->target = target;
    op->value = width == 1 ? value & 0xff : value;
    op->width = width;
    op->bytes = count * width;
    op->async = async;
    op->length = COPY_LATENCY_NS + (uint64_t)((double)op->bytes * 1e9 / sim_settings()->device_rate);
    return sim_queue(s, op);
}
