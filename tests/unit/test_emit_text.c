/* test_emit_text.c - the text report: it fits its screen whatever is in it, in both languages, in ASCII and in colour.
 */
#include "tests/unit/report_sample.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/emit/emit.h"
#include "analysis/emit/rank_groups.h"
#include "analysis/emit/save_groups.h"
#include "analysis/emit/screen.h"
#include "analysis/emit/sections.h"
#include "analysis/emit/table.h"
#include "analysis/emit/width.h"
#include "analysis/emit/words.h"
#include "analysis/emit/worker_groups.h"
#include "analysis/report/rank_text.h"

static char *text_of(struct report *report, struct screen screen)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    assert_int_equal(emit_text(report, &screen, out), 0);
    fclose(out);
    return text;
}

static void check_contains(const char *text, const char *part)
{
    assert_non_null(text);
    if (!strstr(text, part))
        fail_msg("\"%s\" is not in:\n%s", part, text);
}

static unsigned widest_line(const char *text)
{
    unsigned widest = 0;
    char *copy = strdup(text);

    for (char *line = strtok(copy, "\n"); line; line = strtok(NULL, "\n"))
        if (widest < width_of(line))
            widest = width_of(line);
    free(copy);
    return widest;
}

static void test_the_verdict_names_rank_cause_and_remedy(void **state)
{
    struct report *report = sample(LANG_EN);
    char *text = text_of(report, (struct screen){.width = 100, .utf8 = true});

    check_contains(text,
                   "run1 · 4 ranks on 2 hosts · 20 steps by optimizer ranges (confidence 0.98) · 2 s · nothing lost");
    check_contains(text, "VERDICT  Rank 3: The training thread waits for data 40 % of the time");
    check_contains(text, "WHY      DataLoader workers spend 88 % of their time reading /nfs/train at 90 MB/s each.");
    check_contains(text, "NEXT     Copy /nfs/train to local disk");
    check_contains(text, "\nGAIN     up to 720 ms of the run's 2 s\n");
    check_contains(text, "0-2");
    check_contains(text, "checkpoint-unsafe");
    free(text);
    report_free(report);
}

static void test_no_line_is_wider_than_the_screen(void **state)
{
    for (int lang = 0; lang < LANG_MAX; lang++)
        for (unsigned width = 60; width <= 160; width += 5) {
            struct report *report = sample((enum lang)lang);
            char *text = text_of(report, (struct screen){.width = width, .utf8 = true});
            if (widest_line(text) > width)
                fail_msg("%u cells on a screen of %u, language %d:\n%s", widest_line(text), width, lang, text);
            free(text);
            report_free(report);
        }
}

static void test_ascii_screens_get_ascii(void **state)
{
    struct report *report = sample(LANG_EN);
    char *text = text_of(report, (struct screen){.width = 100});

    for (const char *at = text; *at; at++)
        assert_true((unsigned char)*at < 0x80);
    free(text);
    report_free(report);
}

static void test_colours_only_where_there_are_some(void **state)
{
    struct report *report = sample(LANG_EN);
    char *plain = text_of(report, (struct screen){.width = 100, .utf8 = true});
    char *coloured = text_of(report, (struct screen){.width = 100, .utf8 = true, .colour = true});

    assert_null(strchr(plain, '\033'));
    assert_non_null(strstr(coloured, "\033[31m"));
    free(plain);
    free(coloured);
    report_free(report);
}

static void test_chinese_is_aligned_and_complete(void **state)
{
    struct report *report = sample(LANG_ZH);
    char *text = text_of(report, (struct screen){.width = 120, .utf8 = true});

    check_contains(text, "结论");
    check_contains(text, "Rank 3：训练线程有 40 % 的时间在等待数据");
    check_contains(text, "原因");
    check_contains(text, "计算");
    assert_null(strstr(text, "VERDICT"));
    free(text);
    report_free(report);
}

static void test_an_empty_report_says_so(void **state)
{
    struct report *report = sample_empty(LANG_EN);
    char *text = text_of(report, (struct screen){.width = 80, .utf8 = true});

    check_contains(text, "VERDICT  Nothing to judge");
    check_contains(text, "findings  none");
    free(text);
    report_free(report);
}

