/* Clocks of hosts on one axis: offset and drift that are known by construction come back within the error bound. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analysis/model/clock_map.h"

static uint32_t seed = 11;

static uint32_t random_below(uint32_t n)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % n;
}

/* A clock: what it shows at true time t. */
struct clock {
    double offset_ns, drift;
};

static uint64_t shown(const struct clock *clock, double t)
{
    return (uint64_t)llround(t + clock->offset_ns + clock->drift * t);
}

#define START 1e12

/* Collectives of `nr` hosts, one every 50 ms for `seconds`, of 0.2 to 1 ms after the last start. */
static void run(struct clock_map *map, const struct clock *clocks, uint32_t nr, double seconds, double fastest_ns)
{
    for (double t = START; t < START + seconds * 1e9; t += 50e6) {
        double starts[8], last = 0;
        struct clock_side sides[8];
        for (uint32_t i = 0; i < nr; i++) {
            starts[i] = t + random_below(3000000);
            last = fmax(last, starts[i]);
        }
        double end = last + fastest_ns + random_below(800000);
        for (uint32_t i = 0; i < nr; i++)
            sides[i] =
                (struct clock_side){i, shown(&clocks[i], starts[i]), shown(&clocks[i], end + random_below(20000))};
        for (uint32_t i = 0; i + 1 < nr; i++) /* neighbours only: a chain */
            assert_int_equal(clock_map_meet(map, &sides[i], &sides[i + 1], 0), 0);
    }
}

static void offset_and_drift_come_back_within_the_error(void **state)
{
    static const double offsets[] = {0, 5e9, -5e9, 123456789, -777}, drifts[] = {0, 100e-6, -100e-6, 37e-6};
    for (unsigned i = 0; i < 5; i++)
        for (unsigned j = 0; j < 4; j++) {
            struct clock_map map = {.nr_hosts = 3};
            struct clock clocks[3] = {{0, 0}, {offsets[i], drifts[j]}, {-offsets[i] / 2, -drifts[j]}};
            run(&map, clocks, 3, 30, 200e3);
            assert_int_equal(clock_map_end(&map), 0);
            int64_t error = clock_map_error(&map);
            assert_true(error > 0 && error < 1500000);
            for (double t = START; t < START + 30e9; t += 171e6)
                for (uint32_t a = 0; a < 3; a++)
                    for (uint32_t b = 0; b < 3; b++) {
                        uint64_t ns;
                        assert_true(clock_map_convert(&map, a, b, shown(&clocks[a], t), &ns));
                        assert_true(fabs((double)ns - (double)shown(&clocks[b], t)) <= (double)error + 1);
                    }
            clock_map_done(&map);
        }
}

/* One host always comes first, by far: only that all leave together tells how far the clocks are apart. */
static void a_host_that_is_always_late_does_not_spoil_it(void **state)
{
    struct clock_map hard = {.nr_hosts = 2}, soft = {.nr_hosts = 2};
    struct clock clocks[2] = {{0, 0}, {2e9, -60e-6}};
    uint64_t ns;
    for (double t = START; t < START + 20e9; t += 50e6) {
        double end = t + 30e6 + 1e6;
        struct clock_side early = {0, shown(&clocks[0], t), shown(&clocks[0], end), 0};
        struct clock_side late = {1, shown(&clocks[1], t + 30e6), shown(&clocks[1], end + 100e3), 0};
        assert_int_equal(clock_map_meet(&hard, &early, &late, 0), 0);
        assert_int_equal(clock_map_meet(&soft, &early, &late, 2000000), 0);
    }
    assert_int_equal(clock_map_end(&hard), 0);
    assert_int_equal(clock_map_end(&soft), 0);
    assert_true(clock_map_error(&hard) > 10000000);
    assert_true(clock_map_error(&soft) < 3000000);
    assert_true(clock_map_convert(&soft, 1, 0, shown(&clocks[1], START + 5e9), &ns));
    assert_true(fabs((double)ns - (START + 5e9)) <= (double)clock_map_error(&soft));
    clock_map_done(&hard);
    clock_map_done(&soft);
}

static void a_tighter_collective_gives_a_smaller_error(void **state)
{
    struct clock_map wide = {.nr_hosts = 2}, tight = {.nr_hosts = 2};
    struct clock clocks[2] = {{0, 0}, {3e9, 50e-6}};
    run(&wide, clocks, 2, 12, 500e3);
    run(&tight, clocks, 2, 12, 20e3);
    assert_int_equal(clock_map_end(&wide), 0);
    assert_int_equal(clock_map_end(&tight), 0);
    assert_true(clock_map_error(&tight) < clock_map_error(&wide));
    clock_map_done(&wide);
    clock_map_done(&tight);
}

static void a_time_is_known_only_when_the_knot_behind_it_is(void **state)
{
    struct clock_map map = {.nr_hosts = 2};
    struct clock clocks[2] = {{0, 0}, {1e9, 0}};
    uint64_t ns;
    assert_false(clock_map_convert(&map, 1, 0, (uint64_t)START, &ns));
    run(&map, clocks, 2, 9, 100e3);
    assert_true(clock_map_convert(&map, 1, 0, shown(&clocks[1], START + 1e9), &ns));
    assert_false(clock_map_convert(&map, 1, 0, shown(&clocks[1], START + 9e9), &ns));
    assert_int_equal(clock_map_end(&map), 0);
    assert_true(clock_map_convert(&map, 1, 0, shown(&clocks[1], START + 9e9), &ns));
    clock_map_done(&map);
}

static void hosts_that_never_met_are_not_compared(void **state)
{
    struct clock_map map = {.nr_hosts = 3};
    struct clock clocks[2] = {{0, 0}, {1e9, 0}};
    uint64_t ns;
    run(&map, clocks, 2, 9, 100e3);
    assert_int_equal(clock_map_end(&map), 0);
    assert_false(clock_map_convert(&map, 2, 0, (uint64_t)START, &ns));
    assert_false(clock_map_convert(&map, 0, 2, (uint64_t)START, &ns));
    assert_int_equal(clock_map_error(&map), -1);
    clock_map_done(&map);
}

static void one_host_is_its_own_axis(void **state)
{
    struct clock_map map = {.nr_hosts = 1};
    uint64_t ns = 0;
    assert_true(clock_map_convert(&map, 0, 0, 42, &ns));
    assert_int_equal(ns, 42);
    assert_int_equal(clock_map_error(&map), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(offset_and_drift_come_back_within_the_error),
        cmocka_unit_test(a_host_that_is_always_late_does_not_spoil_it),
        cmocka_unit_test(a_tighter_collective_gives_a_smaller_error),
        cmocka_unit_test(a_time_is_known_only_when_the_knot_behind_it_is),
        cmocka_unit_test(hosts_that_never_met_are_not_compared),
        cmocka_unit_test(one_host_is_its_own_axis),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
