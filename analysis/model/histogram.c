/* histogram.c - slots: 0..15 hold their own value, above that 16 slots for each power of two. */
#include "analysis/model/histogram.h"

#include <math.h>

#define SUB_BITS 4
#define SUB (1u << SUB_BITS)

static unsigned slot_of(uint64_t value)
{
    if (value < SUB)
        return (unsigned)value;
    unsigned power = 63 - (unsigned)__builtin_clzll(value); /* >= SUB_BITS */
    unsigned slot = (power - SUB_BITS + 1) * SUB + (unsigned)(value >> (power - SUB_BITS) & (SUB - 1));
    return slot < HISTOGRAM_SLOTS ? slot : HISTOGRAM_SLOTS - 1;
}

/* Middle of the slot: what a value in it is taken for. */
static double value_of(unsigned slot)
{
    if (slot < SUB)
        return slot;
    unsigned power = slot / SUB - 1 + SUB_BITS;
    double low = ldexp(1.0 + (slot % SUB) / (double)SUB, (int)power);
    return low + (ldexp(1.0, (int)(power - SUB_BITS)) - 1) / 2;
}

void histogram_add(struct histogram *histogram, uint64_t value, uint32_t times)
{
    uint32_t *slot = &histogram->slots[slot_of(value)];
    uint32_t room = UINT32_MAX - *slot;
    *slot += times < room ? times : room;
    histogram->count += times;
}

double histogram_percentile(const struct histogram *histogram, double p)
{
    uint64_t sum = 0;
    if (!histogram->count)
        return NAN;
    double rank = p * (double)histogram->count;
    for (unsigned i = 0; i < HISTOGRAM_SLOTS; i++) {
        sum += histogram->slots[i];
        if (sum && (double)sum >= rank)
            return value_of(i);
    }
    return value_of(HISTOGRAM_SLOTS - 1);
}
