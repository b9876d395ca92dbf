/* test_findings.c - findings: merging, order, sentences; and that the languages say the same things. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "analysis/report/finding.h"
#include "analysis/report/text.h"

/* The findings that exist so far; each has texts and a page. */
static const char *const ids[] = {
    "dataloader-bound",
    "small-files",
    "storage-slow",
    "checkpoint-sync",
    "checkpoint-interval",
    "checkpoint-retention",
    "checkpoint-unsafe",
    "disk-full",
    "cpu-affinity",
    "worker-count",
    "slow-start",
    "trace-quality",
    "memory-fragmentation",
    "memory-capacity",
    "alloc-retries",
    "pageable-copies",
    "sync-overuse",
    "launch-bound",
    "offload-bound",
    "low-mfu",
    "nccl-socket-fallback",
    "nccl-socket-only",
    "nccl-gdr-off",
    "nccl-hca-mismatch",
    "nccl-wrong-ifname",
    "nccl-net-plugin-failed",
    "nccl-topology",
    "harmful-env",
    "nvlink-missing",
    "p2p-disabled",
    "shm-limit",
    "version-mismatch",
    "ib-errors",
    "collective-hang",
    "unbalanced-work",
    "gpu-slow",
    "host-straggler",
    "comm-bound",
    "comm-slow",
    "no-overlap",
    "small-messages",
    "pipeline-bubble",
    "pipeline-imbalance",
    "collective-desync",
};

#define NR_IDS (sizeof ids / sizeof *ids)

static struct report *new_report(enum lang lang)
{
    struct report *report;
    assert_int_equal(report_new(lang, &report), 0);
    return report;
}

/* ---- findings */

static void test_one_finding_per_id_and_culprit(void **state)
{
    struct report *report = new_report(LANG_EN);
    struct finding *a = finding_raise(report, "disk-full", "/a", SEVERITY_LOW, 0.5);

    assert_ptr_equal(finding_raise(report, "disk-full", "/a", SEVERITY_HIGH, 0.4), a);
    assert_ptr_not_equal(finding_raise(report, "disk-full", "/b", SEVERITY_LOW, 0.5), a);
    assert_ptr_not_equal(finding_raise(report, "disk-full", NULL, SEVERITY_LOW, 0.5), a);
    finding_add_rank(a, 3);
    finding_add_rank(a, 1);
    finding_add_rank(a, 3);
    finding_add_rank(a, -1);
    finding_add_host(a, "node-a");
    finding_add_host(a, "node-a");
    finding_lost(a, 1000, 0.5);
    finding_lost(a, 500, 0.25);
    assert_int_equal(report_finish(report), 0);

    assert_int_equal(report->nr_findings, 3);
    const struct report_finding *f = &report->findings[0];
    assert_int_equal(f->severity, SEVERITY_HIGH);
    assert_true(f->confidence == 0.5);
    assert_int_equal(f->nr_ranks, 2);
    assert_int_equal(f->ranks[0], 1);
    assert_int_equal(f->ranks[1], 3);
    assert_int_equal(f->nr_hosts, 1);
    assert_int_equal(f->lost_ns, 1500);
    assert_true(f->lost_gpu_seconds == 0.75);
    report_free(report);
}

static void test_order_is_severity_then_cause_then_loss_then_id(void **state)
{
    struct report *report = new_report(LANG_EN);

    finding_raise(report, "slow-start", NULL, SEVERITY_LOW, 1);
    finding_lost(finding_raise(report, "small-files", NULL, SEVERITY_HIGH, 1), 1, 1);
    finding_caused_by(finding_raise(report, "small-files", NULL, SEVERITY_HIGH, 1), "storage-slow");
    finding_raise(report, "worker-count", NULL, SEVERITY_MEDIUM, 1);
    finding_raise(report, "cpu-affinity", NULL, SEVERITY_MEDIUM, 1);
    finding_lost(finding_raise(report, "storage-slow", NULL, SEVERITY_MEDIUM, 1), 1, 1);
    finding_raise(report, "disk-full", NULL, SEVERITY_HIGH, 1);
    assert_int_equal(report_finish(report), 0);

    static const char *const order[] = {"disk-full",    "small-files",  "storage-slow",
                                        "cpu-affinity", "worker-count", "slow-start"};
    assert_int_equal(report->nr_findings, 6);
    for (size_t i = 0; i < 6; i++)
        assert_string_equal(report->findings[i].id, order[i]);
    assert_string_equal(report->findings[1].caused_by, "storage-slow");
    report_free(report);
}

