/* test_kineto.c - the parts of the Kineto reader: JSON in pieces, numbers, words, sorting outside of memory, joins. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/input/external_sort.h"
#include "analysis/input/json_stream.h"
#include "analysis/input/json_tame.h"
#include "analysis/input/kineto_index.h"
#include "analysis/input/kineto_names.h"
#include "analysis/input/kineto_words.h"
#include "analysis/input/trace.h"

static char *write_file(const char *text, size_t len)
{
    char *path = strdup("/tmp/trshim-unit-XXXXXX");
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, len), len);
    close(fd);
    return path;
}

/* ---- JSON ----------------------------------------------------------------------------------- */

struct said {
    char text[4096];
    int rc; /* what the handler answers to the value "stop" */
};

static void say(struct said *said, const char *format, ...)
{
    size_t len = strlen(said->text);
    va_list args;

    va_start(args, format);
    (void)vsnprintf(said->text + len, sizeof(said->text) - len, format, args);
    va_end(args);
}

static int on_value(void *arg, const struct json_place *place, enum json_type type, const char *text, size_t len)
{
    struct said *said = arg;

    for (unsigned i = 0; i < place->depth && i < JSON_PLACES; i++)
        say(said, "/%s", place->keys[i]);
    say(said, "%c%.*s ", "_?=:"[type], (int)len, text);
    return len == 4 && memcmp(text, "stop", 4) == 0 ? said->rc : 0;
}

static int on_bracket(void *arg, const struct json_place *place, char bracket)
{
    return 0;
}

static const struct json_handler handler = {on_value, on_bracket, on_bracket};

/* What was read, as "path=value" words, and what was wrong. */
static const char *read_json(const char *json, size_t len, char **ret_problem)
{
    static struct said said;
    char *path = write_file(json, len);
    struct packed_file *file;

    said = (struct said){.rc = -ECANCELED};
    assert_int_equal(packed_file_open(path, &file), 0);
    int rc = json_read(file, &handler, &said, ret_problem);
    if (rc < 0)
        say(&said, "rc=%d", rc);
    packed_file_close(file);
    unlink(path);
    free(path);
    return said.text;
}

static void expect_json(const char *json, const char *values, const char *problem)
{
    char *said_problem;
    const char *said = read_json(json, strlen(json), &said_problem);

    assert_string_equal(said, values);
    if (!problem)
        assert_null(said_problem);
    else if (!said_problem || !strstr(said_problem, problem))
        fail_msg("%s: '%s' is not in '%s'", json, problem, said_problem ? said_problem : "nothing");
    free(said_problem);
}

static void json_values_have_places(void **state)
{
    expect_json("{\"a\": 1, \"b\": [true, null, {\"c\": -1.5e3}], \"d\": {\"e\": {\"f\": \"x\\n\\u00e9\"}}}",
                "/a=1 /b/?1 /b/_ /b//c=-1.5e3 /d/e/f:x\n\u00e9 ", NULL);
    expect_json("[[1], 2]", "//=1 /=2 ", NULL);
    expect_json("\xef\xbb\xbf[1]", "/=1 ", NULL);
}

static void json_of_careless_writers(void **state)
{
    expect_json("[nan, -inf, Infinity, 1.#IND, -nan(ind), true]", "/: /: /: /: /: /?1 ", NULL);
    expect_json("[\"C:\\Users\\new\", \"a\tb\"]", "/:C:/Users\new /:a b ", NULL);
    expect_json("[\"\xff\xfe\"]", "/:\xff\xfe ", NULL);
    expect_json("[{\"a\": 1}, {\"a\": 2},\n", "//a=1 //a=2 ", NULL);
}

static void json_that_is_damaged(void **state)
{
    expect_json("{\"a\": [1, 2", "/a/=1 /a/=2 ", "ends in the middle");
    expect_json("{\"a\": 1, \"b\" 2}", "/a=1 ", "damaged at byte");
    expect_json("[1, 2]]", "/=1 /=2 ", "damaged at byte");
    expect_json("[1, x]", "/=1 ", "damaged at byte");
    expect_json("", "", "ends in the middle");
    expect_json("[\"stop\", 1]", "/:stop rc=-125", NULL);
}

static void json_asks_for_too_much(void **state)
{
    size_t len = JSON_STRING_MAX + 100;
    char *json = malloc(len), *problem;

    memset(json, '[', len);
    (void)read_json(json, len, &problem);
    assert_non_null(strstr(problem, "nested too deep"));
    free(problem);
    memset(json, 'x', len);
    memcpy(json, "[\"", 2);
    (void)read_json(json, len, &problem);
    assert_non_null(strstr(problem, "too long"));
    free(problem);
    memset(json, '1', len);
    json[0] = '[';
    (void)read_json(json, len, &problem);
    assert_non_null(strstr(problem, "too long"));
    free(problem);
    free(json);
}

