/* gpu.c - see gpu.h. */
#include "analysis/model/gpu.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/pass/thresholds.h"

void gpu_done(struct gpu *gpu)
{
    for (size_t i = 0; i < gpu->nr_devices; i++)
        for (unsigned class = 0; class < GPU_CLASS_MAX; class ++)
            intervals_done(&gpu->devices[i].busy[class]);
    for (size_t i = 0; i < gpu->nr_streams; i++)
        free(gpu->streams[i].launches);
    for (unsigned gap = 0; gap < GPU_GAP_MAX; gap++)
        intervals_done(&gpu->gaps[gap]);
    free(gpu->devices);
    free(gpu->streams);
    *gpu = (struct gpu){0};
}

/* A process uses few devices and streams: a search from the front finds them. */
static struct gpu_device *device_get(struct gpu *gpu, uint32_t number)
{
    for (size_t i = 0; i < gpu->nr_devices; i++)
        if (gpu->devices[i].device == number)
            return &gpu->devices[i];
    struct gpu_device *devices = realloc(gpu->devices, (gpu->nr_devices + 1) * sizeof(*devices));
    if (!devices)
        return NULL;
    gpu->devices = devices;
    devices[gpu->nr_devices] = (struct gpu_device){.device = number};
    return &devices[gpu->nr_devices++];
}

static struct gpu_stream *stream_get(struct gpu *gpu, uint32_t device, uint32_t number)
{
    for (size_t i = 0; i < gpu->nr_streams; i++)
        if (gpu->streams[i].device == device && gpu->streams[i].stream == number)
            return &gpu->streams[i];
    struct gpu_stream *streams = realloc(gpu->streams, (gpu->nr_streams + 1) * sizeof(*streams));
    if (!streams)
        return NULL;
    gpu->streams = streams;
    streams[gpu->nr_streams] = (struct gpu_stream){.device = device, .stream = number};
    return &streams[gpu->nr_streams++];
}

static int launches_room(struct gpu_stream *stream)
{
    if (stream->nr < stream->capacity)
        return 0;
    if (stream->head > stream->capacity / 2) {
        stream->nr -= stream->head;
        memmove(stream->launches, stream->launches + stream->head, stream->nr * sizeof(*stream->launches));
        stream->head = 0;
        return 0;
    }
    size_t capacity = stream->capacity ? stream->capacity * 2 : 64;
    struct gpu_launch *launches = realloc(stream->launches, capacity * sizeof(*launches));
    if (!launches)
        return -ENOMEM;
    stream->launches = launches;
    stream->capacity = capacity;
    return 0;
}

static bool launch_is_before(const struct gpu_launch *a, const struct gpu_launch *b)
{
    return a->queued_ns != b->queued_ns ? a->queued_ns < b->queued_ns : a->start_ns < b->start_ns;
}

static int launch_add(struct gpu_stream *stream, const struct gpu_launch *launch)
{
    if (launches_room(stream))
        return -ENOMEM;
    size_t at = stream->nr++;
    for (; at > stream->head && launch_is_before(launch, &stream->launches[at - 1]); at--)
        stream->launches[at] = stream->launches[at - 1];
    stream->launches[at] = *launch;
    return 0;
}

int gpu_add_kernel(struct gpu *gpu, const struct tr_kernel *kernel, enum kernel_kind kind)
{
    uint64_t end_ns = kernel->start_ns + kernel->dur_ns;
    /* A launch that is not known was at the start, as far as anybody can tell. */
    struct gpu_launch launch = {kernel->queued_ns ? kernel->queued_ns : kernel->start_ns, kernel->start_ns, end_ns};
    struct gpu_device *device = device_get(gpu, kernel->device);
    struct gpu_stream *stream = device ? stream_get(gpu, kernel->device, kernel->stream) : NULL;
    if (!stream)
        return -ENOMEM;
    if (kind != KERNEL_comm) {
        device->compute_ns += kernel->dur_ns;
        stream->compute_ns += kernel->dur_ns;
    }
    if (end_ns > device->last_end_ns && launch.queued_ns <= gpu->loop_end_ns)
        device->last_end_ns = end_ns;
    if (end_ns <= gpu->begin_ns)
        return 0;
    int rc = gpu->no_points ? 0 : launch_add(stream, &launch);
    return rc ? rc
              : intervals_add(&device->busy[kind == KERNEL_comm ? GPU_COMM : GPU_COMPUTE], launch.start_ns, end_ns);
}

