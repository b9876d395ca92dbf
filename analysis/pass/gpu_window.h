/* gpu_window.h - what the GPU of one rank did in the step window that is being summed up: pass_breakdown's other half.
 *
 * The timeline itself is model/gpu.h; here is what a window takes from it: spans for the sweep, where the window ends,
 * and sums of what classes do not tell (overlap, gaps between launches, exposed pageable copies, work asked for). */
#ifndef TRSHIM_ANALYSIS_PASS_GPU_WINDOW_H
#define TRSHIM_ANALYSIS_PASS_GPU_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/model/gpu.h"
#include "analysis/model/layers.h"
#include "analysis/report/report.h"

struct event;
struct gpu_facts;
struct name;
struct pieces;
struct rank;

/* Matrix products asked for between two points of the host. */
struct gpu_work {
    uint64_t start_ns, flop;
    uint8_t type; /* enum tr_dtype */
};

/* A copy between host and device. */
struct gpu_transfer {
    uint64_t start_ns, dur_ns, bytes;
    uint8_t kind;  /* enum tr_copy_kind */
    bool pageable; /* and large */
};

struct gpu_window {
    struct gpu gpu;
    uint64_t point_ns;     /* where the window began for the host */
    struct gpu_work *work; /* owned; not yet given to a window */
    size_t nr_work, capacity_work;
    struct gpu_transfer *transfers; /* owned; likewise */
    size_t nr_transfers, capacity_transfers;
    /* Of the window, as far as it is summed up. */
    uint64_t comm_overlapped_ns, short_gap_ns, pageable_ns, after_sync_ns, syncs, micro_batches, host_wait_ns;
};

/* With `steps` false the run is one window. */
void gpu_window_init(struct gpu_window *window, const struct rank *rank, bool steps);
void gpu_window_done(struct gpu_window *window);

/* Takes an event of the rank's process; `name` is what its name field stands for. 0 or -ENOMEM. */
int gpu_window_event(struct gpu_window *window, const struct event *event, const struct name *name);

/* Whether there is a GPU timeline: kernels were told of. */
bool gpu_window_used(const struct gpu_window *window);

/* What is missing in [from, to), on a job with a GPU. */
enum gpu_gap gpu_window_gap(const struct gpu_window *window, uint64_t from_ns, uint64_t to_ns);

/* Whether a call that asked for copies, [start, end), waited for one: for a pageable one that ran meanwhile, or for one
 * whose end let it return. */
bool gpu_window_waited(const struct gpu_window *window, uint64_t start_ns, uint64_t end_ns);

/* How many stretches it holds: a window with very many is summed up in parts. */
size_t gpu_window_pending(const struct gpu_window *window);

/* The device's part of [from, to) as spans of the first three layers. Returns how many there are; fills in as many when
 * `spans` is not NULL. */
size_t gpu_window_spans(const struct gpu_window *window, uint64_t from_ns, uint64_t to_ns, struct span *spans);

/* Exposed communication in [from, to), as stretches in order: communication kernels run, and no compute kernel does.
 * Fills in `ret`, if that is not NULL. Returns how many there are. */
size_t gpu_window_exposed(const struct gpu_window *window, uint64_t from_ns, uint64_t to_ns, struct interval *ret);

/* Sums up [from, to): `split` is the sweep over all spans, `host` that over the first nr_host of them only, which
 * are the host's; both are changed. `spans` has room for as many again as there are pieces. 0 or -ENOMEM. */
int gpu_window_sum(struct gpu_window *window, const struct pieces *pieces, struct span *spans, size_t nr_host,
                   size_t nr, uint64_t from_ns, uint64_t to_ns, const uint64_t split[LAYER_MAX + 1],
                   const uint64_t host[LAYER_MAX + 1]);

/* The window is [row->start_ns, row->end_ns), the next one begins at next_point_ns for the host: fills in the row, adds
 * to `facts` if it counts, and begins anew. */
void gpu_window_close(struct gpu_window *window, struct report_step *row, uint64_t next_point_ns,
                      struct gpu_facts *facts);

#endif
