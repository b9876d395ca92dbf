/* gpu_window.c - see gpu_window.h. */
#include "analysis/pass/gpu_window.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/model/facts.h"
#include "analysis/model/job.h"
#include "analysis/pass/pieces.h"
#include "analysis/pass/thresholds.h"

void gpu_window_init(struct gpu_window *window, const struct rank *rank, bool steps)
{
    *window = (struct gpu_window){.point_ns = rank->begin_ns};
    window->gpu.begin_ns = rank->begin_ns;
    window->gpu.loop_end_ns = rank->end_ns;
    window->gpu.no_points = !steps;
}

void gpu_window_done(struct gpu_window *window)
{
    gpu_done(&window->gpu);
    free(window->work);
    free(window->transfers);
    *window = (struct gpu_window){0};
}

static int add_work(struct gpu_window *window, const struct tr_gemm *gemm)
{
    if (window->nr_work == window->capacity_work) {
        size_t capacity = window->capacity_work ? window->capacity_work * 2 : 64;
        struct gpu_work *work = realloc(window->work, capacity * sizeof(*work));
        if (!work)
            return -ENOMEM;
        window->work = work;
        window->capacity_work = capacity;
    }
    window->work[window->nr_work++] = (struct gpu_work){gemm->start_ns, gemm->flop, gemm->type};
    return 0;
}

static int add_transfer(struct gpu_window *window, const struct tr_gpu_copy *copy)
{
    bool pageable = copy->src == TR_memory_kind_pageable || copy->dst == TR_memory_kind_pageable;
    if (window->gpu.no_points || (copy->kind != TR_copy_kind_HtoD && copy->kind != TR_copy_kind_DtoH))
        return 0;
    if (window->nr_transfers == window->capacity_transfers) {
        size_t capacity = window->capacity_transfers ? window->capacity_transfers * 2 : 64;
        struct gpu_transfer *transfers = realloc(window->transfers, capacity * sizeof(*transfers));
        if (!transfers)
            return -ENOMEM;
        window->transfers = transfers;
        window->capacity_transfers = capacity;
    }
    window->transfers[window->nr_transfers++] =
        (struct gpu_transfer){.start_ns = copy->start_ns,
                              .dur_ns = copy->dur_ns,
                              .bytes = copy->size_bytes,
                              .kind = copy->kind,
                              .pageable = pageable && copy->size_bytes > (uint64_t)TH_PAGEABLE_MIN_BYTES};
    return 0;
}

int gpu_window_event(struct gpu_window *window, const struct event *event, const struct name *name)
{
    switch (event->kind) {
    case EV_kernel:
        return gpu_add_kernel(&window->gpu, &event->u.kernel, name ? name->kernel_kind : KERNEL_compute);
    case EV_gpu_copy:
        return add_transfer(window, &event->u.gpu_copy) ? -ENOMEM : gpu_add_copy(&window->gpu, &event->u.gpu_copy);
    case EV_gpu_set:
        return gpu_add_set(&window->gpu, &event->u.gpu_set);
    case EV_gpu_until:
        return gpu_until(&window->gpu, &event->u.gpu_until);
    case EV_gap:
        return gpu_gap(&window->gpu, &event->u.gap, event->ts_ns);
    case EV_gemm:
        return add_work(window, &event->u.gemm);
    default:
        return 0;
    }
}

bool gpu_window_used(const struct gpu_window *window)
{
    return gpu_main(&window->gpu) != NULL;
}

enum gpu_gap gpu_window_gap(const struct gpu_window *window, uint64_t from_ns, uint64_t to_ns)
{
    return gpu_window_used(window) ? gpu_has_gap(&window->gpu, from_ns, to_ns) : GPU_GAP_MAX;
}

bool gpu_window_waited(const struct gpu_window *window, uint64_t start_ns, uint64_t end_ns)
{
    const struct gpu_device *device = gpu_main(&window->gpu);
    size_t nr;
    if (!device)
        return true; /* nothing tells */
    if (intervals_measure(&device->busy[GPU_STAGED], start_ns, end_ns))
        return true;
    const struct interval *copies = intervals_within(&device->busy[GPU_COPY], start_ns, end_ns, &nr);
    return nr && copies[nr - 1].end_ns <= end_ns && end_ns - copies[nr - 1].end_ns <= (uint64_t)TH_COPY_RETURN_NS;
}