/* However the bytes are cut, they come out the same. */
static void taming_in_pieces(void **state)
{
    static const char in[] = "[\"a\\\\\", -nan, \"\\q\", 12, inf,\"\\\"inf\", true]";
    static const char out[] = "[\"a\\\\\", \"\"  , \"/q\", 12, \"\" ,\"\\\"inf\", true]";

    for (size_t piece = 1; piece < sizeof(in); piece++) {
        struct json_tame tame = {0};
        char buffer[sizeof(in)], got[sizeof(in)] = "";
        size_t held = 0, len = 0, at;
        for (size_t from = 0; from <= sizeof(in) - 1; from += piece) {
            size_t take = sizeof(in) - 1 - from < piece ? sizeof(in) - 1 - from : piece;
            memcpy(buffer + held, in + from, take);
            long settled = json_tame(&tame, buffer, held + take, from + take == sizeof(in) - 1, &at);
            assert_in_range(settled, 0, held + take);
            memcpy(got + len, buffer, settled);
            len += settled;
            held = held + take - settled;
            memmove(buffer, buffer + settled, held);
        }
        assert_int_equal(held, 0);
        assert_string_equal(got, out);
    }
}

/* ---- numbers and words ---------------------------------------------------------------------- */

static void expect_number(const char *text, int64_t unit_ns, int64_t want)
{
    int64_t got = 0;

    if (!kineto_number(text, strlen(text), unit_ns, &got) || got != want)
        fail_msg("%s: %lld", text, (long long)got);
}

static void numbers_are_exact(void **state)
{
    int64_t unused;

    expect_number("1623142623460111", 1000, 1623142623460111000);
    expect_number("4458676522690.655", 1000, 4458676522690655);
    expect_number("1.6254", 1000, 1625);
    expect_number("-3.5", 1000, -3500);
    expect_number("1.5e3", 1000, 1500000);
    expect_number("17", 1, 17);
    expect_number("2.9", 1, 2);
    const char *const bad[] = {"", "-", "x", "1x", "99999999999999999999", "1e30", "nan", "inf", "0x", "1 "};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        if (kineto_number(bad[i], strlen(bad[i]), 1000, &unused))
            fail_msg("'%s' is no number", bad[i]);
}

static void functions_have_acts(void **state)
{
    static const struct {
        const char *function;
        enum tr_cuda_act act;
    } known[] = {
        {"cudaLaunchKernel", TR_cuda_act_launch},
        {"cudaLaunchKernelExC", TR_cuda_act_launch},
        {"cuLaunchKernelEx", TR_cuda_act_launch},
        {"hipExtModuleLaunchKernel", TR_cuda_act_launch},
        {"cudaGraphLaunch", TR_cuda_act_graph_launch},
        {"cudaMemcpyAsync", TR_cuda_act_copy},
        {"cudaMemsetAsync", TR_cuda_act_set},
        {"cudaStreamSynchronize", TR_cuda_act_sync},
        {"cudaDeviceSynchronize", TR_cuda_act_sync},
        {"cudaEventQuery", TR_cuda_act_query},
        {"cudaMalloc", TR_cuda_act_malloc},
        {"cudaMallocAsync", TR_cuda_act_malloc},
        {"cuMemCreate", TR_cuda_act_malloc},
        {"cudaMallocHost", TR_cuda_act_host_alloc},
        {"cudaHostAlloc", TR_cuda_act_host_alloc},
        {"cudaFree", TR_cuda_act_free},
        {"cudaFreeHost", TR_cuda_act_other},
        {"cudaStreamIsCapturing", TR_cuda_act_other},
        {"cudaOccupancyMaxActiveBlocksPerMultiprocessor", TR_cuda_act_other},
        {"", TR_cuda_act_other},
    };

    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (kineto_cuda_act(known[i].function) != known[i].act)
            fail_msg("%s: %d", known[i].function, kineto_cuda_act(known[i].function));
}

static void copies_have_ends(void **state)
{
    uint8_t kind, src, dst;

    kineto_copy_kind("Memcpy HtoD (Pageable -> Device)", &kind, &src, &dst);
    assert_int_equal(kind, TR_copy_kind_HtoD);
    assert_int_equal(src, TR_memory_kind_pageable);
    assert_int_equal(dst, TR_memory_kind_device);
    kineto_copy_kind("Memcpy DtoH (Device -> Pinned)", &kind, &src, &dst);
    assert_int_equal(kind, TR_copy_kind_DtoH);
    assert_int_equal(dst, TR_memory_kind_pinned);
    kineto_copy_kind("Memcpy Unknown (", &kind, &src, &dst);
    assert_int_equal(kind, TR_copy_kind_other);
    assert_int_equal(src, TR_memory_kind_unknown);
}

