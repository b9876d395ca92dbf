/* microbatches.c - see microbatches.h. */
#include "analysis/model/microbatches.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/pass/thresholds.h"

int microbatches_hand_over(struct microbatches **micro, uint64_t end_ns)
{
    if (!*micro)
        *micro = calloc(1, sizeof(**micro));
    if (!*micro)
        return -ENOMEM;
    if ((*micro)->nr_hand_overs < MICROBATCHES_HAND_OVERS)
        (*micro)->hand_overs_ns[(*micro)->nr_hand_overs++] = end_ns;
    return 0;
}

void microbatches_traffic(struct microbatches *micro, uint64_t at_ns, uint64_t bytes)
{
    struct traffic *last = micro->nr_traffic ? &micro->traffic[micro->nr_traffic - 1] : NULL;
    if (last && at_ns >= last->at_ns && at_ns < last->at_ns + TH_JOIN_NS)
        last->bytes += bytes;
    else if (micro->nr_traffic < MICROBATCHES_TRAFFIC)
        micro->traffic[micro->nr_traffic++] = (struct traffic){at_ns, bytes};
}

/* The last hand-over that ended at or before a time, -1 if none did. */
static long before(const struct microbatches *micro, uint64_t at_ns)
{
    size_t low = 0, high = micro->nr_hand_overs;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (micro->hand_overs_ns[middle] <= at_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return (long)low - 1;
}

/* Traffic after each hand-over, up to the next. Returns how many hand-overs it is known for. */
static size_t sum_up(const struct microbatches *micro, uint64_t bytes[MICROBATCHES_HAND_OVERS])
{
    memset(bytes, 0, MICROBATCHES_HAND_OVERS * sizeof(*bytes));
    for (size_t i = 0; i < micro->nr_traffic; i++) {
        long at = before(micro, micro->traffic[i].at_ns);
        if (at >= 0)
            bytes[at] += micro->traffic[i].bytes;
    }
    if (micro->nr_traffic == MICROBATCHES_TRAFFIC) { /* full: nothing is known of what came after */
        long at = before(micro, micro->traffic[micro->nr_traffic - 1].at_ns);
        return at > 0 ? (size_t)at : 0;
    }
    return micro->nr_hand_overs;
}

/* The distance that most pairs of hand-overs with traffic have, if nearly all have it; 0 if there is none. */
static uint32_t steady_distance(const size_t *ends, size_t nr)
{
    unsigned count[64] = {0};
    uint32_t best = 0;
    for (size_t i = 1; i < nr; i++) {
        size_t distance = ends[i] - ends[i - 1];
        if (distance < 64 && ++count[distance] > count[best])
            best = (uint32_t)distance;
    }
    return nr > TH_GROUP_MIN_STEPS && count[best] >= TH_GROUP_STEADY_SHARE * (double)(nr - 1) ? best : 0;
}

uint32_t microbatches_per_step(const struct microbatches *micro, uint32_t *ret_phase)
{
    uint64_t bytes[MICROBATCHES_HAND_OVERS], most = 0;
    size_t ends[MICROBATCHES_HAND_OVERS], nr_ends = 0, nr = sum_up(micro, bytes);
    *ret_phase = 0;
    for (size_t i = 0; i < nr; i++)
        most = bytes[i] > most ? bytes[i] : most;
    for (size_t i = 0; i < nr && most; i++)
        if (bytes[i] > most / 4)
            ends[nr_ends++] = i;
    uint32_t distance = steady_distance(ends, nr_ends);
    if (distance < 2)
        return 1;
    *ret_phase = (uint32_t)((ends[nr_ends / 2] + 1) % distance); /* the one after traffic begins the next step */
    return distance;
}