size_t gpu_window_pending(const struct gpu_window *window)
{
    const struct gpu_device *device = gpu_main(&window->gpu);
    size_t nr = 0;
    for (unsigned class = 0; device && class < GPU_CLASS_MAX; class ++)
        nr += device->busy[class].nr - device->busy[class].head;
    return nr;
}

size_t gpu_window_spans(const struct gpu_window *window, uint64_t from_ns, uint64_t to_ns, struct span *spans)
{
    static const enum layer layers[] = {[GPU_COMPUTE] = LAYER_KERNEL, [GPU_COMM] = LAYER_COMM, [GPU_COPY] = LAYER_COPY};
    const struct gpu_device *device = gpu_main(&window->gpu);
    size_t nr = 0;
    for (unsigned class = 0; device && class <= GPU_COPY; class ++) {
        size_t more;
        const struct interval *busy = intervals_within(&device->busy[class], from_ns, to_ns, &more);
        for (size_t i = 0; spans && i < more; i++)
            spans[nr + i] = (struct span){busy[i].start_ns, busy[i].end_ns, layers[class]};
        nr += more;
    }
    return nr;
}

size_t gpu_window_exposed(const struct gpu_window *window, uint64_t from_ns, uint64_t to_ns, struct interval *ret)
{
    const struct gpu_device *device = gpu_main(&window->gpu);
    size_t nr = 0, nr_comm = 0, nr_compute = 0, j = 0;
    if (!device)
        return 0;
    const struct interval *comm = intervals_within(&device->busy[GPU_COMM], from_ns, to_ns, &nr_comm);
    const struct interval *compute = intervals_within(&device->busy[GPU_COMPUTE], from_ns, to_ns, &nr_compute);
    for (size_t i = 0; i < nr_comm; i++) {
        uint64_t at = comm[i].start_ns > from_ns ? comm[i].start_ns : from_ns;
        uint64_t end = comm[i].end_ns < to_ns ? comm[i].end_ns : to_ns;
        while (j < nr_compute && compute[j].end_ns <= at)
            j++;
        for (size_t k = j; at < end; k++) {
            bool covered = k < nr_compute && compute[k].start_ns < end;
            uint64_t stop = covered ? compute[k].start_ns : end;
            if (stop > at) {
                if (ret)
                    ret[nr] = (struct interval){at, stop};
                nr++;
            }
            at = covered ? compute[k].end_ns : end;
        }
    }
    return nr;
}

/* ---- summing up --------------------------------------------------------------------------- */

static void walk_busy(const struct gpu_device *device, struct intervals_walk *walk, uint64_t from_ns, uint64_t to_ns)
{
    const struct intervals *const sets[] = {&device->busy[GPU_COMPUTE], &device->busy[GPU_COMM],
                                            &device->busy[GPU_COPY]};
    intervals_walk(walk, sets, 3, from_ns, to_ns);
}

static uint64_t union_of(const struct intervals *const *sets, size_t nr, uint64_t from_ns, uint64_t to_ns)
{
    struct intervals_walk walk;
    struct interval busy;
    uint64_t sum = 0;
    intervals_walk(&walk, sets, nr, from_ns, to_ns);
    while (intervals_next(&walk, &busy))
        sum += busy.end_ns - busy.start_ns;
    return sum;
}

/* Exposed in pageable copies: what they add to the time of kernels. */
static uint64_t pageable_exposed(const struct gpu_device *device, uint64_t from_ns, uint64_t to_ns)
{
    const struct intervals *const sets[] = {&device->busy[GPU_COMPUTE], &device->busy[GPU_COMM],
                                            &device->busy[GPU_PAGEABLE]};
    return union_of(sets, 3, from_ns, to_ns) - union_of(sets, 2, from_ns, to_ns);
}

static uint64_t short_gaps(const struct gpu_device *device, uint64_t from_ns, uint64_t to_ns)
{
    struct intervals_walk walk;
    struct interval busy;
    uint64_t cursor = from_ns, sum = 0;
    walk_busy(device, &walk, from_ns, to_ns);
    while (intervals_next(&walk, &busy)) {
        uint64_t gap = busy.start_ns - cursor;
        sum += gap < (uint64_t)TH_SHORT_GAP_NS ? gap : 0;
        cursor = busy.end_ns;
    }
    return sum;
}