static void names_are_kept_once(void **state)
{
    struct kineto_names names = {0};
    uint32_t id, again;
    char text[32];

    for (int pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < 5000; i++) {
            (void)snprintf(text, sizeof(text), "kernel_%u", i);
            assert_int_equal(kineto_names_add(&names, TR_name_kind_kernel, text, &id), 0);
            assert_int_equal(id, i + 1);
        }
    assert_int_equal(names.nr, 5000);
    assert_string_equal(kineto_names_text(&names, 4712), "kernel_4711");
    assert_int_equal(kineto_names_add(&names, TR_name_kind_range, "kernel_1", &again), 0);
    assert_int_equal(again, 5001); /* a range of that name is another thing */
    kineto_names_done(&names);
}

/* ---- sorting -------------------------------------------------------------------------------- */

static int compare_numbers(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static void sort_numbers(size_t nr, size_t in_memory)
{
    struct sorter *sorter;
    struct sorted sorted;

    assert_int_equal(sorter_new(sizeof(uint64_t), in_memory, compare_numbers, &sorter), 0);
    for (uint64_t i = 0; i < nr; i++) {
        uint64_t number = (i * 7919 + 13) % nr; /* each once: 7919 is a prime that divides none of the sizes */
        assert_int_equal(sorter_add(sorter, &number), 0);
    }
    assert_int_equal(sorter_finish(sorter, &sorted), 0);
    assert_int_equal(sorted.nr, nr);
    for (uint64_t i = 0; i < nr; i++)
        assert_int_equal(((const uint64_t *)sorted.records)[i], i);
    sorted_done(&sorted);
    sorter_free(sorter);
}

static void sorts_inside_and_outside_of_memory(void **state)
{
    static const size_t sizes[] = {0, 1, 2, 99, 100, 101, 1000, 12345};

    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        sort_numbers(sizes[i], 100);     /* up to 124 runs */
        sort_numbers(sizes[i], 1 << 20); /* never a file */
    }
    sort_numbers(200000, 1 << 20); /* one run, large enough for a file */
}

/* ---- events --------------------------------------------------------------------------------- */

#define ROW(cat, name, tid, ts, dur, args)                                                                             \
    "{\"ph\":\"X\",\"cat\":\"" cat "\",\"name\":\"" name "\",\"pid\":5,\"tid\":" #tid ",\"ts\":" #ts ",\"dur\":" #dur  \
    ",\"args\":{" args "}},"
#define END "{}]"

static struct kineto_index *index_of(const char *json)
{
    char *path = write_file(json, strlen(json)), *problem;
    struct kineto_index *index = NULL;

    assert_int_equal(kineto_index_read(path, 1, &index, &problem), 0);
    assert_null(index->problem);
    unlink(path);
    free(path);
    return index;
}

static const struct kineto_event *event_at(const struct kineto_index *index, size_t i)
{
    assert_in_range(i, 0, index->events.nr - 1);
    return (const struct kineto_event *)index->events.records + i;
}

static void kernels_join_their_launches(void **state)
{
    struct kineto_index *index =
        index_of("[" ROW("kernel", "k", 7, 50, 10, "\"correlation\":2,\"device\":1,\"stream\":7")
                     ROW("cuda_runtime", "cudaLaunchKernel", 6, 40, 5, "\"correlation\":2")
                         ROW("cuda_runtime", "cudaLaunchKernel", 8, 10, 5, "\"correlation\":1")
                             ROW("kernel", "k", 7, 60, 10, "\"correlation\":3") END);

    assert_int_equal(index->events.nr, 4);
    assert_int_equal(event_at(index, 0)->tid, 8);
    const struct kineto_event *kernel = event_at(index, 2);
    assert_int_equal(kernel->kind, KE_kernel);
    assert_int_equal(kernel->pid, 5);
    assert_int_equal(kernel->tid, 6);
    assert_int_equal(kernel->gpu.queued_ns, 40000);
    assert_int_equal(kernel->device, 1);
    assert_int_equal(event_at(index, 3)->gpu.queued_ns, KINETO_UNKNOWN); /* nobody says who launched it */
    assert_int_equal(event_at(index, 3)->tid, 0);
    assert_int_equal(index->devices, 1 << 1 | 1 << 5); /* the last one's device is its pid */
    kineto_index_free(index);
}