/* `steps` steps of 100 ms, of which data_ms are waiting for data. */
static char *text_without_findings(uint32_t steps, int data_ms)
{
    struct report *report;

    assert_int_equal(report_new(LANG_EN, &report), 0);
    report->steps.method = steps ? "mark" : NULL;
    for (uint32_t i = 0; i < steps || i < 1; i++) {
        struct report_step row = {.step = i, .end_ns = 100 * MS, .comm_wait_ns = TR_UNKNOWN};
        row.class_ns[BC_dataloader] = data_ms * MS;
        row.class_ns[BC_compute] = (100 - data_ms) * MS;
        assert_int_equal(report_add_step(report, &row), 0);
    }
    assert_int_equal(report_finish(report), 0);
    char *text = text_of(report, (struct screen){.width = 160, .utf8 = true});
    report_free(report);
    return text;
}

static void test_without_findings_the_numbers_speak(void **state)
{
    char *text = text_without_findings(20, 3);
    check_contains(text, "VERDICT  No problem that costs 5 % or more: 97 % of the time is compute; the largest rest is "
                         "waiting for data, 3 %.");
    free(text);
    text = text_without_findings(20, 30);
    check_contains(
        text,
        "VERDICT  No finding is sure enough: 70 % of the time is compute; the largest rest is waiting for data, 30 %.");
    free(text);
    text = text_without_findings(4, 30);
    check_contains(text, "VERDICT  Too few steady steps to judge: 70 % of");
    free(text);
    text = text_without_findings(20, 0);
    check_contains(text, "100 % of the time is compute.\n");
    free(text);
    text = text_without_findings(0, 30);
    check_contains(text, "VERDICT  Steps are not known: 70 % of");
    check_contains(text, "run 100 ms\n");
    free(text);
}

static void test_names_cannot_write_to_the_terminal(void **state)
{
    struct report *report;

    assert_int_equal(report_new(LANG_EN, &report), 0);
    assert_int_equal(
        report_add_input(report, &(struct report_input){.path = "a\033]0;title\007\xff", .problem = "b\033[2J"}), 0);
    assert_int_equal(report_add_io(report, &(struct report_io){.group = "/d\033[2Jx\n", .p95_read_ns = NAN}), 0);
    assert_int_equal(report_finish(report), 0);
    char *text = text_of(report, (struct screen){.width = 100, .utf8 = true});
    assert_null(strchr(text, '\033'));
    assert_null(strchr(text, '\007'));
    check_contains(text, "/d?[2Jx?");
    free(text);
    report_free(report);
}

static void test_the_card_is_three_lines_or_so(void **state)
{
    struct report *report = sample(LANG_EN);
    struct screen screen = {.width = 100, .utf8 = true};
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    assert_int_equal(emit_card(report, &screen, out), 0);
    fclose(out);
    assert_int_equal(strncmp(text, "VERDICT  ", 9), 0);
    check_contains(text, "\nWHY      ");
    check_contains(text, "\nNEXT     ");
    assert_null(strstr(text, "findings"));
    free(text);
    report_free(report);
}

/* ---- parts */

/* The conversions of a word, e.g. "%s%.2f": printf takes them from one call for all languages. */
static void conversions(const char *text, char *out, size_t size)
{
    size_t used = 0;

    while ((text = strchr(text, '%'))) {
        size_t length = strspn(text + 1, ".0123456789") + 2;
        if (text[1] != '%')
            used += (size_t)snprintf(out + used, size - used, "%.*s", (int)length, text);
        assert_true(used < size);
        text += length;
    }
}

static void test_words_take_the_same_values_in_all_languages(void **state)
{
    for (int id = 0; id < W_MAX; id++) {
        char en[64] = "", zh[64] = "";
        conversions(word(LANG_EN, (enum word)id), en, sizeof en);
        conversions(word(LANG_ZH, (enum word)id), zh, sizeof zh);
        if (strcmp(en, zh))
            fail_msg("\"%s\" takes %s, its translation %s", word(LANG_EN, (enum word)id), en, zh);
    }
}

