/* bare_tracepoint.c - what an event of each kind costs by itself: the tracepoint with its payload and nothing else.
 *
 * Linked to the provider, so that it must run without the core (TRSHIM_CORE set to nothing), in a session that has
 * the event enabled. Emits COUNT events of KIND in ROUNDS rounds and prints the best ns per event; the size of the
 * trace tells bench/size.py the bytes. The baseline that design targets name: hook <= this + two clock reads + 30 ns.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "traces/schema.h"
#include "traces/tp_trshim.h"

static uint64_t now_ns(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static const uint64_t some_words[24];

/* EVENT(.., foo, ..) -> emit_foo(count), enabled_foo(): a struct with a plausible value in every field. */
#define ENUM(n, values)
#define U8(n, doc) .n = 15,
#define U16(n, doc) .n = 1,
#define U32(n, doc) .n = 123456,
#define U64(n, doc) .n = 123456789012345,
#define I32(n, doc) .n = 3,
#define STR(n, doc) .n = "/data/train/shard-000123.tar",
#define E8(en, n, doc) .n = 1,
#define SEQ64(n, doc) .n = {some_words, sizeof(some_words) / sizeof(*some_words)},
#define EVENT(channel, level, name, fields, doc)                                                                       \
    static void emit_##name(unsigned count)                                                                            \
    {                                                                                                                  \
        struct tr_##name e = {.pid = 4242, .tid = 4243, fields};                                                       \
        for (unsigned i = 0; i < count; i++)                                                                           \
            lttng_ust_tracepoint(trshim, name, &e);                                                                    \
    }                                                                                                                  \
    static int enabled_##name(void)                                                                                    \
    {                                                                                                                  \
        return lttng_ust_tracepoint_enabled(trshim, name);                                                             \
    }
#include "traces/events.def"
#include "traces/undefine.h"

static const struct {
    void (*emit)(unsigned count);
    int (*enabled)(void);
} kinds[EV_MAX] = {
#define ENUM(n, values)
#define EVENT(channel, level, name, fields, doc) [EV_##name] = {emit_##name, enabled_##name},
#include "traces/events.def"
#include "traces/undefine.h"
};

/* LTTng enables the event some time after the program registered: at most two seconds. */
static int wait_enabled(enum event_kind kind)
{
    for (int i = 0; i < 200 && !kinds[kind].enabled(); i++)
        (void)usleep(10000);
    return kinds[kind].enabled();
}

int main(int argc, char **argv)
{
    enum { ROUNDS = 5, PAUSE_US = 300000 };
    uint64_t best = UINT64_MAX;

    if (argc != 3) {
        fprintf(stderr, "usage: bare_tracepoint KIND COUNT\n");
        return 2;
    }
    enum event_kind kind = schema_find(argv[1]);
    unsigned count = (unsigned)strtoul(argv[2], NULL, 10);
    if (kind == EV_MAX || count == 0) {
        fprintf(stderr, "bare_tracepoint: no such kind, or no count: %s %s\n", argv[1], argv[2]);
        return 2;
    }
    if (!wait_enabled(kind)) {
        fprintf(stderr, "bare_tracepoint: %s is not enabled: no session?\n", argv[1]);
        return 1;
    }
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t start = now_ns();
        kinds[kind].emit(count);
        uint64_t took = now_ns() - start;
        best = took < best ? took : best;
        (void)usleep(PAUSE_US); /* the consumer catches up: full buffers would measure drops */
    }
    printf("%s\t%.1f\t%u\n", argv[1], (double)best / count, count * ROUNDS);
    return 0;
}
