/* test_report.c - the report: sums of step windows, distribution, series, spooling, notes. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/report/report.h"
#include "analysis/report/units.h"

static struct report *new_report(void)
{
    struct report *report;
    assert_int_equal(report_new(LANG_EN, &report), 0);
    return report;
}

/* A window of 100 ms: `data_ms` of waiting for data, the rest compute. */
static struct report_step window(uint32_t step, int rank, int data_ms)
{
    struct report_step row = {
        .step = step,
        .rank = rank,
        .start_ns = step * 100000000ull,
        .end_ns = (step + 1) * 100000000ull,
        .comm_wait_ns = TR_UNKNOWN,
        .comm_transfer_ns = TR_UNKNOWN,
        .pp_bubble_ns = TR_UNKNOWN,
        .comm_overlapped_ns = TR_UNKNOWN,
        .dataloader_host_wait_ns = data_ms * 1000000ll,
    };
    row.class_ns[BC_dataloader] = data_ms * 1000000ll;
    row.class_ns[BC_compute] = 100000000ll - row.class_ns[BC_dataloader];
    return row;
}

static void add(struct report *report, struct report_step row)
{
    assert_int_equal(report_add_step(report, &row), 0);
}

static void test_warmup_and_incomplete_windows_are_not_averaged(void **state)
{
    struct report *report = new_report();
    struct report_step first = window(0, 0, 90), last = window(3, 0, 90);
    first.warmup = true;
    last.incomplete = true;

    add(report, first);
    add(report, window(1, 0, 10));
    add(report, window(2, 0, 30));
    add(report, last);

    const struct report_breakdown *rank = report_breakdown(report, 0);
    assert_int_equal(rank->steps, 2);
    assert_int_equal(rank->class_ns[BC_dataloader], 40000000);
    assert_int_equal(rank->window_ns, 200000000);
    assert_false(rank->all_windows);
    assert_int_equal(report->steps.count, 4);
    assert_int_equal(report->steps.warmup, 1);
    assert_true(rank->comm_wait_ns == TR_UNKNOWN);
    report_free(report);
}

static void test_all_windows_count_when_none_is_steady(void **state)
{
    struct report *report = new_report();
    struct report_step only = window(0, 0, 25);
    only.incomplete = true;

    add(report, only);
    assert_true(report_breakdown(report, 0)->all_windows);
    assert_int_equal(report_mean(report)->steps, 1);
    assert_true(fabs(report_share(report_mean(report), report_mean(report)->class_ns[BC_dataloader]) - 0.25) < 1e-9);
    report_free(report);
}

static void test_ranks_come_out_in_order_and_the_mean_is_over_all(void **state)
{
    struct report *report = new_report();

    for (int rank = 3; rank >= 0; rank--)
        add(report, window(0, rank, rank * 10));
    assert_int_equal(report_finish(report), 0);
    assert_int_equal(report->nr_per_rank, 4);
    for (int rank = 0; rank < 4; rank++)
        assert_int_equal(report->per_rank[rank].rank, rank);
    assert_int_equal(report->mean.class_ns[BC_dataloader], 60000000);
    assert_int_equal(report->mean.window_ns, 400000000);
    assert_int_equal(report->steps.count, 1);
    assert_null(report_breakdown(report, 4));
    report_free(report);
}

static void test_classes_must_add_up_to_the_window(void **state)
{
    struct report *report = new_report();
    struct report_step row = window(0, 0, 10);

    row.class_ns[BC_other] = 1;
    assert_int_equal(report_add_step(report, &row), -EINVAL);
    row = window(0, 0, 10);
    row.class_ns[BC_other] = -1;
    row.class_ns[BC_host] = 1;
    assert_int_equal(report_add_step(report, &row), -EINVAL);
    assert_int_equal(report_mean(report)->steps, 0);
    assert_true(isnan(report_step_mean_ns(report)));
    report_free(report);
}

static int expect_order(void *arg, const struct report_step *row)
{
    uint32_t *next = arg;
    assert_int_equal(row->step, *next);
    assert_int_equal(row->class_ns[BC_dataloader], (int64_t)(*next % 50) * 1000000);
    ++*next;
    return 0;
}

static void test_many_rows_come_back_as_they_went(void **state)
{
    enum { ROWS = 100000 }; /* more than are kept in memory */
    struct report *report = new_report();

    for (uint32_t i = 0; i < ROWS; i++)
        add(report, window(i, 0, (int)(i % 50)));
    for (int round = 0; round < 2; round++) {
        uint32_t next = 0;
        assert_int_equal(report_each_step(report, expect_order, &next), 0);
        assert_int_equal(next, ROWS);
    }
    /* The file is still written to after it was read. */
    add(report, window(ROWS, 0, ROWS % 50));
    uint32_t next = 0;
    assert_int_equal(report_each_step(report, expect_order, &next), 0);
    assert_int_equal(next, ROWS + 1);
    assert_int_equal(report->steps.count, ROWS + 1);
    assert_true(report->series.nr <= REPORT_SERIES_MAX);
    uint64_t in_series = 0;
    for (size_t i = 0; i < report->series.nr; i++)
        in_series += report->series.points[i].count;
    assert_int_equal(in_series, ROWS + 1);
    report_free(report);
}

