/* columns.c - see columns.h. The order of rows is the order of columns, and of keys in JSON. */
#include "analysis/emit/columns.h"

#include <math.h>

#include "analysis/report/report.h"

/* clang-format off */
#define TYPE_OF(row, field)                                                                                            \
    _Generic(((row *)0)->field, uint32_t: COL_U32, uint64_t: COL_U64, int: COL_INT, int64_t: COL_I64,                  \
             double: COL_DOUBLE, const char *: COL_STR, bool: COL_BOOL)

/* A column of JSON and text; of JSON only. */
#define TEXT(row, field, unit, word, drop) {#field, TYPE_OF(row, field), offsetof(row, field), UNIT_##unit, W_##word, drop},
#define JSON(row, field) {#field, TYPE_OF(row, field), offsetof(row, field), UNIT_NONE, W_none, 0},

#define COLUMNS(name) const struct columns columns_##name = {name, sizeof name / sizeof *name}

static const struct column inputs[] = {
#define R struct report_input
    JSON(R, path) JSON(R, kind) JSON(R, events) JSON(R, lost) JSON(R, problem)
#undef R
};
COLUMNS(inputs);

static const struct column ranks[] = {
#define R struct report_rank
    JSON(R, rank) JSON(R, attempt)
    {"host", COL_STR, offsetof(R, host_name), UNIT_NONE, W_none, 0},
    JSON(R, machine) JSON(R, pid) JSON(R, device) JSON(R, gpu_name) JSON(R, rank_source)
#undef R
};
COLUMNS(ranks);

static const struct column steps[] = {
#define R struct report_step
#define CLASS_NS(name) {#name "_ns", COL_I64, offsetof(R, class_ns) + BC_##name * sizeof(int64_t), UNIT_TIME, W_none, 0},
    JSON(R, step) JSON(R, rank) JSON(R, warmup) JSON(R, incomplete) JSON(R, start_ns) JSON(R, end_ns)
    CLASS_NS(compute) CLASS_NS(comm_exposed)
    JSON(R, comm_wait_ns) JSON(R, comm_transfer_ns) JSON(R, pp_bubble_ns) JSON(R, comm_overlapped_ns)
    CLASS_NS(copy_exposed) CLASS_NS(dataloader) CLASS_NS(checkpoint) CLASS_NS(sync) CLASS_NS(host) CLASS_NS(other)
    JSON(R, dataloader_host_wait_ns) JSON(R, flop)
    JSON(R, kernels) JSON(R, launch_latency_ns) JSON(R, queue_depth)
#undef CLASS_NS
#undef R
};
COLUMNS(steps);