int gpu_add_copy(struct gpu *gpu, const struct tr_gpu_copy *copy)
{
    struct gpu_device *device = device_get(gpu, copy->device);
    uint64_t end_ns = copy->start_ns + copy->dur_ns;
    bool pageable = copy->src == TR_memory_kind_pageable || copy->dst == TR_memory_kind_pageable;
    if (!device)
        return -ENOMEM;
    if (end_ns <= gpu->begin_ns)
        return 0;
    int rc = intervals_add(&device->busy[GPU_COPY], copy->start_ns, end_ns);
    if (!rc && pageable)
        rc = intervals_add(&device->busy[GPU_STAGED], copy->start_ns, end_ns);
    if (!rc && pageable && copy->size_bytes > TH_PAGEABLE_MIN_BYTES)
        rc = intervals_add(&device->busy[GPU_PAGEABLE], copy->start_ns, end_ns);
    return rc;
}

int gpu_add_set(struct gpu *gpu, const struct tr_gpu_set *set)
{
    struct gpu_device *device = device_get(gpu, set->device);
    uint64_t end_ns = set->start_ns + set->dur_ns;
    if (!device)
        return -ENOMEM;
    return end_ns > gpu->begin_ns ? intervals_add(&device->busy[GPU_COPY], set->start_ns, end_ns) : 0;
}

/* ---- what is missing ---------------------------------------------------------------------- */

/* That records were lost is noticed after it happened, at most so long; other gaps begin when they are told. */
static uint64_t begin_of_gap(uint64_t at_ns, unsigned why)
{
    uint64_t back_ns = why == TR_gap_why_gpu ? (uint64_t)TH_GPU_GAP_NS : 0;
    return at_ns > back_ns ? at_ns - back_ns : 1;
}

static enum gpu_gap kind_of_gap(unsigned why)
{
    return why == TR_gap_why_steps || why == TR_gap_why_ranks ? GPU_GAP_ASKED : GPU_GAP_MISSED;
}

static int end_gap(struct gpu *gpu, unsigned why, uint64_t end_ns)
{
    uint64_t at_ns = gpu->gap_since_ns[why];
    gpu->gap_since_ns[why] = 0;
    return at_ns ? intervals_add(&gpu->gaps[kind_of_gap(why)], begin_of_gap(at_ns, why), end_ns) : 0;
}

int gpu_gap(struct gpu *gpu, const struct tr_gap *gap, uint64_t at_ns)
{
    if (gap->why >= TR_gap_why_MAX || gap->why == TR_gap_why_names)
        return 0;
    if (!gap->on)
        return end_gap(gpu, gap->why, at_ns);
    if (!gpu->gap_since_ns[gap->why])
        gpu->gap_since_ns[gap->why] = at_ns;
    return 0;
}

static bool in_gap(const struct gpu *gpu)
{
    for (unsigned why = 0; why < TR_gap_why_MAX; why++)
        if (gpu->gap_since_ns[why])
            return true;
    return false;
}

static bool is_open(const struct gpu *gpu, enum gpu_gap kind, uint64_t to_ns)
{
    for (unsigned why = 0; why < TR_gap_why_MAX; why++)
        if (kind_of_gap(why) == kind && gpu->gap_since_ns[why] && begin_of_gap(gpu->gap_since_ns[why], why) < to_ns)
            return true;
    return false;
}

enum gpu_gap gpu_has_gap(const struct gpu *gpu, uint64_t from_ns, uint64_t to_ns)
{
    unsigned kind = 0;
    while (kind < GPU_GAP_MAX && !is_open(gpu, kind, to_ns) && !intervals_measure(&gpu->gaps[kind], from_ns, to_ns))
        kind++;
    return kind;
}

int gpu_until(struct gpu *gpu, const struct tr_gpu_until *until)
{
    uint64_t since_ns = gpu->gap_since_ns[TR_gap_why_gpu];
    gpu->told = true;
    for (size_t i = 0; i < gpu->nr_devices; i++)
        if ((until->device == UINT32_MAX || until->device == gpu->devices[i].device) &&
            until->until_ns > gpu->devices[i].until_ns)
            gpu->devices[i].until_ns = until->until_ns;
    /* A recorder that goes on telling was not turned off: what it missed was before it said so. */
    return since_ns && until->until_ns > since_ns ? end_gap(gpu, TR_gap_why_gpu, since_ns) : 0;
}

/* ---- asking ------------------------------------------------------------------------------- */

const struct gpu_device *gpu_main(const struct gpu *gpu)
{
    const struct gpu_device *best = NULL;
    for (size_t i = 0; i < gpu->nr_devices; i++)
        if (gpu->devices[i].compute_ns > (best ? best->compute_ns : 0))
            best = &gpu->devices[i];
    return best;
}