static void check_ranks(const int *ranks, size_t nr, const char *expected)
{
    char text[24];
    format_ranks(ranks, nr, text, sizeof text);
    assert_string_equal(text, expected);
}

static void test_rank_lists(void **state)
{
    check_ranks((const int[]){7}, 1, "7");
    check_ranks((const int[]){0, 1, 2, 3}, 4, "0-3");
    check_ranks((const int[]){0, 1, 4, 6, 7}, 5, "0-1,4,6-7");
    check_ranks(NULL, 0, "");
    check_ranks((const int[]){100, 200, 300, 400, 500, 600, 700}, 7, "100,200,300,400,500,..");
}

static void test_alike_ranks_share_a_row_and_all_fit(void **state)
{
    enum { RANKS = 1000 };
    struct report_breakdown *rows = calloc(RANKS, sizeof *rows);
    struct rank_groups groups;
    size_t in_groups = 0;

    for (int i = 0; i < RANKS; i++) {
        rows[i] = (struct report_breakdown){.rank = i, .steps = 1, .window_ns = 1000};
        rows[i].class_ns[BC_dataloader] = i; /* from 0 to all of the time */
        rows[i].class_ns[BC_compute] = 1000 - i;
    }
    assert_int_equal(rank_groups_init(&groups, rows, RANKS), 0);
    assert_true(groups.nr <= RANK_GROUPS_MAX);
    for (size_t i = 0; i < groups.nr; i++)
        in_groups += groups.group[i].nr_ranks;
    assert_int_equal(in_groups, RANKS);
    rank_groups_done(&groups);

    for (int i = 0; i < RANKS; i++)
        rows[i].class_ns[BC_dataloader] = i == 7 ? 400 : 5, rows[i].class_ns[BC_compute] = i == 7 ? 600 : 995;
    assert_int_equal(rank_groups_init(&groups, rows, RANKS), 0);
    assert_int_equal(groups.nr, 2);
    assert_int_equal(groups.group[1].nr_ranks, 1);
    assert_int_equal(groups.group[1].ranks[0], 7);
    rank_groups_done(&groups);
    free(rows);
}

static void test_saves_that_differ_in_numbers_share_a_row(void **state)
{
    const struct report_checkpoint rows[] = {
        {.rank = 0, .path = "/c7/step-1.pt", .bytes = 10, .stall_ns = 100, .safe = 1, .sync = true},
        {.rank = 0, .path = "/c/last-2.pt", .bytes = 5, .safe = 1},
        {.rank = 0, .path = "/c7/step-20.pt", .bytes = 30, .stall_ns = 300, .safe = 0},
        {.rank = 1, .path = "/c/step-3.pt", .bytes = 7, .safe = -1},
        {.rank = 0, .path = "/c/last-2.pt", .bytes = 5, .safe = 1},
    };
    struct save_groups groups;

    assert_int_equal(save_groups_init(&groups, rows, 5), 0);
    assert_int_equal(groups.nr, 3);
    assert_string_equal(groups.group[0].path, "/c7/step-*.pt");
    assert_int_equal(groups.group[0].saves, 2);
    assert_int_equal(groups.group[0].mean.bytes, 20);
    assert_int_equal(groups.group[0].mean.stall_ns, 200);
    assert_int_equal(groups.group[0].mean.safe, 0);
    assert_true(groups.group[0].mean.sync);
    assert_string_equal(groups.group[1].path, "/c/last-2.pt");
    assert_int_equal(groups.group[1].saves, 2);
    assert_string_equal(groups.group[2].path, "/c/step-3.pt");
    assert_int_equal(groups.group[2].mean.safe, -1);
    save_groups_done(&groups);
}

static void test_many_workers_are_told_by_rank(void **state)
{
    enum { WORKERS = 40 };
    struct report_worker rows[WORKERS];
    struct worker_groups groups;

    for (int i = 0; i < WORKERS; i++)
        rows[i] = (struct report_worker){.rank = i % 4, .pid = 100 + i, .cpu_ns = 10, .span_ns = 100, .batches = 3};
    assert_int_equal(worker_groups_init(&groups, rows, 8, 8), 0);
    assert_int_equal(groups.nr, 8);
    worker_groups_done(&groups);
    assert_int_equal(worker_groups_init(&groups, rows, WORKERS, 8), 0);
    assert_int_equal(groups.nr, 4);
    assert_int_equal(groups.group[3].workers, 10);
    assert_int_equal(groups.group[3].sum.rank, 3);
    assert_int_equal(groups.group[3].sum.cpu_ns, 100);
    assert_int_equal(groups.group[3].sum.span_ns, 1000);
    assert_int_equal(groups.group[3].sum.batches, 30);
    worker_groups_done(&groups);
}

