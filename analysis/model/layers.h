/* layers.h - splits a stretch of time by what was going on in it.
 *
 * Spans may overlap and come in any number; each instant belongs to the first layer (in the order below) that has a
 * span there, or to none. So the parts add up to the stretch, to the nanosecond, whatever the spans are.
 * Pure: no state. */
#ifndef TRSHIM_ANALYSIS_LAYERS_H
#define TRSHIM_ANALYSIS_LAYERS_H

#include <stddef.h>
#include <stdint.h>

/* In order of precedence. The first three are the device's, the others what the training thread does. */
enum layer {
    LAYER_KERNEL,
    LAYER_COMM,
    LAYER_COPY,
    LAYER_DATA,
    LAYER_CHECKPOINT,
    LAYER_SYNC,
    LAYER_LAUNCH, /* another thread of the process launches kernels, whatever this one waits for */
    LAYER_HELPER, /* another one that launches is inside a CUDA call that blocks; counts only where LAYER_BLOCKED is too
                   */
    LAYER_BLOCKED,
    LAYER_MAX
};

struct span {
    uint64_t start_ns, end_ns; /* half open; empty or backward ones count nothing */
    uint8_t layer;             /* enum layer */
};

/* What [from, to) is made of: ret_ns[layer], and ret_ns[LAYER_MAX] where there is none. 0 or -ENOMEM. */
int layers_split(const struct span *spans, size_t nr, uint64_t from_ns, uint64_t to_ns, uint64_t ret_ns[LAYER_MAX + 1]);

/* Joins spans of one layer that are at most `gap_ns` apart by making the earlier one longer: what a thread does between
 * two reads of one batch belongs to them. `spans` must be in order of start. */
void layers_join(struct span *spans, size_t nr, enum layer layer, uint64_t gap_ns);

/* Where a span of `layer` begins or ends inside one of `around`, less than `gap_ns` from that one's begin or end, it
 * reaches to there: a thread that works while another waits for it began when that did. `spans` in order of start. */
void layers_stretch(struct span *spans, size_t nr, enum layer layer, enum layer around, uint64_t gap_ns);

#endif