static void test_sentences_take_parameters(void **state)
{
    struct report *report = new_report(LANG_EN);
    struct finding *f = finding_raise(report, "dataloader-bound", NULL, severity_of_share(0.38), 0.9);

    finding_set_share(f, "share", 0.38);
    finding_set_time(f, "wait", 213e6);
    finding_set_time(f, "step", 561e6);
    finding_set_count(f, "steps", 412);
    finding_set_share(f, "read_share", 0.88);
    finding_set(f, "place", "%s", "/nfs/train");
    finding_set_rate(f, "rate", 90e6);
    finding_cause(f, "storage");
    finding_fix(f, "storage");
    finding_evidence(f, "wait");
    finding_evidence(f, "wait");
    assert_int_equal(report_finish(report), 0);

    const struct report_finding *row = &report->findings[0];
    assert_int_equal(row->severity, SEVERITY_HIGH);
    assert_string_equal(row->what, "The training thread waits for data 38 % of the time: 213 ms of every 561 ms step.");
    /* The number of workers and the file system were not given: those parts are gone. */
    assert_string_equal(row->cause, "DataLoader workers spend 88 % of their time reading /nfs/train at 90 MB/s each.");
    assert_int_equal(row->nr_evidence, 1);
    assert_string_equal(row->evidence[0], "data wait 213 ms a step of 561 ms, 38 % of the time, over 412 steps");
    report_free(report);
}

static void test_wrong_ids_and_keys_are_reported(void **state)
{
    struct report *report = new_report(LANG_EN);
    assert_null(finding_raise(report, "no-such-finding", NULL, SEVERITY_LOW, 1));
    finding_set(NULL, "share", "x"); /* setters take what raise gave */
    assert_true(report_finish(report) < 0);
    report_free(report);

    report = new_report(LANG_EN);
    finding_evidence(finding_raise(report, "disk-full", NULL, SEVERITY_LOW, 1), "no-such-key");
    assert_true(report_finish(report) < 0);
    report_free(report);
}

static void test_a_report_may_end_unfinished(void **state)
{
    struct report *report = new_report(LANG_EN);
    struct finding *f = finding_raise(report, "disk-full", NULL, SEVERITY_LOW, 1);
    finding_add_rank(f, 1);
    finding_add_victim(f, 2);
    finding_add_host(f, "node-a");
    report_free(report); /* the leak checker looks at this one */
}

static void test_severity_follows_the_share(void **state)
{
    assert_int_equal(severity_of_share(0.15), SEVERITY_HIGH);
    assert_int_equal(severity_of_share(0.149), SEVERITY_MEDIUM);
    assert_int_equal(severity_of_share(0.05), SEVERITY_MEDIUM);
    assert_int_equal(severity_of_share(0.049), SEVERITY_LOW);
}

/* ---- templates */

static const char *one_param(void *arg, const char *name)
{
    return strcmp(name, "known") ? NULL : arg;
}

static const char *number_one(void *arg, const char *name)
{
    return "1";
}

static void test_one_is_singular(void **state)
{
    char *rendered = text_render("{n} worker{n::s} {n:is:are}", number_one, NULL);
    assert_string_equal(rendered, "1 worker is");
    free(rendered);
}

static void check_render(const char *text, const char *expected)
{
    char *rendered = text_render(text, one_param, "v");
    assert_non_null(rendered);
    assert_string_equal(rendered, expected);
    free(rendered);
}

static void test_templates(void **state)
{
    check_render("", "");
    check_render("plain", "plain");
    check_render("{known}", "v");
    check_render("a {unknown} b", "a ? b");
    check_render("a[ {known}] b", "a v b");
    check_render("a[ {unknown}] b", "a b");
    check_render("a[ {known} {unknown}] b", "a b");
    check_render("a[ b {known}[ c {unknown}] d] e", "a b v d e");
    check_render("a[ b {unknown}[ c {known}] d] e", "a e");
    check_render("{known:one:many} {unknown:one:many}", "many many");
    check_render("a ] b", "a ] b");
    check_render("a {not closed", "a {not closed");
    check_render("a [not closed", "a not closed");
}

/* ---- texts */

static bool is_id(const char *id)
{
    for (size_t i = 0; i < NR_IDS; i++)
        if (!strcmp(ids[i], id))
            return true;
    return !strcmp(id, "note");
}

/* Prints which placeholders a sentence has, sorted, so that two can be compared. A bracketed one is marked: whether it
 * may be missing must agree as well. */
