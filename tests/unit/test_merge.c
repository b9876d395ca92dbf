/* test_merge.c - streams come out as one, by time on the common axis of their hosts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/input/hosts.h"
#include "analysis/input/merge.h"

/* A stream of given times; the event's pid says which stream it was. */
struct listed {
    struct event_stream stream;
    const uint64_t *times;
    size_t nr, at;
    uint32_t host, number;
    int then; /* returned after the last */
    struct event event;
};

static int listed_next(struct event_stream *stream, const struct event **ret)
{
    struct listed *self = (struct listed *)stream;

    if (self->at == self->nr)
        return self->then;
    memset(&self->event, 0, sizeof(self->event));
    self->event.ts_ns = self->times[self->at++];
    self->event.host = self->host;
    self->event.kind = EV_exit;
    self->event.u.exit.pid = self->number;
    *ret = &self->event;
    return 1;
}

#define LISTED(number_, host_, ...)                                                                                    \
    {                                                                                                                  \
        .stream.next = listed_next, .times = (const uint64_t[]){__VA_ARGS__},                                          \
        .nr = sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t), .host = host_, .number = number_             \
    }

static struct hosts two_hosts(int64_t epoch_a, int64_t epoch_b)
{
    struct hosts hosts = {0};
    uint32_t index;

    assert_int_equal(hosts_add(&hosts, "a", "", epoch_a, &index), 0);
    assert_int_equal(hosts_add(&hosts, "b", "", epoch_b, &index), 0);
    assert_int_equal(index, 1);
    return hosts;
}

/* Merges and checks the order of (stream, time). */
static void expect_order(struct listed *streams, size_t nr_streams, struct hosts *hosts, const uint32_t *numbers,
                         const uint64_t *times, size_t nr)
{
    const struct event *event;
    struct merge *merge;

    assert_int_equal(merge_new(hosts, &merge), 0);
    for (size_t i = 0; i < nr_streams; i++)
        assert_int_equal(merge_add(merge, &streams[i].stream), 0);
    for (size_t i = 0; i < nr; i++) {
        assert_int_equal(merge_next(merge, &event), 1);
        assert_int_equal(event->ts_ns, times[i]);
        assert_int_equal(event->u.who.pid, numbers[i]);
    }
    assert_int_equal(merge_next(merge, &event), 0);
    assert_int_equal(merge_next(merge, &event), 0);
    merge_free(merge);
    hosts_done(hosts);
}

#define ORDER(streams, hosts, numbers, times)                                                                          \
    expect_order(streams, sizeof(streams) / sizeof(*streams), hosts, numbers, times, sizeof(times) / sizeof(*times))

static void by_time(void **state)
{
    struct listed streams[] = {LISTED(1, 0, 10, 40, 50), LISTED(2, 0, 5), LISTED(3, 0, 20, 30, 60)};
    struct hosts hosts = two_hosts(0, 0);

    ORDER(streams, &hosts, ((const uint32_t[]){2, 1, 3, 3, 1, 1, 3}), ((const uint64_t[]){5, 10, 20, 30, 40, 50, 60}));
}

static void ties_in_order_of_adding(void **state)
{
    struct listed streams[] = {LISTED(1, 0, 10, 10), LISTED(2, 0, 10), LISTED(3, 0, 10, 11)};
    struct hosts hosts = two_hosts(0, 0);

    ORDER(streams, &hosts, ((const uint32_t[]){1, 1, 2, 3, 3}), ((const uint64_t[]){10, 10, 10, 10, 11}));
}

static void hosts_by_their_epochs(void **state)
{
    struct listed streams[] = {LISTED(1, 0, 100, 200), LISTED(2, 1, 5, 150)};
    struct hosts hosts = two_hosts(1000, 1100);

    ORDER(streams, &hosts, ((const uint32_t[]){1, 2, 1, 2}), ((const uint64_t[]){100, 5, 200, 150}));
}

