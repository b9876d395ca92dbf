/* stepper.c - see stepper.h. */
#include "analysis/model/stepper.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/pass/thresholds.h"

const char *const anchor_method_names[ANCHORS_MAX] = {
#define METHOD(name) #name,
    ANCHOR_METHODS(METHOD)
#undef METHOD
};

void stepper_init(struct stepper *stepper, enum anchor_method method, step_point_fn point, void *arg)
{
    *stepper = (struct stepper){.method = method, .per_step = 1, .point = point, .arg = arg};
}

static uint64_t gap_between(const struct step_anchor *a, const struct step_anchor *b)
{
    return b->start_ns > a->end_ns ? b->start_ns - a->end_ns : 0;
}

/* The usual time between two steps: median of the latest. 0 as long as there is none. */
static uint64_t usual_gap(const struct stepper *s)
{
    uint64_t sorted[STEPPER_GAPS];
    size_t nr = s->nr_gaps < STEPPER_GAPS ? s->nr_gaps : STEPPER_GAPS;
    for (size_t i = 0; i < nr; i++) {
        size_t at = i;
        for (; at && sorted[at - 1] > s->gaps[i]; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = s->gaps[i];
    }
    return nr ? sorted[nr / 2] : 0;
}

static void remember_gap(struct stepper *s, uint64_t gap)
{
    s->gaps[s->nr_gaps++ % STEPPER_GAPS] = gap;
}

/* Too long for "back to back", whatever else is known. */
static bool gap_is_long(const struct step_anchor *a, uint64_t gap)
{
    uint64_t half = (a->end_ns - a->start_ns) / 2;
    uint64_t limit = half < TH_MERGE_MAX_NS ? half : TH_MERGE_MAX_NS;
    return gap > (limit > TH_MERGE_MIN_NS ? limit : TH_MERGE_MIN_NS);
}

static bool one_step(const struct stepper *s, const struct step_anchor *a, const struct step_anchor *b)
{
    uint64_t gap = gap_between(a, b);
    if (b->start_ns < a->end_ns)
        return true; /* one inside the other: an engine's step calls its optimizer's */
    return !b->data_before && !gap_is_long(a, gap) && gap * TH_MERGE_RATIO <= usual_gap(s);
}

static void optimizer_range(struct stepper *s, const struct step_anchor *anchor)
{
    if (!s->open) {
        s->group = *anchor;
        s->open = true;
        return;
    }
    if (one_step(s, &s->group, anchor)) {
        if (anchor->start_ns < s->group.start_ns)
            s->group.start_ns = anchor->start_ns;
        if (anchor->end_ns > s->group.end_ns)
            s->group.end_ns = anchor->end_ns;
        return;
    }
    remember_gap(s, gap_between(&s->group, anchor));
    s->point(s->arg, s->group.end_ns);
    s->group = *anchor;
}

/* The first anchors have no history: what is usual is taken from themselves. */
static void settle(struct stepper *s)
{
    uint64_t longest = 0;
    for (size_t i = 1; i < s->nr_early; i++) {
        uint64_t gap = gap_between(&s->early[i - 1], &s->early[i]);
        if (s->early[i].data_before || gap_is_long(&s->early[i - 1], gap))
            remember_gap(s, gap);
        if (gap > longest)
            longest = gap;
    }
    if (!s->nr_gaps)
        remember_gap(s, longest);
    s->settled = true;
    for (size_t i = 0; i < s->nr_early; i++)
        optimizer_range(s, &s->early[i]);
}

/* A hand-off waits in the group for the next one: it may turn out to be the end of an epoch. */
static void hand_off(struct stepper *s, const struct step_anchor *anchor)
{
    if (s->open) {
        if (s->nr_anchors % s->per_step == s->phase)
            s->point(s->arg, s->group.end_ns);
        s->nr_anchors++;
    }
    s->group = *anchor;
    s->open = true;
}

void stepper_anchor(struct stepper *s, uint64_t start_ns, uint64_t end_ns)
{
    struct step_anchor anchor = {start_ns, end_ns, s->data_since};
    s->data_since = false;
    switch (s->method) {
    case ANCHORS_mark:
    case ANCHORS_nvtx:
        s->point(s->arg, start_ns);
        break;
    case ANCHORS_optimizer:
        if (s->settled) {
            optimizer_range(s, &anchor);
        } else {
            s->early[s->nr_early++] = anchor;
            if (s->nr_early == STEPPER_EARLY)
                settle(s);
        }
        break;
    case ANCHORS_dataloader:
        hand_off(s, &anchor);
        break;
    default:
        break;
    }
}

void stepper_data(struct stepper *s)
{
    s->data_since = true;
}

void stepper_epoch(struct stepper *s)
{
    if (s->method == ANCHORS_dataloader)
        s->open = false;
}

void stepper_finish(struct stepper *s)
{
    if (s->method == ANCHORS_optimizer && !s->settled)
        settle(s);
    if (s->open && (s->method == ANCHORS_optimizer || s->nr_anchors % s->per_step == s->phase))
        s->point(s->arg, s->group.end_ns);
    s->open = false;
}

void step_stats_point(void *arg, uint64_t point_ns)
{
    struct step_stats *stats = arg;
    if (stats->nr_points) {
        uint64_t length = point_ns > stats->last_ns ? point_ns - stats->last_ns : 0;
        if (stats->nr_points <= STEP_FIRST_MAX)
            stats->first[stats->nr_points - 1] = length;
        histogram_add(&stats->lengths, length, 1);
    } else {
        stats->first_ns = point_ns;
    }
    stats->last_ns = point_ns;
    stats->nr_points++;
}

/* The run settles at the first window from which on the windows are no longer mostly far above the median: a single
 * long window later (an evaluation, a checkpoint) is no warm-up, nor is a single short one in between the end of it. */
uint32_t step_stats_warmup(const struct step_stats *stats)
{
    double median = histogram_percentile(&stats->lengths, 0.5);
    uint64_t windows = stats->nr_points ? stats->nr_points - 1 : 0;
    uint64_t limit = windows / TH_WARMUP_PART < STEP_FIRST_MAX - 2 ? windows / TH_WARMUP_PART : STEP_FIRST_MAX - 2;
    uint32_t warmup = 0;
    while (warmup < limit && ((double)stats->first[warmup] > TH_WARMUP_RATIO * median ||
                              (warmup && (double)stats->first[warmup + 1] > TH_WARMUP_RATIO * median)))
        warmup++;
    return warmup;
}

static int by_length(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Whether hand-overs come in bursts of `size`: together such many windows always take about as long. */
static bool in_bursts(const struct step_stats *stats, uint64_t windows, uint64_t size)
{
    uint64_t sums[STEP_FIRST_MAX], nr = 0;
    for (uint64_t i = 0; i + size <= windows; i++) {
        sums[nr] = 0;
        for (uint64_t j = i; j < i + size; j++)
            sums[nr] += stats->first[j];
        nr++;
    }
    if (nr < 2 * size)
        return false;
    qsort(sums, nr, sizeof(*sums), by_length);
    return (double)sums[nr * 3 / 4] <= TH_BURST_RATIO * (double)sums[nr / 4];
}

/* Workers that are all too slow deliver together, so that a long wait is followed by as many short ones as there are
 * workers, less one. Distances as uneven as that are steps all the same. */
static bool is_irregular(const struct step_stats *stats)
{
    double p25 = histogram_percentile(&stats->lengths, 0.25), p75 = histogram_percentile(&stats->lengths, 0.75);
    uint64_t windows = stats->nr_points - 1 < STEP_FIRST_MAX ? stats->nr_points - 1 : STEP_FIRST_MAX;
    if (p75 <= TH_IRREGULAR_RATIO * (p25 + 1))
        return false;
    for (uint64_t size = 2; size <= (uint64_t)TH_BURST_MAX; size++)
        if (in_bursts(stats, windows, size))
            return false;
    return true;
}

double step_stats_confidence(const struct step_stats *stats, enum anchor_method method)
{
    const double worth[ANCHORS_MAX] = {[ANCHORS_mark] = TH_CONF_MARK,
                                       [ANCHORS_nvtx] = TH_CONF_NVTX,
                                       [ANCHORS_optimizer] = TH_CONF_OPTIMIZER,
                                       [ANCHORS_dataloader] = TH_CONF_DATALOADER};
    double confidence = worth[method];
    if (!stats->nr_points)
        return 0;
    if (stats->nr_points < 4)
        confidence *= TH_CONF_FEW;
    /* Hand-offs are an inference: when their distances say nothing in common, they are hardly steps. */
    if (method == ANCHORS_dataloader && stats->nr_points >= 4 && is_irregular(stats))
        confidence *= TH_CONF_IRREGULAR;
    return confidence;
}
