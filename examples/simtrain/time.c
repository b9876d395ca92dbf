/* time.c - the clock, work on the CPU, and numbers that look random. */
#include <time.h>

#include "examples/simtrain/job.h"

uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void busy_us(double us)
{
    uint64_t end = now_ns() + (uint64_t)(us * 1e3);
    while (now_ns() < end)
        ;
}

uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t x = a * 0x9e3779b97f4a7c15u ^ (b + 0x2545f4914f6cdd1du);
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}