static void test_widths_of_wide_characters(void **state)
{
    assert_int_equal(width_of(""), 0);
    assert_int_equal(width_of("abc"), 3);
    assert_int_equal(width_of("数据"), 4);
    assert_int_equal(width_of("é"), 1);
    assert_int_equal(width_of("█·…"), 3);
    assert_int_equal(width_of("\xff\033"), 2);
    assert_int_equal(width_prefix("数据", 3), 3);
    assert_int_equal(width_prefix("abc", 2), 2);
    assert_int_equal(width_prefix("abc", 9), 3);
    assert_true(width_breaks_between("数", "据"));
    assert_true(width_breaks_between("，", "数"));
    assert_false(width_breaks_between("数", "，"));
    assert_false(width_breaks_between("（", "数"));
    assert_false(width_breaks_between("a", "b"));
}

static void test_tables_lose_columns_then_cut(void **state)
{
    struct screen wide = {.width = 60, .utf8 = true}, narrow = {.width = 24, .utf8 = true};
    struct table *table = table_new();
    char *text = NULL;
    size_t size;

    table_column(table, "place", ALIGN_LEFT, 0, CUT_MIDDLE);
    table_column(table, "reads", ALIGN_RIGHT, 0, CUT_NOT);
    table_column(table, "opens", ALIGN_RIGHT, 1, CUT_NOT);
    table_row(table);
    table_cell(table, STYLE_NONE, "/data/a-long-directory/train");
    table_cell(table, STYLE_NONE, "12");
    table_cell(table, STYLE_NONE, "3");

    FILE *out = open_memstream(&text, &size);
    assert_int_equal(table_print(table, &wide, 0, out), 0);
    fclose(out);
    assert_string_equal(text, "place                         reads  opens\n"
                              "/data/a-long-directory/train     12      3\n");
    free(text);
    out = open_memstream(&text, &size);
    assert_int_equal(table_print(table, &narrow, 0, out), 0);
    fclose(out);
    assert_string_equal(text, "place              reads\n"
                              "/data…ctory/train     12\n");
    free(text);
    table_free(table);
}

static void test_a_full_disk_is_an_error(void **state)
{
    FILE *out = fopen("/dev/full", "w");
    struct report *report = sample(LANG_EN);
    struct screen screen = {.width = 100};

    assert_non_null(out);
    assert_true(emit_text(report, &screen, out) < 0);
    fclose(out);
    report_free(report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_verdict_names_rank_cause_and_remedy),
        cmocka_unit_test(test_no_line_is_wider_than_the_screen),
        cmocka_unit_test(test_ascii_screens_get_ascii),
        cmocka_unit_test(test_colours_only_where_there_are_some),
        cmocka_unit_test(test_chinese_is_aligned_and_complete),
        cmocka_unit_test(test_an_empty_report_says_so),
        cmocka_unit_test(test_without_findings_the_numbers_speak),
        cmocka_unit_test(test_names_cannot_write_to_the_terminal),
        cmocka_unit_test(test_the_card_is_three_lines_or_so),
        cmocka_unit_test(test_words_take_the_same_values_in_all_languages),
        cmocka_unit_test(test_rank_lists),
        cmocka_unit_test(test_alike_ranks_share_a_row_and_all_fit),
        cmocka_unit_test(test_saves_that_differ_in_numbers_share_a_row),
        cmocka_unit_test(test_many_workers_are_told_by_rank),
        cmocka_unit_test(test_widths_of_wide_characters),
        cmocka_unit_test(test_tables_lose_columns_then_cut),
        cmocka_unit_test(test_a_full_disk_is_an_error),
    };
    return cmocka_run_group_tests_name("emit_text", tests, NULL, NULL);
}