uint64_t gpu_complete(const struct gpu *gpu, uint64_t now_ns)
{
    const struct gpu_device *device = gpu_main(gpu);
    if (now_ns == UINT64_MAX)
        return now_ns; /* nothing more comes */
    uint64_t by_clock_ns = now_ns > TH_GPU_LATE_NS ? now_ns - TH_GPU_LATE_NS : 0;
    uint64_t told_ns = device ? device->until_ns : 0;
    if (!gpu->told)
        return by_clock_ns;
    /* A guess by the clock is not to be mixed with what the recorder knows: on a GPU with few, long kernels its buffers
     * stay out for long. But one that was turned off tells nothing any more. */
    return in_gap(gpu) && by_clock_ns > told_ns ? by_clock_ns : told_ns;
}

static const struct gpu_stream *main_stream(const struct gpu *gpu, const struct gpu_device *device)
{
    const struct gpu_stream *best = NULL;
    for (size_t i = 0; i < gpu->nr_streams; i++)
        if (gpu->streams[i].device == device->device && (!best || gpu->streams[i].compute_ns > best->compute_ns))
            best = &gpu->streams[i];
    return best;
}

/* Index of the first launch at or after `at_ns`. */
static size_t first_launch(const struct gpu_stream *stream, uint64_t at_ns)
{
    size_t low = stream->head, high = stream->nr;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (stream->launches[mid].queued_ns < at_ns)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* The same, but a stream works in order: what starts before one that was launched earlier was launched before that,
 * even if its own launch is not known. */
static size_t first_after(const struct gpu_stream *stream, uint64_t at_ns)
{
    size_t first = first_launch(stream, at_ns), i = first;
    if (first > stream->head)
        while (i < stream->nr && stream->launches[i].start_ns < stream->launches[first - 1].start_ns)
            i++;
    return i;
}

bool gpu_point(const struct gpu *gpu, uint64_t point_ns, uint64_t now_ns, uint64_t *ret_ns)
{
    const struct gpu_device *device = gpu_main(gpu);
    const struct gpu_stream *stream = device ? main_stream(gpu, device) : NULL;
    uint64_t complete_ns = gpu_complete(gpu, now_ns);
    size_t i = stream ? first_after(stream, point_ns) : 0;
    if (!stream)
        return false;
    if (i < stream->nr) {
        /* A stream works in order: one launched between would have started, and been told, before. */
        *ret_ns = stream->launches[i].start_ns;
        return complete_ns >= *ret_ns;
    }
    /* None follows: the step before ends with its last kernel. */
    uint64_t last_ns = stream->nr > stream->head ? stream->launches[stream->nr - 1].end_ns : 0;
    *ret_ns = last_ns > point_ns ? last_ns : point_ns;
    return complete_ns == UINT64_MAX || complete_ns > point_ns + TH_GPU_NO_KERNEL_NS;
}

struct gpu_sum gpu_sum(const struct gpu *gpu, uint64_t from_ns, uint64_t to_ns)
{
    const struct gpu_device *device = gpu_main(gpu);
    struct gpu_sum sum = {0};
    for (size_t i = 0; device && i < gpu->nr_streams; i++) {
        const struct gpu_stream *stream = &gpu->streams[i];
        if (stream->device != device->device)
            continue;
        for (size_t j = stream->head; j < stream->nr; j++) {
            const struct gpu_launch *launch = &stream->launches[j];
            if (launch->start_ns < from_ns || launch->start_ns >= to_ns)
                continue;
            sum.kernels++;
            sum.kernel_ns += launch->end_ns - launch->start_ns;
            if (launch->queued_ns < launch->start_ns) {
                sum.launched++;
                sum.queued_ns += launch->start_ns - launch->queued_ns;
            }
        }
    }
    return sum;
}

void gpu_forget(struct gpu *gpu, uint64_t to_ns, uint64_t point_ns)
{
    for (unsigned gap = 0; gap < GPU_GAP_MAX; gap++)
        intervals_forget(&gpu->gaps[gap], to_ns);
    for (size_t i = 0; i < gpu->nr_devices; i++)
        for (unsigned class = 0; class < GPU_CLASS_MAX; class ++)
            intervals_forget(&gpu->devices[i].busy[class], to_ns);
    for (size_t i = 0; i < gpu->nr_streams; i++) {
        struct gpu_stream *stream = &gpu->streams[i];
        while (stream->head < stream->nr && stream->launches[stream->head].queued_ns < point_ns &&
               stream->launches[stream->head].start_ns < to_ns)
            stream->head++;
    }
}
