/* test_emit_json.c - the JSON report: it parses, has every key of the schema, and its numbers are exact. */
#include "tests/unit/report_sample.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_tree.h>

#include "analysis/emit/emit.h"
#include "analysis/emit/json.h"

static yajl_val parse(char *text)
{
    char error[256];
    yajl_val root = yajl_tree_parse(text, error, sizeof error);
    if (!root)
        fail_msg("%s in %s", error, text);
    return root;
}

static yajl_val emitted(struct report *report)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    assert_int_equal(emit_json(report, out), 0);
    fclose(out);
    yajl_val root = parse(text);
    free(text);
    return root;
}

/* "breakdown.mean.compute"; array indices as numbers. */
static yajl_val at(yajl_val value, const char *path)
{
    while (*path) {
        char key[64];
        size_t length = strcspn(path, ".");
        snprintf(key, sizeof key, "%.*s", (int)length, path);
        if (YAJL_IS_ARRAY(value)) {
            size_t index = strtoul(key, NULL, 10);
            if (index >= YAJL_GET_ARRAY(value)->len)
                fail_msg("no element %s of %zu", key, YAJL_GET_ARRAY(value)->len);
            value = YAJL_GET_ARRAY(value)->values[index];
        } else {
            const char *keys[] = {key, NULL};
            value = yajl_tree_get(value, keys, yajl_t_any);
            if (!value)
                fail_msg("no key %s", key);
        }
        path += length + (path[length] == '.');
    }
    return value;
}

static long long int_at(yajl_val root, const char *path)
{
    yajl_val value = at(root, path);
    assert_true(YAJL_IS_INTEGER(value));
    return YAJL_GET_INTEGER(value);
}

static const char *text_at(yajl_val root, const char *path)
{
    yajl_val value = at(root, path);
    assert_true(YAJL_IS_STRING(value));
    return value->u.string;
}

static void test_every_key_is_there_even_when_nothing_was_recorded(void **state)
{
    static const char *const arrays[] = {
        "inputs",      "ranks",         "steps.list", "breakdown.per_rank",
        "collectives", "communicators", "transports", "kernels",
        "copies",      "memory",        "io",         "workers",
        "node",        "checkpoints",   "findings",   "notes",
    };
    static const char *const nulls[] = {"world_size", "steps.method", "breakdown.mean", "quality.clock_error_ns"};
    struct report *report = sample_empty(LANG_EN);
    yajl_val root = emitted(report);

    assert_string_equal(text_at(root, "schema"), "trshim-report/1");
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        assert_true(YAJL_IS_ARRAY(at(root, arrays[i])));
        assert_int_equal(YAJL_GET_ARRAY(at(root, arrays[i]))->len, 0);
    }
    for (size_t i = 0; i < sizeof nulls / sizeof *nulls; i++)
        assert_true(YAJL_IS_NULL(at(root, nulls[i])));
    assert_int_equal(int_at(root, "quality.events"), 0);
    yajl_tree_free(root);
    report_free(report);
}

static void test_rows_have_their_values(void **state)
{
    struct report *report = sample(LANG_EN);
    yajl_val root = emitted(report);

    assert_int_equal(int_at(root, "world_size"), 4);
    assert_int_equal(int_at(root, "steps.count"), 20);
    assert_int_equal(int_at(root, "steps.warmup"), 1);
    assert_int_equal(YAJL_GET_ARRAY(at(root, "steps.list"))->len, 80);
    assert_true(YAJL_IS_TRUE(at(root, "steps.list.0.warmup")));
    assert_int_equal(int_at(root, "steps.list.7.dataloader_ns"), 40 * MS);
    assert_true(YAJL_IS_NULL(at(root, "steps.list.7.comm_wait_ns")));
    assert_true(YAJL_IS_NULL(at(root, "steps.list.7.flop")));
    assert_int_equal(int_at(root, "breakdown.per_rank.3.rank"), 3);
    assert_true(fabs(YAJL_GET_DOUBLE(at(root, "breakdown.per_rank.3.dataloader")) - 0.4) < 1e-9);
    assert_true(fabs(YAJL_GET_DOUBLE(at(root, "breakdown.mean.dataloader")) - 0.175) < 1e-9);
    assert_string_equal(text_at(root, "ranks.2.host"), "node-b");
    assert_string_equal(text_at(root, "ranks.2.versions.torch"), "1.13.0");
    assert_true(YAJL_IS_NULL(at(root, "ranks.2.device")));
    assert_int_equal(int_at(root, "io.0.bytes_read"), 3328599654);
    assert_true(YAJL_IS_NULL(at(root, "io.0.cache_share")));
    assert_true(YAJL_IS_FALSE(at(root, "checkpoints.0.safe")));
    assert_string_equal(text_at(root, "findings.0.id"), "dataloader-bound");
    assert_string_equal(text_at(root, "findings.0.severity"), "high");
    assert_int_equal(int_at(root, "findings.0.ranks.0"), 3);
    assert_int_equal(YAJL_GET_ARRAY(at(root, "findings.0.victims"))->len, 3);
    assert_int_equal(YAJL_GET_ARRAY(at(root, "findings.0.evidence"))->len, 2);
    assert_true(YAJL_IS_NULL(at(root, "findings.1.lost_ns")));
    assert_true(YAJL_IS_NULL(at(root, "findings.1.caused_by")));
    yajl_tree_free(root);
    report_free(report);
}