static const struct column breakdown[] = {
#define R struct report_breakdown
#define CLASS_SHARE(name, drop) \
    {#name, COL_SHARE, offsetof(R, class_ns) + BC_##name * sizeof(int64_t), UNIT_SHARE, W_##name, drop},
#define PART(name, word, drop) {#name, COL_SHARE, offsetof(R, name##_ns), UNIT_SHARE, W_##word, drop},
    CLASS_SHARE(compute, 0) CLASS_SHARE(comm_exposed, 1)
    PART(comm_wait, comm_wait, 0) PART(comm_transfer, comm_transfer, 0) PART(pp_bubble, none, 0) PART(comm_overlapped, none, 0)
    CLASS_SHARE(copy_exposed, 4) CLASS_SHARE(dataloader, 0) CLASS_SHARE(checkpoint, 1) CLASS_SHARE(sync, 3)
    CLASS_SHARE(host, 2) CLASS_SHARE(other, 1)
    PART(dataloader_host_wait, none, 0) PART(comm_known, none, 0)
    JSON(R, steps) JSON(R, window_ns)
#undef PART
#undef CLASS_SHARE
#undef R
};
COLUMNS(breakdown);

static const struct column io[] = {
#define R struct report_io
    JSON(R, mount) TEXT(R, fstype, NONE, fstype, 5) JSON(R, source) JSON(R, group) JSON(R, peer)
    TEXT(R, opens, COUNT, opens, 4) TEXT(R, reads, COUNT, reads, 2) JSON(R, writes)
    TEXT(R, bytes_read, BYTES, bytes_read, 1) TEXT(R, bytes_written, BYTES, bytes_written, 1)
    TEXT(R, mean_read, BYTES, mean_read, 3) JSON(R, p50_read_ns) TEXT(R, p95_read_ns, TIME, p95_read, 1) JSON(R, p99_read_ns)
    TEXT(R, metadata_share, SHARE, metadata, 2) TEXT(R, cache_share, SHARE, cached, 2) JSON(R, sequential_share)
    JSON(R, read_ns) JSON(R, write_ns) JSON(R, metadata_ns) JSON(R, files_failed)
#undef R
};
COLUMNS(io);

static const struct column workers[] = {
#define R struct report_worker
    TEXT(R, rank, NONE, rank, 0) JSON(R, pid)
    JSON(R, reading_ns) JSON(R, cpu_ns) JSON(R, runnable_ns) JSON(R, blocked_ns) JSON(R, waiting_ns) JSON(R, span_ns)
#define PART(name, word) {NULL, COL_WORKER_SHARE, offsetof(R, name##_ns), UNIT_SHARE, W_##word, 0},
    PART(reading, reading) PART(cpu, on_cpu) PART(runnable, ready) PART(waiting, waiting) PART(blocked, idle)
#undef PART
    TEXT(R, batches, COUNT, batches, 2) TEXT(R, bytes_read, BYTES, bytes_read, 1)
#undef R
};
COLUMNS(workers);

static const struct column checkpoints[] = {
#define R struct report_checkpoint
    TEXT(R, rank, NONE, rank, 2) JSON(R, path) TEXT(R, bytes, BYTES, size, 0) JSON(R, start_ns)
    TEXT(R, duration_ns, TIME, duration, 1) TEXT(R, stall_ns, TIME, stall, 0) JSON(R, step) JSON(R, sync)
    {"safe", COL_TRUTH, offsetof(R, safe), UNIT_NONE, W_safe, 3}, JSON(R, survives)
#undef R
};
COLUMNS(checkpoints);

static const struct column kernels[] = {
#define R struct report_kernel
    JSON(R, name) TEXT(R, kind, NONE, kind, 1) TEXT(R, count, COUNT, count, 3) TEXT(R, total_ns, TIME, total, 2)
    TEXT(R, mean_ns, TIME, mean, 0) TEXT(R, share, SHARE, share, 0)
#undef R
};
COLUMNS(kernels);

static const struct column copies[] = {
#define R struct report_copy
    TEXT(R, kind, NONE, kind, 0) TEXT(R, memory, NONE, memory, 0) TEXT(R, count, COUNT, count, 2)
    TEXT(R, bytes, BYTES, size, 0) TEXT(R, time_ns, TIME, duration, 1) TEXT(R, bandwidth, RATE, rate, 0)
    TEXT(R, expected, RATE, expected, 3)
#undef R
};
COLUMNS(copies);

static const struct column gpus[] = {
#define R struct report_gpu
    TEXT(R, rank, NONE, rank, 0) TEXT(R, device, NONE, gpu, 4) TEXT(R, name, NONE, model, 5)
    TEXT(R, kernels, COUNT, kernels_step, 2) TEXT(R, mean_kernel_ns, TIME, mean, 2)
    TEXT(R, launch_latency_ns, TIME, latency, 1) TEXT(R, queue_depth, NUMBER, queue, 1)
    JSON(R, flop) TEXT(R, flops, FLOPS, flops, 1) JSON(R, peak_flops) TEXT(R, mfu, SHARE, mfu, 1) TEXT(R, dtype, NONE, dtype, 3)
    TEXT(R, tokens_per_second, COUNT, tokens, 1)
#undef R
};
COLUMNS(gpus);

static const struct column memory[] = {
#define R struct report_memory
    TEXT(R, rank, NONE, rank, 0) TEXT(R, device, NONE, gpu, 4) TEXT(R, total, BYTES, mem_total, 3)
    TEXT(R, reserved_peak, BYTES, reserved, 0) TEXT(R, allocated_peak, BYTES, allocated, 1)
    TEXT(R, fragmentation_at_peak, SHARE, fragmented, 1) TEXT(R, split_free_at_peak, BYTES, split_free, 2)
    TEXT(R, largest_hole, BYTES, hole, 2) TEXT(R, retries, COUNT, retries, 2)
#undef R
};
COLUMNS(memory);

static const struct column owners[] = {
#define R struct report_owner
    JSON(R, name) JSON(R, peak)
#undef R
};
COLUMNS(owners);

static const struct column sites[] = {
#define R struct report_site
    JSON(R, bytes) JSON(R, segments)
#undef R
};
COLUMNS(sites);

static const struct column frames[] = {
#define R struct report_frame
    JSON(R, module) JSON(R, build_id) JSON(R, offset) JSON(R, function) JSON(R, file) JSON(R, line)
#undef R
};
COLUMNS(frames);

static const struct column failures[] = {
#define R struct report_failure
    JSON(R, bytes) JSON(R, free) JSON(R, cached_free) JSON(R, largest_hole) JSON(R, short_by) JSON(R, verdict)
#undef R
};
COLUMNS(failures);

static const struct column communicators[] = {
#define R struct report_communicator
    JSON(R, id) JSON(R, nranks) JSON(R, nr_known) JSON(R, nodes) JSON(R, role) JSON(R, role_confidence)
#undef R
};
COLUMNS(communicators);

static const struct column collectives[] = {
#define R struct report_collective
    JSON(R, comm) TEXT(R, role, NONE, role, 3) JSON(R, op) TEXT(R, bytes, BYTES, size, 0)
    TEXT(R, count, COUNT, count, 2) TEXT(R, time_ns, TIME, total, 1) TEXT(R, wait_ns, TIME, of_it_wait, 1)
    JSON(R, algbw) TEXT(R, busbw, RATE, busbw, 1) TEXT(R, expected, RATE, expected, 3)
    TEXT(R, algo, NONE, algo, 4) TEXT(R, proto, NONE, proto, 5) TEXT(R, transport, NONE, transport, 2)
#undef R
};
COLUMNS(collectives);

static const struct column transports[] = {
#define R struct report_transport
    TEXT(R, comm, NONE, communicator, 3) JSON(R, host) TEXT(R, peer_host, NONE, peer_host, 0) TEXT(R, kind, NONE, kind, 0)
    TEXT(R, channels, COUNT, channels, 2) JSON(R, connections)
    {"gdr", COL_TRUTH, offsetof(R, gdr), UNIT_NONE, W_gdr, 1}, {"pxn", COL_TRUTH, offsetof(R, pxn), UNIT_NONE, W_pxn, 3},
    {NULL, COL_STR, offsetof(R, told), UNIT_NONE, W_told, 4}, {"agree", COL_TRUTH, offsetof(R, agree), UNIT_NONE, W_agree, 2},
    JSON(R, socket_bytes)
#undef R
};
COLUMNS(transports);

static const struct column quality[] = {
#define R struct report_quality
    TEXT(R, events, COUNT, q_events, 0) TEXT(R, lost, COUNT, q_lost, 0) TEXT(R, unmatched, COUNT, q_unmatched, 0)
    TEXT(R, unknown, COUNT, q_unknown, 0) TEXT(R, unresolved, COUNT, q_unresolved, 0)
    JSON(R, clock_error_ns)
    TEXT(R, gaps, COUNT, q_gaps, 0) TEXT(R, gpu_lost, COUNT, q_gpu_lost, 0) TEXT(R, recorder_cpu_ns, TIME, q_recorder, 0)
#undef R
};
COLUMNS(quality);
/* clang-format on */

static struct cell integer(int64_t value)
{
    return (struct cell){.kind = CELL_INT, .i = value};
}

static struct cell real(double value)
{
    return isfinite(value) ? (struct cell){.kind = CELL_REAL, .d = value} : (struct cell){.kind = CELL_UNKNOWN};
}

struct cell cell_value(const struct column *column, const void *row)
{
    const void *field = (const char *)row + column->offset;
    const struct cell unknown = {.kind = CELL_UNKNOWN};

    switch (column->type) {
    case COL_U32:
        return (struct cell){.kind = CELL_UINT, .u = *(const uint32_t *)field};
    case COL_U64:
        return (struct cell){.kind = CELL_UINT, .u = *(const uint64_t *)field};
    case COL_INT: /* ranks and the like: negative is unknown */
        return *(const int *)field < 0 ? unknown : integer(*(const int *)field);
    case COL_I64:
        return *(const int64_t *)field == TR_UNKNOWN ? unknown : integer(*(const int64_t *)field);
    case COL_DOUBLE:
        return real(*(const double *)field);
    case COL_STR: {
        const char *text = *(const char *const *)field;
        return text ? (struct cell){.kind = CELL_TEXT, .s = text} : unknown;
    }
    case COL_BOOL:
        return (struct cell){.kind = CELL_TRUTH, .b = *(const bool *)field};
    case COL_TRUTH:
        return *(const int *)field < 0 ? unknown : (struct cell){.kind = CELL_TRUTH, .b = *(const int *)field != 0};
    case COL_SHARE: {
        const struct report_breakdown *sums = row;
        int64_t ns = *(const int64_t *)field;
        return ns == TR_UNKNOWN || !sums->window_ns ? unknown : real((double)ns / (double)sums->window_ns);
    }
    case COL_WORKER_SHARE: {
        const struct report_worker *worker = row;
        return worker->span_ns ? real((double)*(const uint64_t *)field / (double)worker->span_ns) : unknown;
    }
    case COL_NULL:
        break;
    }
    return unknown;
}
