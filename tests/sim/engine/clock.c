/* clock.c - the one clock of a process: CLOCK_MONOTONIC, and its distance to CLOCK_REALTIME taken once, so that lengths
 * stay exact when a stamp is told as real time. */
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include "tests/sim/engine/engine.h"

static uint64_t read_clock(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t sim_now(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

static uint64_t offset;

/* The reading with the least time around it is the best of a few. */
static void take_offset(void)
{
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < 20; i++) {
        uint64_t before = sim_now(), real = read_clock(CLOCK_REALTIME), after = sim_now();
        if (after - before < least) {
            least = after - before;
            offset = real - (before + least / 2);
        }
    }
}

uint64_t sim_realtime(uint64_t ns)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, take_offset);
    return ns + offset;
}

void sim_sleep_until(uint64_t ns)
{
    struct timespec t = {.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};
    while (sim_now() < ns && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) != 0)
        ;
}

static int64_t ahead;

static void read_ahead(void)
{
    char clock[32];
    long long seconds, ns;
    FILE *f = fopen("/proc/self/timens_offsets", "re");
    while (f && fscanf(f, "%31s %lld %lld", clock, &seconds, &ns) == 3)
        if (clock[0] == 'm') /* monotonic */
            ahead = seconds * 1000000000 + ns;
    if (f)
        fclose(f);
}

int64_t sim_clock_ahead(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_ahead);
    return ahead;
}