static void test_a_step_row_is_one_line(void **state)
{
    struct report *report = sample(LANG_EN);
    char *text = NULL;
    size_t size, rows = 0;
    FILE *out = open_memstream(&text, &size);

    assert_int_equal(emit_json(report, out), 0);
    fclose(out);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        rows += !strncmp(line, "{\"step\":", 8);
    assert_int_equal(rows, 80);
    free(text);
    report_free(report);
}

/* ---- the writer */

static char *written(void (*write)(struct json *))
{
    char *text = NULL;
    size_t size;
    struct json *json;
    FILE *out = open_memstream(&text, &size);

    assert_int_equal(json_begin(out, &json), 0);
    write(json);
    assert_int_equal(json_end(json), 0);
    fclose(out);
    return text;
}

static void write_numbers(struct json *json)
{
    json_open(json, NULL, '[');
    json_int(json, NULL, INT64_MIN + 1);
    json_uint(json, NULL, UINT64_MAX);
    json_real(json, NULL, 0.1);
    json_real(json, NULL, NAN);
    json_real(json, NULL, INFINITY);
    json_bool(json, NULL, true);
    json_text(json, NULL, NULL);
    json_close(json, ']');
}

static void test_numbers_are_exact_and_what_is_none_is_null(void **state)
{
    char *text = written(write_numbers);
    assert_string_equal(text, "[-9223372036854775807,18446744073709551615,0.1,null,null,true,null]\n");
    free(text);
}

static void write_names(struct json *json)
{
    json_open(json, NULL, '[');
    json_text(json, NULL, "a\"b\\c\n\x1b[31m");
    json_text(json, NULL, "\xff\xfe/caf\xc3\xa9");
    json_text(json, NULL, "cut \xe4\xb8");
    json_text(json, NULL, "overlong \xc0\xaf surrogate \xed\xa0\x80");
    json_text(json, NULL, "\xc2\x85 control");
    json_close(json, ']');
}

static void test_names_are_made_valid(void **state)
{
    char *text = written(write_names);
    yajl_val root = parse(text);

    assert_string_equal(text_at(root, "0"), "a\"b\\c\n\x1b[31m");
    assert_string_equal(text_at(root, "1"), "\xef\xbf\xbd\xef\xbf\xbd/caf\xc3\xa9");
    assert_string_equal(text_at(root, "2"), "cut \xef\xbf\xbd\xef\xbf\xbd");
    assert_null(strchr(text_at(root, "3"), '\xc0'));
    assert_string_equal(text_at(root, "4"), "\xc2\x85 control");
    yajl_tree_free(root);
    free(text);
}

static void write_rows(struct json *json)
{
    json_open(json, NULL, '{');
    json_open(json, "a", '[');
    for (int i = 0; i < 2; i++) {
        json_row(json);
        json_text(json, NULL, ",");
    }
    json_close(json, ']');
    json_row(json);
    json_int(json, "b", 1);
    json_close(json, '}');
}

static void test_rows_start_lines(void **state)
{
    char *text = written(write_rows);
    assert_string_equal(text, "{\"a\":[\n\",\",\n\",\"],\n\"b\":1}\n");
    free(text);
}

static void test_a_full_disk_is_an_error(void **state)
{
    FILE *out = fopen("/dev/full", "w");
    struct report *report = sample(LANG_EN);

    assert_non_null(out);
    assert_int_equal(emit_json(report, out), -ENOSPC);
    fclose(out);
    report_free(report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_key_is_there_even_when_nothing_was_recorded),
        cmocka_unit_test(test_rows_have_their_values),
        cmocka_unit_test(test_a_step_row_is_one_line),
        cmocka_unit_test(test_numbers_are_exact_and_what_is_none_is_null),
        cmocka_unit_test(test_names_are_made_valid),
        cmocka_unit_test(test_rows_start_lines),
        cmocka_unit_test(test_a_full_disk_is_an_error),
    };
    return cmocka_run_group_tests_name("emit_json", tests, NULL, NULL);
}
