/* Sums of windows of which some could not be split into waiting and transferring. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analysis/report/report.h"

#define STEP_NS 1000
#define EXPOSED_NS 100

/* Steps of which every `unknown`-th is not split; the others wait 30 of 100 ns, 10 of these for other stages. */
static struct report *with_steps(uint32_t nr, uint32_t unknown, int64_t exposed_unknown_ns)
{
    struct report *report;
    assert_int_equal(report_new(LANG_EN, &report), 0);
    for (uint32_t i = 0; i < nr; i++) {
        bool known = !unknown || i % unknown != 0;
        struct report_step row = {.step = i,
                                  .start_ns = (uint64_t)i * STEP_NS,
                                  .end_ns = (uint64_t)(i + 1) * STEP_NS,
                                  .comm_wait_ns = known ? 30 : TR_UNKNOWN,
                                  .comm_transfer_ns = known ? 70 : TR_UNKNOWN,
                                  .pp_bubble_ns = known ? 10 : TR_UNKNOWN,
                                  .comm_overlapped_ns = 0,
                                  .kernels = TR_UNKNOWN,
                                  .flop = NAN,
                                  .launch_latency_ns = NAN,
                                  .queue_depth = NAN};
        row.class_ns[BC_comm_exposed] = known ? EXPOSED_NS : exposed_unknown_ns;
        row.class_ns[BC_compute] = STEP_NS - row.class_ns[BC_comm_exposed];
        assert_int_equal(report_add_step(report, &row), 0);
    }
    return report;
}

static void check(struct report *report, int64_t wait_ns, int64_t transfer_ns, int64_t bubble_ns, int64_t known_ns)
{
    const struct report_breakdown *sums[] = {report_mean(report), report_breakdown(report, 0)};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(sums[i]->comm_wait_ns, wait_ns);
        assert_int_equal(sums[i]->comm_transfer_ns, transfer_ns);
        assert_int_equal(sums[i]->pp_bubble_ns, bubble_ns);
        assert_int_equal(sums[i]->comm_known_ns, known_ns);
    }
    report_free(report);
}

static void all_known_is_the_plain_sum(void **state)
{
    (void)state;
    check(with_steps(20, 0, 0), 600, 1400, 200, 20000);
}

/* Exposed 19 x 100 + 300: the one of 300 is taken to be like the others. */
static void one_unknown_window_is_like_the_others(void **state)
{
    (void)state;
    check(with_steps(20, 20, 300), 660, 1540, 220, 19000);
}

static void many_unknown_windows_make_the_sum_unknown(void **state)
{
    (void)state;
    check(with_steps(20, 5, 100), TR_UNKNOWN, TR_UNKNOWN, TR_UNKNOWN, 16000);
    check(with_steps(20, 1, 100), TR_UNKNOWN, TR_UNKNOWN, TR_UNKNOWN, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_known_is_the_plain_sum),
        cmocka_unit_test(one_unknown_window_is_like_the_others),
        cmocka_unit_test(many_unknown_windows_make_the_sum_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