/* A graph launch has many kernels of one id; a clock that is a little off must not lose the thread. */
static void one_launch_of_many_kernels(void **state)
{
    struct kineto_index *index = index_of("[" ROW("cuda_runtime", "cudaGraphLaunch", 6, 40, 5, "\"correlation\":2") ROW(
        "kernel", "a", 7, 39, 1, "\"correlation\":2") ROW("kernel", "b", 7, 60, 10, "\"correlation\":2") END);

    assert_int_equal(event_at(index, 0)->tid, 6);
    assert_int_equal(event_at(index, 0)->gpu.queued_ns, KINETO_UNKNOWN);
    assert_int_equal(event_at(index, 2)->gpu.queued_ns, 40000);
    kineto_index_free(index);
}

static void ranges_know_how_deep_they_are(void **state)
{
    struct kineto_index *index =
        index_of("[" ROW("user_annotation", "inner", 6, 20, 10, "") ROW("user_annotation", "outer", 6, 10, 90, "")
                     ROW("user_annotation", "next", 6, 30, 10, "") ROW("user_annotation", "same", 6, 30, 5, "")
                         ROW("user_annotation", "other thread", 7, 25, 5, "") END);
    static const struct {
        const char *name;
        uint32_t depth;
    } want[] = {{"inner", 1}, {"other thread", 0}, {"same", 2}, {"next", 1}, {"outer", 0}};

    assert_int_equal(index->events.nr, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_string_equal(kineto_names_text(&index->names, event_at(index, i)->name), want[i].name);
        assert_int_equal(event_at(index, i)->range.depth, want[i].depth);
    }
    kineto_index_free(index);
}

static void rows_without_sense_are_counted(void **state)
{
    static const char json[] = "[" ROW("kernel", "k", 7, 99999999999999999999, 10, "") ROW("kernel", "k", 7, 5, -1, "")
        ROW("kernel", "k", 7, null, 10, "") ROW("kernel", "good", 7, 5, 10, "") END;
    char *path = write_file(json, strlen(json)), *problem;
    struct kineto_index *index = NULL;

    assert_int_equal(kineto_index_read(path, 1, &index, &problem), 0);
    assert_int_equal(index->events.nr, 1);
    assert_non_null(strstr(index->problem, "3 rows are left out"));
    kineto_index_free(index);
    unlink(path);
    free(path);
}

struct order {
    uint64_t last_ns, until_ns, nr, nr_early, nr_untils;
};

static int see_order(void *arg, const struct event *event)
{
    struct order *order = arg;

    order->nr_early += event->ts_ns < order->last_ns;
    order->last_ns = event->ts_ns;
    if (event->kind == EV_gpu_until) {
        order->until_ns = event->u.gpu_until.until_ns;
        order->nr_untils++;
    } else if (event->kind == EV_kernel) {
        order->nr_early += event->u.kernel.start_ns + event->u.kernel.dur_ns < order->until_ns;
        order->nr++;
    }
    return 0;
}

/* A shuffled trace of 2 s: in order, again and again, and told how far it is complete. */
static void scans_are_in_order(void **state)
{
    char *json = NULL, *error;
    size_t len;
    FILE *file = open_memstream(&json, &len);

    fprintf(file, "[");
    for (unsigned i = 0; i < 2000; i++)
        fprintf(file, "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":%u,\"dur\":900},",
                i * 7919 % 2000 * 1000);
    fprintf(file, "{}]");
    fclose(file);
    char *path = write_file(json, len);
    struct trace *trace;
    assert_int_equal(trace_open(&path, 1, &trace, &error), 0);
    for (int i = 0; i < 2; i++) {
        struct order order = {0};
        assert_int_equal(trace_scan(trace, TRACE_ALL_CHANNELS, see_order, &order), 0);
        assert_int_equal(order.nr, 2000);
        assert_int_equal(order.nr_early, 0);
        assert_in_range(order.nr_untils, 18, 22);
        assert_int_equal(order.until_ns, order.last_ns);
    }
    struct order order = {0};
    assert_int_equal(trace_scan(trace, 1u << CH_STEPS, see_order, &order), 0);
    assert_int_equal(order.nr + order.nr_untils, 0);
    trace_free(trace);
    unlink(path);
    free(path);
    free(json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_values_have_places),
        cmocka_unit_test(json_of_careless_writers),
        cmocka_unit_test(json_that_is_damaged),
        cmocka_unit_test(json_asks_for_too_much),
        cmocka_unit_test(taming_in_pieces),
        cmocka_unit_test(numbers_are_exact),
        cmocka_unit_test(functions_have_acts),
        cmocka_unit_test(copies_have_ends),
        cmocka_unit_test(names_are_kept_once),
        cmocka_unit_test(sorts_inside_and_outside_of_memory),
        cmocka_unit_test(kernels_join_their_launches),
        cmocka_unit_test(one_launch_of_many_kernels),
        cmocka_unit_test(ranges_know_how_deep_they_are),
        cmocka_unit_test(rows_without_sense_are_counted),
        cmocka_unit_test(scans_are_in_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
