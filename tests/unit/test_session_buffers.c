/* test_session_buffers.c - sizes of ring buffers and trace files for machines large and small. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "traces/session_buffers.h"

#define KIB 1024ull
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)

static struct buffer_plan plan(uint64_t shm_free, uint64_t buffers, uint64_t max_size, unsigned cpus)
{
    const struct buffer_limits limits = {shm_free, buffers, max_size, cpus, cpus};
    struct buffer_plan p;
    buffers_plan(&limits, &p);
    return p;
}

static void check_sane(const struct buffer_plan *p)
{
    for (int c = 0; c < CH_MAX; c++) {
        uint64_t size = p->channel[c].subbuf_size, nr = p->channel[c].nr_subbuf;
        assert_true(size >= 4096 && (size & (size - 1)) == 0);
        assert_true(nr >= 2 && (nr & (nr - 1)) == 0);
    }
    if (p->tracefile_size)
        assert_true(p->tracefile_size >= p->channel[CH_DATA].subbuf_size);
}

static void plenty_of_memory_stays_below_the_default_cap(void **state)
{
    struct buffer_plan p = plan(64 * GIB, 0, 0, 2);
    check_sane(&p);
    assert_int_equal(p.cap, 256 * MIB);
    assert_int_equal(p.channel[CH_DATA].subbuf_size, 2 * MIB);
    assert_true(p.total <= p.cap);
    assert_int_equal(p.tracefile_size, 0);
}

static void docker_gives_64_mib_and_we_take_a_tenth(void **state)
{
    struct buffer_plan p = plan(64 * MIB, 0, 0, 8);
    check_sane(&p);
    assert_int_equal(p.cap, 64 * MIB / 10);
    assert_true(p.total <= p.cap);
    assert_true(p.total > p.cap / 4); /* but not much less */
}

static void many_cpus_get_small_buffers_and_the_total_tells(void **state)
{
    struct buffer_plan p = plan(64 * MIB, 0, 0, 256);
    check_sane(&p);
    for (int c = 0; c < CH_MAX; c++)
        assert_int_equal(p.channel[c].subbuf_size, 4096);
    assert_true(p.total <= p.cap);

    p = plan(4 * MIB, 0, 0, 256);
    check_sane(&p);
    assert_true(p.total > p.cap);
}

static void what_the_user_asks_for_is_the_cap(void **state)
{
    struct buffer_plan p = plan(64 * GIB, 1 * MIB, 0, 2);
    check_sane(&p);
    assert_int_equal(p.cap, 1 * MIB);
    assert_true(p.total <= p.cap);
}

static void every_machine_gets_a_sane_plan(void **state)
{
    for (uint64_t shm = 1 * MIB; shm <= 1024 * GIB; shm *= 3)
        for (unsigned cpus = 1; cpus <= 1024; cpus = cpus * 2 + 1)
            for (uint64_t max = 0; max <= 64 * GIB; max = max ? max * 5 : 1 * MIB) {
                struct buffer_plan p = plan(shm, 0, max, cpus);
                check_sane(&p);
                if (max / cpus >= 1 * MIB) /* enough for files of a page each */
                    assert_true(p.tracefile_size * cpus <= max / 8);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plenty_of_memory_stays_below_the_default_cap),
        cmocka_unit_test(docker_gives_64_mib_and_we_take_a_tenth),
        cmocka_unit_test(many_cpus_get_small_buffers_and_the_total_tells),
        cmocka_unit_test(what_the_user_asks_for_is_the_cap),
        cmocka_unit_test(every_machine_gets_a_sane_plan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