/* One host's clock is not tied to the wall: it is taken to have started with the earliest. */
static void unknown_epoch(void **state)
{
    struct listed streams[] = {LISTED(1, 0, 100, 200), LISTED(2, 1, 150)};
    struct hosts hosts = two_hosts(1000000, 0);

    ORDER(streams, &hosts, ((const uint32_t[]){1, 2, 1}), ((const uint64_t[]){100, 150, 200}));
}

static void damaged_times_come_last(void **state)
{
    struct listed streams[] = {LISTED(1, 0, 1, UINT64_MAX), LISTED(2, 0, 5)};
    struct hosts hosts = two_hosts(1000000, 0);

    ORDER(streams, &hosts, ((const uint32_t[]){1, 2, 1}), ((const uint64_t[]){1, 5, UINT64_MAX}));
}

static void errors_end_the_scan(void **state)
{
    struct listed stream = LISTED(1, 0, 1);
    struct hosts hosts = two_hosts(0, 0);
    const struct event *event;
    struct merge *merge;

    stream.then = -EIO;
    assert_int_equal(merge_new(&hosts, &merge), 0);
    assert_int_equal(merge_add(merge, &stream.stream), 0);
    assert_int_equal(merge_next(merge, &event), 1);
    assert_int_equal(merge_next(merge, &event), -EIO);
    merge_free(merge);
    hosts_done(&hosts);
}

/* Many streams of random lengths: the result is sorted and complete. */
static void many_streams(void **state)
{
    enum { STREAMS = 100, LENGTH = 50 };
    static uint64_t times[STREAMS][LENGTH];
    static struct listed streams[STREAMS];
    struct hosts hosts = two_hosts(0, 0);
    const struct event *event;
    struct merge *merge;
    size_t total = 0, got = 0;
    uint64_t last = 0;
    unsigned seed = 7;

    assert_int_equal(merge_new(&hosts, &merge), 0);
    for (size_t i = 0; i < STREAMS; i++) {
        size_t nr = rand_r(&seed) % LENGTH;
        for (size_t j = 0; j < nr; j++)
            times[i][j] = (j ? times[i][j - 1] : 0) + rand_r(&seed) % 10;
        streams[i] = (struct listed){.stream.next = listed_next, .times = times[i], .nr = nr};
        total += nr;
        assert_int_equal(merge_add(merge, &streams[i].stream), 0);
    }
    while (merge_next(merge, &event) == 1) {
        assert_true(event->ts_ns >= last);
        last = event->ts_ns;
        got++;
    }
    assert_int_equal(got, total);
    merge_free(merge);
    hosts_done(&hosts);
}

static void a_host_is_renamed_once(void **state)
{
    struct hosts hosts = two_hosts(0, 0);
    uint32_t index;

    assert_int_equal(hosts_rename(&hosts, 0, "", "x"), 0);
    assert_string_equal(hosts.list[0].shown.name, "a");
    assert_int_equal(hosts_rename(&hosts, 0, "node-a", "boot"), 0);
    assert_int_equal(hosts_rename(&hosts, 0, "other", "other"), 0);
    assert_string_equal(hosts.list[0].shown.name, "node-a");
    assert_string_equal(hosts.list[0].shown.boot, "boot");
    /* It is still found by what it was added as, and learns its epoch. */
    assert_int_equal(hosts_add(&hosts, "a", "", 5, &index), 0);
    assert_int_equal(index, 0);
    assert_int_equal(hosts.list[0].shown.epoch_ns, 5);
    assert_int_equal(hosts.nr, 2);
    hosts_done(&hosts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_time),
        cmocka_unit_test(ties_in_order_of_adding),
        cmocka_unit_test(hosts_by_their_epochs),
        cmocka_unit_test(unknown_epoch),
        cmocka_unit_test(damaged_times_come_last),
        cmocka_unit_test(errors_end_the_scan),
        cmocka_unit_test(many_streams),
        cmocka_unit_test(a_host_is_renamed_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
