/* How far points between steps are trusted: regular ones, bursts of workers that deliver together, and anything. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analysis/model/stepper.h"
#include "analysis/pass/thresholds.h"

#define MS 1000000ull

static double confidence(const uint64_t *lengths_ns, size_t period, size_t nr, enum anchor_method method)
{
    struct step_stats stats = {0};
    uint64_t at = 5 * MS;
    step_stats_point(&stats, at);
    for (size_t i = 0; i < nr; i++)
        step_stats_point(&stats, at += lengths_ns[i % period]);
    return step_stats_confidence(&stats, method);
}

static void regular_distances_are_steps(void **state)
{
    const uint64_t lengths[] = {100 * MS, 130 * MS, 90 * MS};
    assert_true(confidence(lengths, 3, 40, ANCHORS_dataloader) >= TH_CONFIDENCE_MIN);
}

/* Four workers: a wait, then three batches that are there. */
static void bursts_are_steps(void **state)
{
    const uint64_t four[] = {400 * MS, MS / 100, MS / 50, MS / 90}, two[] = {150 * MS, MS / 20};
    assert_true(confidence(four, 4, 40, ANCHORS_dataloader) >= TH_CONFIDENCE_MIN);
    assert_true(confidence(two, 2, 40, ANCHORS_dataloader) >= TH_CONFIDENCE_MIN);
}

/* Each distance ten times the one before, in no order that repeats within 16. */
static void distances_without_any_order_are_hardly_steps(void **state)
{
    uint64_t lengths[64];
    uint32_t seed = 3;
    for (size_t i = 0; i < 64; i++) {
        seed = seed * 1664525 + 1013904223;
        lengths[i] = 1000;
        for (uint32_t j = 0; j < (seed >> 20) % 7; j++)
            lengths[i] *= 10;
    }
    assert_true(confidence(lengths, 64, 64, ANCHORS_dataloader) < TH_CONFIDENCE_MIN);
    assert_true(confidence(lengths, 64, 64, ANCHORS_optimizer) >= TH_CONFIDENCE_MIN); /* no inference */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(regular_distances_are_steps),
        cmocka_unit_test(bursts_are_steps),
        cmocka_unit_test(distances_without_any_order_are_hardly_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
