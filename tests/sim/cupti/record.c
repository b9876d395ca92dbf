/* record.c - what happened, in the layout of the version claimed. */
#include <string.h>

#include "tests/sim/cupti/cupti.h"

/* Since which version a record has which length; the last line that applies counts. From 13.1 on the lengths of kernels
 * and copies follow the release notes' order of members and are not checked against a header. */
static const struct {
    uint32_t kind, version, size;
} sizes[] = {
    {KIND_KERNEL, 15, 168},         {KIND_KERNEL, 17, 176},
    {KIND_KERNEL, 18, 200},         {KIND_KERNEL, 19, 208},
    {KIND_KERNEL, 130000, 216},     {KIND_KERNEL, 130100, 224},
    {KIND_KERNEL, 130300, 232},     {KIND_KERNEL, 130400, 248},
    {KIND_MEMCPY, 15, 80},          {KIND_MEMCPY, 17, 88},
    {KIND_MEMCPY, 26, 96},          {KIND_MEMCPY, 130400, 112},
    {KIND_MEMCPY2, 15, 88},         {KIND_MEMCPY2, 17, 96},
    {KIND_MEMSET, 15, 80},          {KIND_MEMSET, 17, 88},
    {KIND_MEMORY2, 15, 112},        {KIND_MEMORY2, 17, 120},
    {KIND_MEMORY2, 24, 128},        {KIND_SYNCHRONIZATION, 15, 40},
    {KIND_SYNCHRONIZATION, 26, 56}, {KIND_OVERHEAD, 15, 40},
    {KIND_OVERHEAD, 20, 48},        {KIND_OVERHEAD, 22, 56},
    {KIND_GRAPH_TRACE, 17, 48},     {KIND_GRAPH_TRACE, 21, 56},
    {KIND_RUNTIME, 0, 40},          {KIND_EXTERNAL_CORRELATION, 0, 24},
};

size_t cupti_record_size(uint32_t kind)
{
    size_t size = 0;
    if (kind == KIND_CONCURRENT_KERNEL)
        kind = KIND_KERNEL;
    if (kind == KIND_DRIVER)
        kind = KIND_RUNTIME;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        if (sizes[i].kind == kind && cupti_habits()->version >= sizes[i].version)
            size = sizes[i].size;
    return size;
}

static uint64_t start_of(const struct sim_op *op)
{
    return op->end == SIM_UNKNOWN ? 0 : cupti_stamp(op->start);
}

static uint64_t end_of(const struct sim_op *op)
{
    return op->end == SIM_UNKNOWN ? 0 : cupti_stamp(op->end);
}

static void kernel(const struct sim_op *op, struct record_kernel *r)
{
    static unsigned count;
    unsigned zero = cupti_habits()->zero;
    bool times = !zero || __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED) % zero;
    r->kind = cupti_wants(KIND_KERNEL) ? KIND_KERNEL : KIND_CONCURRENT_KERNEL;
    r->registers = 64;
    r->start = times ? start_of(op) : 0;
    r->end = times ? end_of(op) : 0;
    r->completed = r->end;
    r->device = op->device;
    r->context = op->device + 1;
    r->stream = op->stream_id;
    r->grid_x = (int32_t)op->grid.x;
    r->grid_y = (int32_t)op->grid.y;
    r->grid_z = (int32_t)op->grid.z;
    r->block_x = (int32_t)op->block.x;
    r->block_y = (int32_t)op->block.y;
    r->block_z = (int32_t)op->block.z;
    r->dynamic_shared = (int32_t)op->shared_bytes;
    r->correlation = op->correlation;
    r->grid_id = op->correlation;
    r->name = op->name;
    r->launch_type = op->cooperative ? 1 : 0;
    r->graph_node = op->graph_node;
    r->graph_id = op->graph_id;
}

static uint8_t memory_kind(enum sim_place place)
{
    static const uint8_t kinds[] = {MEMORY_PAGEABLE, MEMORY_PINNED, MEMORY_DEVICE, MEMORY_MANAGED};
    return kinds[place];
}

static void copy_between(const struct sim_op *op, struct record_memcpy2 *r)
{
    r->kind = KIND_MEMCPY2;
    r->copy_kind = COPY_PTOP;
    r->from = memory_kind(op->from);
    r->to = memory_kind(op->to);
    r->bytes = op->bytes;
    r->start = start_of(op);
    r->end = end_of(op);
    r->device = op->device;
    r->context = op->device + 1;
    r->stream = op->stream_id;
    r->from_device = (uint32_t)op->source_device;
    r->from_context = (uint32_t)op->source_device + 1;
    r->to_device = (uint32_t)op->target_device;
    r->to_context = (uint32_t)op->target_device + 1;
    r->correlation = op->correlation;
    r->graph_node = op->graph_node;
    r->graph_id = op->graph_id;
}

static void copy(const struct sim_op *op, struct record_memcpy *r)
{
    bool from_device = op->source_device >= 0, to_device = op->target_device >= 0;
    r->kind = KIND_MEMCPY;
    r->copy_kind = from_device ? (to_device ? COPY_DTOD : COPY_DTOH) : to_device ? COPY_HTOD : COPY_HTOH;
    r->from = memory_kind(op->from);
    r->to = memory_kind(op->to);
    r->flags = op->async ? CUPTI_FLAG_ASYNC : 0;
    r->bytes = op->bytes;
    r->start = start_of(op);
    r->end = end_of(op);
    r->device = op->device;
    r->context = op->device + 1;
    r->stream = op->stream_id;
    r->correlation = op->correlation;
    r->graph_node = op->graph_node;
    r->graph_id = op->graph_id;
    r->copies = 1;
}

static void fill(const struct sim_op *op, struct record_memset *r)
{
    r->kind = KIND_MEMSET;
    r->value = op->value;
    r->bytes = op->bytes;
    r->start = start_of(op);
    r->end = end_of(op);
    r->device = op->device;
    r->context = op->device + 1;
    r->stream = op->stream_id;
    r->correlation = op->correlation;
    r->flags = op->async ? CUPTI_FLAG_ASYNC : 0;
    r->memory_kind = memory_kind(op->to);
    r->graph_node = op->graph_node;
    r->graph_id = op->graph_id;
}

size_t cupti_record_op(const struct sim_op *op, void *ret)
{
    memset(ret, 0, RECORD_MAX);
    if (op->kind == SIM_OP_KERNEL)
        kernel(op, ret);
    else if (op->kind == SIM_OP_SET)
        fill(op, ret);
    else if (op->kind == SIM_OP_COPY && op->source_device >= 0 && op->target_device >= 0 &&
             op->source_device != op->target_device)
        copy_between(op, ret);
    else if (op->kind == SIM_OP_COPY)
        copy(op, ret);
    else
        return 0;
    return cupti_record_size(*(uint32_t *)ret);
}