static int stop_at_third(void *arg, const struct report_step *row)
{
    return row->step == 2 ? -ECANCELED : 0;
}

static void test_iteration_stops_when_asked(void **state)
{
    struct report *report = new_report();

    for (uint32_t i = 0; i < 5; i++)
        add(report, window(i, 0, 0));
    assert_int_equal(report_each_step(report, stop_at_third, NULL), -ECANCELED);
    report_free(report);
}

static void test_percentiles_are_close(void **state)
{
    struct report *report = new_report();

    for (uint32_t i = 0; i < 100; i++) {
        struct report_step row = window(i, 0, 0);
        row.end_ns = row.start_ns + (i + 1) * 1000000ull;
        row.class_ns[BC_compute] = (int64_t)(i + 1) * 1000000;
        add(report, row);
    }
    assert_true(fabs(report_step_percentile_ns(report, 0.95) / 95e6 - 1) < 0.01);
    assert_true(fabs(report_step_percentile_ns(report, 0.5) / 50e6 - 1) < 0.01);
    assert_true(fabs(report_step_mean_ns(report) - 50.5e6) < 1);
    report_free(report);
}

static void test_strings_are_copied(void **state)
{
    struct report *report = new_report();
    char path[] = "/data/run", key[] = "torch", value[] = "1.13";
    struct report_version version = {key, value};

    assert_int_equal(report_add_input(report, &(struct report_input){.path = path, .kind = "events"}), 0);
    assert_int_equal(report_add_rank(report, &(struct report_rank){.rank = 0, .versions = &version, .nr_versions = 1}),
                     0);
    memset(path, 'x', sizeof path - 1);
    memset(key, 'x', sizeof key - 1);
    memset(value, 'x', sizeof value - 1);
    assert_string_equal(report->inputs[0].path, "/data/run");
    assert_null(report->inputs[0].problem);
    assert_string_equal(report->ranks[0].versions[0].key, "torch");
    assert_string_equal(report->ranks[0].versions[0].value, "1.13");
    report_free(report);
}

static void test_a_note_is_said_once(void **state)
{
    struct report *report = new_report();

    assert_int_equal(report_note(report, "short-run", "steps", "4", NULL), 0);
    assert_int_equal(report_note(report, "short-run", "steps", "5", NULL), 0);
    assert_int_equal(report_note(report, "nobody-wrote-this", NULL), -EINVAL);
    assert_int_equal(report->nr_notes, 1);
    assert_non_null(strstr(report->notes[0].text, "4"));
    report_free(report);
}

static void test_units_read_well(void **state)
{
    static const struct {
        double value;
        struct units (*format)(double);
        const char *text;
    } rows[] = {
        {0, units_time, "0 ns"},
        {412, units_time, "412 ns"},
        {1500, units_time, "1.50 us"},
        {213e6, units_time, "213 ms"},
        {999.96e6, units_time, "1.00 s"},
        {1.236e9, units_time, "1.24 s"},
        {92e9, units_time, "92 s"},
        {232e9, units_time, "3 min 52 s"},
        {7800e9, units_time, "2 h 10 min"},
        {NAN, units_time, "-"},
        {0, units_bytes, "0 B"},
        {1023.7, units_bytes, "1 KiB"},
        {64 * 1024, units_bytes, "64 KiB"},
        {3.1 * 1024 * 1024 * 1024, units_bytes, "3.1 GiB"},
        {90e6, units_rate, "90 MB/s"},
        {1.5e9, units_rate, "1.5 GB/s"},
        {0.376, units_share, "38 %"},
        {0.004, units_share, "0.4 %"},
        {0.00001, units_share, "<0.1 %"},
        {0, units_share, "0 %"},
        {1, units_share, "100 %"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_string_equal(rows[i].format(rows[i].value).text, rows[i].text);
    assert_string_equal(units_count(0).text, "0");
    assert_string_equal(units_count(1234567).text, "1,234,567");
    assert_string_equal(units_count(UINT64_MAX).text, "18,446,744,073,709,551,615");
}

static void test_language_of_the_environment(void **state)
{
    assert_int_equal(lang_find("zh_CN.UTF-8"), LANG_ZH);
    assert_int_equal(lang_find("en"), LANG_EN);
    assert_int_equal(lang_find("zhx"), LANG_MAX);
    assert_int_equal(lang_find("de_DE"), LANG_MAX);
    assert_int_equal(lang_find(""), LANG_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_warmup_and_incomplete_windows_are_not_averaged),
        cmocka_unit_test(test_all_windows_count_when_none_is_steady),
        cmocka_unit_test(test_ranks_come_out_in_order_and_the_mean_is_over_all),
        cmocka_unit_test(test_classes_must_add_up_to_the_window),
        cmocka_unit_test(test_many_rows_come_back_as_they_went),
        cmocka_unit_test(test_iteration_stops_when_asked),
        cmocka_unit_test(test_percentiles_are_close),
        cmocka_unit_test(test_strings_are_copied),
        cmocka_unit_test(test_a_note_is_said_once),
        cmocka_unit_test(test_units_read_well),
        cmocka_unit_test(test_language_of_the_environment),
    };
    return cmocka_run_group_tests_name("report", tests, NULL, NULL);
}
