/* pieces.c - see pieces.h. */
#include "analysis/pass/pieces.h"

#include <errno.h>
#include <stdlib.h>

void pieces_done(struct pieces *pieces)
{
    free(pieces->list);
    free(pieces->spreads);
    *pieces = (struct pieces){0};
}

static int make_room(struct pieces *pieces)
{
    if (pieces->nr < pieces->capacity)
        return 0;
    if (pieces->head > pieces->capacity / 2) {
        for (size_t i = pieces->head; i < pieces->nr; i++)
            pieces->list[i - pieces->head] = pieces->list[i];
        pieces->nr -= pieces->head;
        pieces->head = 0;
        return 0;
    }
    size_t capacity = pieces->capacity ? pieces->capacity * 2 : 64;
    struct piece *list = realloc(pieces->list, capacity * sizeof(*list));
    if (!list)
        return -ENOMEM;
    pieces->list = list;
    pieces->capacity = capacity;
    return 0;
}

int pieces_add(struct pieces *pieces, const struct piece *piece)
{
    if (piece->end_ns <= piece->start_ns)
        return 0;
    if (make_room(pieces))
        return -ENOMEM;
    /* They come in order of their ends, so the place is near the back. */
    size_t at = pieces->nr++;
    for (; at > pieces->head && pieces->list[at - 1].start_ns > piece->start_ns; at--)
        pieces->list[at] = pieces->list[at - 1];
    pieces->list[at] = *piece;
    return 0;
}

int pieces_spread(struct pieces *pieces, uint64_t start_ns, uint64_t end_ns, uint64_t ns)
{
    if (end_ns <= start_ns || !ns)
        return 0;
    if (pieces->nr_spreads == pieces->capacity_spreads) {
        size_t capacity = pieces->capacity_spreads ? pieces->capacity_spreads * 2 : 64;
        struct spread *spreads = realloc(pieces->spreads, capacity * sizeof(*spreads));
        if (!spreads)
            return -ENOMEM;
        pieces->spreads = spreads;
        pieces->capacity_spreads = capacity;
    }
    uint64_t most = end_ns - start_ns;
    pieces->spreads[pieces->nr_spreads++] = (struct spread){start_ns, end_ns, ns < most ? ns : most};
    return 0;
}

size_t pieces_before(const struct pieces *pieces, uint64_t to_ns)
{
    size_t low = pieces->head, high = pieces->nr;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (pieces->list[middle].start_ns < to_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low - pieces->head;
}

uint64_t pieces_spread_within(const struct pieces *pieces, uint64_t from_ns, uint64_t to_ns)
{
    double sum = 0;
    for (size_t i = 0; i < pieces->nr_spreads; i++) {
        const struct spread *spread = &pieces->spreads[i];
        uint64_t start = spread->start_ns > from_ns ? spread->start_ns : from_ns;
        uint64_t end = spread->end_ns < to_ns ? spread->end_ns : to_ns;
        if (start < end)
            sum += (double)spread->total_ns * (double)(end - start) / (double)(spread->end_ns - spread->start_ns);
    }
    return (uint64_t)sum;
}

void pieces_forget(struct pieces *pieces, uint64_t to_ns)
{
    size_t before = pieces->head + pieces_before(pieces, to_ns), kept = 0;
    /* Those that begin before but end after stay, moved up behind the rest. */
    for (size_t i = before; i-- > pieces->head;)
        if (pieces->list[i].end_ns > to_ns)
            pieces->list[before - ++kept] = pieces->list[i];
    pieces->head = before - kept;
    size_t nr = 0;
    for (size_t i = 0; i < pieces->nr_spreads; i++)
        if (pieces->spreads[i].end_ns > to_ns)
            pieces->spreads[nr++] = pieces->spreads[i];
    pieces->nr_spreads = nr;
}
