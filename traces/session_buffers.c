/* session_buffers.c - see session_buffers.h. */
#include "traces/session_buffers.h"

#include <errno.h>
#include <stdio.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define PAGE 4096ull
#define KIB 1024ull
#define MIB (1024 * KIB)
#define TRACEFILES 16

/* The largest power of 2 that is at most n, between min and max (powers of 2). */
static uint64_t power_between(uint64_t n, uint64_t min, uint64_t max)
{
    uint64_t p = min;
    while (p * 2 <= n && p * 2 <= max)
        p *= 2;
    return p;
}

static uint64_t min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* A ring loses its oldest sub-buffer at once, so it has many. */
#define RING_SUBBUFS 16
#define RING_SUBBUF_MAX (4 * MIB)

/* state and steps are small channels that must not lose: an eighth of the CPU's share each, at most 64 and 128 KiB a
 * sub-buffer. data gets the rest: 8 MiB per CPU hold a second of 100,000 events/s and more help nobody. Of a ring, what
 * was said first is wanted longest: there the small ones grow with it. */
static void size_channels(struct buffer_plan *plan, uint64_t per_cpu, uint64_t data_max, unsigned nr_subbuf)
{
    uint64_t small_max = plan->ring ? data_max : 64 * KIB;
    uint64_t state = power_between(per_cpu / 8 / nr_subbuf, PAGE, small_max);
    uint64_t steps = power_between(per_cpu / 8 / nr_subbuf, PAGE, 2 * small_max);
    uint64_t small = (state + steps) * nr_subbuf;
    uint64_t data = power_between(per_cpu > small ? (per_cpu - small) / nr_subbuf : 0, PAGE, data_max);
    const uint64_t size[CH_MAX] = {[CH_STATE] = state, [CH_STEPS] = steps, [CH_DATA] = data};

    for (int c = 0; c < CH_MAX; c++) {
        plan->channel[c].subbuf_size = size[c];
        plan->channel[c].nr_subbuf = nr_subbuf;
    }
}

static uint64_t plan_total(const struct buffer_plan *plan, unsigned cpus)
{
    uint64_t sum = 0;
    for (int c = 0; c < CH_MAX; c++)
        sum += plan->channel[c].subbuf_size * plan->channel[c].nr_subbuf;
    return sum * cpus;
}

/* The files that are being written, one per CPU, are what cannot be removed: a sixteenth of max_size together. */
static void limit_files(struct buffer_plan *plan, const struct buffer_limits *limits)
{
    uint64_t size = limits->max_size / limits->cpus_online / TRACEFILES / PAGE * PAGE;
    plan->tracefile_size = size < PAGE ? PAGE : size;
}

void buffers_plan(const struct buffer_limits *limits, struct buffer_plan *ret)
{
    struct buffer_plan plan = {.cap = min_u64(BUFFERS_DEFAULT_CAP, limits->shm_free / 10), .ring = limits->ring};
    if (limits->buffers)
        plan.cap = limits->buffers;

    uint64_t data_max = limits->ring ? RING_SUBBUF_MAX : 2 * MIB;
    if (limits->max_size && !limits->ring) {
        limit_files(&plan, limits);
        data_max = power_between(plan.tracefile_size, PAGE, data_max); /* a packet must fit a file */
    }
    size_channels(&plan, plan.cap / limits->cpus_possible, data_max, limits->ring ? RING_SUBBUFS : 4);
    plan.total = plan_total(&plan, limits->cpus_possible);
    if (plan.total > plan.cap) {
        size_channels(&plan, plan.cap / limits->cpus_possible, data_max, 2);
        plan.total = plan_total(&plan, limits->cpus_possible);
    }
    *ret = plan;
}

int buffers_measure(struct buffer_limits *ret)
{
    struct statvfs fs;
    if (statvfs("/dev/shm", &fs) < 0)
        return -errno;
    long possible = sysconf(_SC_NPROCESSORS_CONF), online = sysconf(_SC_NPROCESSORS_ONLN);

    *ret = (struct buffer_limits){
        .shm_free = (uint64_t)fs.f_bavail * fs.f_frsize,
        .cpus_possible = possible > 0 ? (unsigned)possible : 1,
        .cpus_online = online > 0 ? (unsigned)online : 1,
    };
    /* _CONF counts CPUs that are present; LTTng sizes by the highest possible one. */
    FILE *f = fopen("/sys/devices/system/cpu/possible", "re");
    if (f) {
        unsigned first, last;
        if (fscanf(f, "%u-%u", &first, &last) == 2 && last + 1 > ret->cpus_possible)
            ret->cpus_possible = last + 1;
        fclose(f);
    }
    return 0;
}