static bool is_sync(const struct piece *piece, uint64_t from_ns, uint64_t to_ns)
{
    return piece->kind == PIECE_CUDA && piece->obj && piece->end_ns > from_ns && piece->end_ns <= to_ns;
}

static int by_start(const void *a, const void *b)
{
    const struct span *x = a, *y = b;
    return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

/* Stretches in which the GPU has nothing to do since a synchronisation of the training thread had what it waited for,
 * up to its next work: what the thread could have queued meanwhile. That it comes back late, for want of a CPU, belongs
 * to them. Returns how many. */
static size_t idle_after_syncs(const struct gpu_device *device, const struct pieces *pieces, uint64_t from_ns,
                               uint64_t to_ns, struct span *spans)
{
    struct intervals_walk walk;
    struct interval busy = {0};
    size_t nr = 0, kept = 0;
    uint64_t idle_ns = 0; /* since when */
    for (size_t i = pieces->head; i < pieces->nr && pieces->list[i].start_ns < to_ns; i++)
        if (is_sync(&pieces->list[i], from_ns, to_ns))
            spans[nr++] = (struct span){pieces->list[i].end_ns, pieces->list[i].start_ns, LAYER_SYNC}; /* by its end */
    if (nr)
        qsort(spans, nr, sizeof(*spans), by_start);
    walk_busy(device, &walk, from_ns, to_ns);
    bool more = intervals_next(&walk, &busy);
    for (size_t i = 0; i < nr; i++) {
        struct span span = spans[i];
        uint64_t asked_ns = span.end_ns;
        for (; more && busy.end_ns <= span.start_ns; more = intervals_next(&walk, &busy))
            idle_ns = busy.end_ns;
        if (!more || busy.start_ns > span.start_ns) {
            span.start_ns = idle_ns > asked_ns ? idle_ns : asked_ns;
            span.end_ns = more ? busy.start_ns : to_ns;
        } else {
            span.end_ns = span.start_ns; /* it has work by then */
        }
        if (span.end_ns > span.start_ns)
            spans[kept++] = span;
    }
    return kept;
}

int gpu_window_sum(struct gpu_window *window, const struct pieces *pieces, struct span *spans, size_t nr_host,
                   size_t nr, uint64_t from_ns, uint64_t to_ns, const uint64_t split[LAYER_MAX + 1],
                   const uint64_t host[LAYER_MAX + 1])
{
    const struct gpu_device *device = gpu_main(&window->gpu);
    uint64_t after[LAYER_MAX + 1];
    for (size_t i = pieces->head; i < pieces->nr; i++) {
        const struct piece *piece = &pieces->list[i];
        if (is_sync(piece, from_ns, to_ns))
            window->syncs += piece->obj;
        window->micro_batches += piece->kind == PIECE_DATA_RANGE && piece->end_ns > from_ns && piece->end_ns <= to_ns;
    }
    window->host_wait_ns += host[LAYER_DATA];
    window->comm_overlapped_ns += intervals_measure(&device->busy[GPU_COMM], from_ns, to_ns) - split[LAYER_COMM];
    window->short_gap_ns += short_gaps(device, from_ns, to_ns);
    window->pageable_ns += pageable_exposed(device, from_ns, to_ns);

    /* Idle after synchronisations is what no fetch and no checkpoint explains. */
    size_t more = idle_after_syncs(device, pieces, from_ns, to_ns, spans + nr);
    if (!more)
        return 0;
    for (size_t i = 0; i < nr_host; i++)
        if (spans[i].layer != LAYER_DATA && spans[i].layer != LAYER_CHECKPOINT)
            spans[i].end_ns = spans[i].start_ns;
    int rc = layers_split(spans, nr + more, from_ns, to_ns, after);
    window->after_sync_ns += rc ? 0 : after[LAYER_SYNC];
    return rc;
}

/* ---- the end of a window ------------------------------------------------------------------ */

/* What was asked for before the next point belongs to this window, and is forgotten. Without any: not known. */
static double take_work(struct gpu_window *window, uint64_t next_point_ns, double by_type[TR_dtype_MAX])
{
    double flop = 0;
    size_t kept = 0, taken = 0;
    for (size_t i = 0; i < window->nr_work; i++) {
        const struct gpu_work *work = &window->work[i];
        if (work->start_ns >= next_point_ns) {
            window->work[kept++] = *work;
            continue;
        }
        taken++;
        if (work->start_ns < window->point_ns)
            continue; /* before the first step */
        flop += (double)work->flop;
        by_type[work->type < TR_dtype_MAX ? work->type : TR_dtype_unknown] += (double)work->flop;
    }
    window->nr_work = kept;
    return taken ? flop : NAN;
}

/* Copies that began in the window are counted in `facts` (NULL: not), and with those before it forgotten. */
static void take_transfers(struct gpu_window *window, uint64_t from_ns, uint64_t to_ns, struct gpu_facts *facts)
{
    size_t kept = 0;
    for (size_t i = 0; i < window->nr_transfers; i++) {
        const struct gpu_transfer *transfer = &window->transfers[i];
        bool up = transfer->kind == TR_copy_kind_HtoD;
        if (transfer->start_ns >= to_ns) {
            window->transfers[kept++] = *transfer;
            continue;
        }
        if (transfer->start_ns < from_ns || !facts)
            continue;
        facts->htod_bytes += up ? transfer->bytes : 0;
        facts->dtoh_bytes += up ? 0 : transfer->bytes;
        facts->large_htod += up && transfer->bytes >= (uint64_t)TH_OFFLOAD_COPY_BYTES;
        facts->pageable_copies += transfer->pageable;
        facts->pageable_bytes += transfer->pageable ? transfer->bytes : 0;
        facts->pageable_copy_ns += transfer->pageable ? transfer->dur_ns : 0;
    }
    window->nr_transfers = kept;
}

static void count(const struct gpu_window *window, const struct report_step *row, const struct gpu_sum *sum,
                  const double flop[TR_dtype_MAX], struct gpu_facts *facts)
{
    facts->windows++;
    facts->window_ns += row->end_ns - row->start_ns;
    facts->kernels += sum->kernels;
    facts->kernel_ns += sum->kernel_ns;
    facts->launched += sum->launched;
    facts->queued_ns += sum->queued_ns;
    facts->short_gap_ns += window->short_gap_ns;
    facts->pageable_ns += window->pageable_ns;
    facts->syncs += window->syncs;
    facts->after_sync_ns += window->after_sync_ns;
    facts->micro_batches += window->micro_batches;
    facts->host_wait_ns += window->host_wait_ns;
    for (unsigned type = 0; type < TR_dtype_MAX; type++)
        facts->flop[type] += flop[type];
}

void gpu_window_close(struct gpu_window *window, struct report_step *row, uint64_t next_point_ns,
                      struct gpu_facts *facts)
{
    double flop[TR_dtype_MAX] = {0};
    row->flop = take_work(window, next_point_ns, flop);
    if (gpu_window_used(window)) {
        struct gpu_sum sum = gpu_sum(&window->gpu, row->start_ns, row->end_ns);
        double length = (double)(row->end_ns - row->start_ns);
        row->comm_overlapped_ns = (int64_t)window->comm_overlapped_ns;
        row->dataloader_host_wait_ns = (int64_t)window->host_wait_ns;
        row->kernels = window->gpu.no_points ? TR_UNKNOWN : (int64_t)sum.kernels;
        row->launch_latency_ns = sum.launched ? (double)sum.queued_ns / (double)sum.launched : NAN;
        row->queue_depth = sum.launched && length > 0 ? (double)sum.queued_ns / length : NAN;
        if (!row->warmup && !row->incomplete)
            count(window, row, &sum, flop, facts);
    }
    take_transfers(window, row->start_ns, row->end_ns, row->warmup || row->incomplete ? NULL : facts);
    gpu_forget(&window->gpu, row->end_ns, next_point_ns);
    window->point_ns = next_point_ns;
    window->comm_overlapped_ns = window->short_gap_ns = window->pageable_ns = window->after_sync_ns = 0;
    window->syncs = window->micro_batches = window->host_wait_ns = 0;
}
