/* layers.c - a sweep over the ends of all spans, with a count of open spans per layer. */
#include "analysis/model/layers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct end {
    uint64_t at_ns;
    uint8_t layer;
    int8_t step; /* +1 a span begins, -1 it ends */
};

static int by_time(const void *a, const void *b)
{
    const struct end *x = a, *y = b;
    return x->at_ns < y->at_ns ? -1 : x->at_ns > y->at_ns;
}

static size_t ends_within(const struct span *spans, size_t nr, uint64_t from_ns, uint64_t to_ns, struct end *ends)
{
    size_t nr_ends = 0;
    for (size_t i = 0; i < nr; i++) {
        uint64_t start = spans[i].start_ns > from_ns ? spans[i].start_ns : from_ns;
        uint64_t end = spans[i].end_ns < to_ns ? spans[i].end_ns : to_ns;
        if (start >= end)
            continue;
        ends[nr_ends++] = (struct end){start, spans[i].layer, 1};
        ends[nr_ends++] = (struct end){end, spans[i].layer, -1};
    }
    return nr_ends;
}

static unsigned first_open(const int64_t open[LAYER_MAX])
{
    unsigned layer = 0;
    while (layer < LAYER_MAX && (!open[layer] || (layer == LAYER_HELPER && !open[LAYER_BLOCKED])))
        layer++;
    return layer;
}

int layers_split(const struct span *spans, size_t nr, uint64_t from_ns, uint64_t to_ns, uint64_t ret_ns[LAYER_MAX + 1])
{
    memset(ret_ns, 0, (LAYER_MAX + 1) * sizeof(*ret_ns));
    if (to_ns <= from_ns)
        return 0;
    struct end *ends = nr ? malloc(2 * nr * sizeof(*ends)) : NULL;
    if (nr && !ends)
        return -ENOMEM;
    size_t nr_ends = nr ? ends_within(spans, nr, from_ns, to_ns, ends) : 0;
    if (nr_ends)
        qsort(ends, nr_ends, sizeof(*ends), by_time);

    int64_t open[LAYER_MAX] = {0};
    uint64_t cursor = from_ns;
    for (size_t i = 0; i < nr_ends; i++) {
        ret_ns[first_open(open)] += ends[i].at_ns - cursor;
        cursor = ends[i].at_ns;
        open[ends[i].layer] += ends[i].step;
    }
    ret_ns[first_open(open)] += to_ns - cursor;
    free(ends);
    return 0;
}

void layers_join(struct span *spans, size_t nr, enum layer layer, uint64_t gap_ns)
{
    struct span *last = NULL;
    for (size_t i = 0; i < nr; i++) {
        if (spans[i].layer != layer)
            continue;
        if (last && spans[i].start_ns > last->end_ns && spans[i].start_ns - last->end_ns <= gap_ns)
            last->end_ns = spans[i].start_ns;
        if (!last || spans[i].end_ns > last->end_ns)
            last = &spans[i];
    }
}

static void stretch(struct span *span, const struct span *around, uint64_t gap_ns)
{
    if (span->start_ns > around->start_ns && span->start_ns < around->end_ns &&
        span->start_ns - around->start_ns <= gap_ns)
        span->start_ns = around->start_ns;
    if (span->end_ns < around->end_ns && span->end_ns > around->start_ns && around->end_ns - span->end_ns <= gap_ns)
        span->end_ns = around->end_ns;
}

void layers_stretch(struct span *spans, size_t nr, enum layer layer, enum layer around, uint64_t gap_ns)
{
    size_t first = 0; /* no later span of `layer` can reach one of `around` before it */
    for (size_t i = 0; i < nr; i++) {
        if (spans[i].layer != layer)
            continue;
        uint64_t end_ns = spans[i].end_ns;
        while (first < nr && spans[first].start_ns < spans[i].start_ns &&
               (spans[first].layer != around || spans[first].end_ns <= spans[i].start_ns))
            first++;
        for (size_t j = first; j < nr && spans[j].start_ns < end_ns; j++)
            if (spans[j].layer == around)
                stretch(&spans[i], &spans[j], gap_ns);
    }
}