static void placeholders(const char *text, char *out, size_t size)
{
    char names[24][64];
    size_t nr = 0;
    int depth = 0;

    for (; *text; text++) {
        depth += (*text == '[') - (*text == ']');
        size_t length = strcspn(text, "}:");
        if (*text != '{' || text[length] == ':') /* number words exist in some languages only */
            continue;
        assert_true(nr < 24 && length < 60);
        snprintf(names[nr++], sizeof *names, "%s%.*s", depth ? "?" : "", (int)length + 1, text);
    }
    assert_int_equal(depth, 0);
    qsort(names, nr, sizeof *names, (int (*)(const void *, const void *))strcmp);
    *out = '\0';
    for (size_t i = 0; i < nr; i++)
        if (!i || strcmp(names[i], names[i - 1]))
            strncat(out, names[i], size - strlen(out) - 1);
}

static void test_languages_have_the_same_rows_and_placeholders(void **state)
{
    size_t nr_en, nr_zh;
    const struct text_row *en = text_rows(LANG_EN, &nr_en);
    (void)text_rows(LANG_ZH, &nr_zh);

    assert_int_equal(nr_en, nr_zh);
    for (size_t i = 0; i < nr_en; i++) {
        char a[1024], b[1024];
        const char *other = text_find(LANG_ZH, en[i].id, en[i].part, en[i].key);
        if (!other)
            fail_msg("no Chinese text: %s, part %d, key \"%s\"", en[i].id, en[i].part, en[i].key);
        placeholders(en[i].text, a, sizeof a);
        placeholders(other, b, sizeof b);
        if (strcmp(a, b))
            fail_msg("placeholders differ: %s, part %d, key \"%s\": %s against %s", en[i].id, en[i].part, en[i].key, a,
                     b);
    }
}

static void test_chinese_is_chinese(void **state)
{
    size_t nr;
    const struct text_row *rows = text_rows(LANG_ZH, &nr);

    for (size_t i = 0; i < nr; i++) {
        bool wide = false;
        for (const char *at = rows[i].text; *at; at++)
            wide |= (unsigned char)*at >= 0xe4;
        /* A brief may be numbers and names alone, and so may a command. */
        if (!wide && rows[i].part != TEXT_brief)
            fail_msg("not translated: %s, part %d, key \"%s\"", rows[i].id, rows[i].part, rows[i].key);
    }
}

static void test_rows_are_distinct_and_of_known_findings(void **state)
{
    for (int lang = 0; lang < LANG_MAX; lang++) {
        size_t nr;
        const struct text_row *rows = text_rows((enum lang)lang, &nr);
        for (size_t i = 0; i < nr; i++) {
            if (!is_id(rows[i].id))
                fail_msg("texts of a finding that this test does not know: %s", rows[i].id);
            if (text_find((enum lang)lang, rows[i].id, rows[i].part, rows[i].key) != rows[i].text)
                fail_msg("twice: %s, part %d, key \"%s\"", rows[i].id, rows[i].part, rows[i].key);
        }
    }
}

static void test_each_finding_has_the_sentences_used_by_default(void **state)
{
    static const enum text_part parts[] = {TEXT_what, TEXT_brief, TEXT_cause, TEXT_fix};

    for (size_t i = 0; i < NR_IDS; i++)
        for (size_t p = 0; p < sizeof parts / sizeof *parts; p++)
            if (!text_find(LANG_EN, ids[i], parts[p], ""))
                fail_msg("no sentence by default: %s, part %d", ids[i], parts[p]);
}

static void test_each_finding_has_a_page(void **state)
{
    const char *source = getenv("TRSHIM_SOURCE"); /* for runs from elsewhere */
    char path[4096];

    if (!source && access("docs/findings", R_OK))
        skip(); /* not run from the source tree */
    for (size_t i = 0; i < NR_IDS; i++) {
        snprintf(path, sizeof path, "%s/docs/findings/%s.md", source ? source : ".", ids[i]);
        if (access(path, R_OK))
            fail_msg("no page: %s", path);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_finding_per_id_and_culprit),
        cmocka_unit_test(test_order_is_severity_then_cause_then_loss_then_id),
        cmocka_unit_test(test_sentences_take_parameters),
        cmocka_unit_test(test_wrong_ids_and_keys_are_reported),
        cmocka_unit_test(test_a_report_may_end_unfinished),
        cmocka_unit_test(test_severity_follows_the_share),
        cmocka_unit_test(test_templates),
        cmocka_unit_test(test_one_is_singular),
        cmocka_unit_test(test_languages_have_the_same_rows_and_placeholders),
        cmocka_unit_test(test_chinese_is_chinese),
        cmocka_unit_test(test_rows_are_distinct_and_of_known_findings),
        cmocka_unit_test(test_each_finding_has_the_sentences_used_by_default),
        cmocka_unit_test(test_each_finding_has_a_page),
    };
    return cmocka_run_group_tests_name("findings", tests, NULL, NULL);
}
