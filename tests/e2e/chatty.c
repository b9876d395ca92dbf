/* chatty.c - a job that says exactly which events it emitted, for the tests of `trshim record`.
 *
 *     chatty COUNT [PAUSE_US [BURST]]
 *
 * Waits at first until its events are enabled, at most CHATTY_WAIT_MS (environment, 0): a process waits only 100 ms for
 * its registration, which on a busy machine is not enough, and the tests count. Emits COUNT `range` events (0: until
 * killed) named 1, 2, 3 ..., pausing after each BURST (1) of them, and prints the last number when it ends; every
 * hundredth comes with an `anchor` of the same number. Linked to the provider itself, so run it with TRSHIM_CORE set to
 * nothing: two providers in a process would each write every event. */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "traces/tp_trshim.h"

static volatile sig_atomic_t told_to_end;

static void on_term(int sig)
{
    told_to_end = 1;
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void wait_until_enabled(void)
{
    const char *wait = getenv("CHATTY_WAIT_MS");
    for (int left_ms = wait ? atoi(wait) : 0; left_ms > 0 && !lttng_ust_tracepoint_enabled(trshim, anchor); left_ms--)
        usleep(1000);
}

int main(int argc, char **argv)
{
    long count = argc > 1 ? atol(argv[1]) : 1000;
    unsigned pause_us = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
    long burst = argc > 3 ? atol(argv[3]) : 1;
    uint32_t pid = (uint32_t)getpid(), nr = 0;

    signal(SIGTERM, on_term);
    wait_until_enabled();
    for (long i = 1; !told_to_end && (count == 0 || i <= count); i++) {
        const struct tr_range range = {.pid = pid, .tid = pid, .name = (uint32_t)i, .start_ns = now_ns()};
        lttng_ust_tracepoint(trshim, range, &range);
        nr = (uint32_t)i;
        if (i % 100 == 0) {
            const struct tr_anchor anchor = {.pid = pid, .tid = pid, .nr = (uint64_t)i, .start_ns = range.start_ns};
            lttng_ust_tracepoint(trshim, anchor, &anchor);
        }
        if (pause_us && i % burst == 0)
            usleep(pause_us);
    }
    printf("last %u\n", nr);
    return 0;
}
