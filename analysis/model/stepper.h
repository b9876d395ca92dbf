/* stepper.h - anchors of one thread in, points between steps out.
 *
 * A mark is a point where it is; a NVTX range that is a step has its point at its begin; Optimizer.step ranges have it
 * at their end, and those that belong to one step (parameter groups, several engines: back to back, neither data nor a
 * forward pass between) are one anchor; a DataLoader hand-off has it at its end. Window i of a rank is
 * [point i, point i+1]. Points come out late: an anchor is only known to be the last of its step when the next comes.
 */
#ifndef TRSHIM_ANALYSIS_STEPPER_H
#define TRSHIM_ANALYSIS_STEPPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/model/histogram.h"

/* What points are made from, best first. METHOD(name in the report) */
#define ANCHOR_METHODS(METHOD) METHOD(mark) METHOD(nvtx) METHOD(optimizer) METHOD(dataloader) METHOD(run)
enum anchor_method {
#define METHOD(name) ANCHORS_##name,
    ANCHOR_METHODS(METHOD)
#undef METHOD
        ANCHORS_MAX
};

extern const char *const anchor_method_names[ANCHORS_MAX];

typedef void (*step_point_fn)(void *arg, uint64_t point_ns);

#define STEPPER_EARLY 16 /* anchors looked at together before the first decision whether two are one step */
#define STEPPER_GAPS 8

struct step_anchor {
    uint64_t start_ns, end_ns;
    bool data_before; /* the thread fetched data between the anchor before and this one */
};

struct stepper {
    enum anchor_method method;
    uint32_t per_step, phase; /* dataloader: hand-offs (micro-batches) of one step; which of them begins it */
    struct step_anchor early[STEPPER_EARLY];
    size_t nr_early;
    bool settled; /* early ones are decided */
    bool open;    /* group holds anchors whose step may not be complete */
    struct step_anchor group;
    bool data_since;
    uint64_t gaps[STEPPER_GAPS]; /* between the latest steps */
    size_t nr_gaps;
    uint64_t nr_anchors;
    step_point_fn point;
    void *arg;
};

void stepper_init(struct stepper *stepper, enum anchor_method method, step_point_fn point, void *arg);

/* An anchor of the stepper's method. In order of their ends. */
void stepper_anchor(struct stepper *stepper, uint64_t start_ns, uint64_t end_ns);

/* The thread fetched data (a DataLoader range ended). */
void stepper_data(struct stepper *stepper);

/* The thread made a new set of workers: the hand-off before was the one that said the epoch was over. */
void stepper_epoch(struct stepper *stepper);

/* No more anchors: what is held back comes out. */
void stepper_finish(struct stepper *stepper);

/* What the survey keeps of the points of one thread. */
#define STEP_FIRST_MAX 64
struct step_stats {
    uint64_t nr_points, first_ns, last_ns;
    uint64_t first[STEP_FIRST_MAX]; /* lengths of the first windows */
    struct histogram lengths;
};

void step_stats_point(void *stats, uint64_t point_ns); /* a step_point_fn */

/* How many of the first windows are warm-up: those before the length settles at the median of the run. */
uint32_t step_stats_warmup(const struct step_stats *stats);

/* Confidence 0..1 that these points are steps: what the method is worth, lower when few or irregular. */
double step_stats_confidence(const struct step_stats *stats, enum anchor_method method);

#endif
