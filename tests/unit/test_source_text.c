/* test_source_text.c - events text files through trace.h: order, hosts, masks, damage, repeated scans. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/input/trace.h"

#define HEADER "#! trshim-events 1\n"

struct seen {
    size_t nr;
    uint64_t times[64];
    uint32_t hosts[64], kinds[64];
    char words[64][16]; /* of name events */
};

static int see(void *arg, const struct event *event)
{
    struct seen *seen = arg;

    seen->times[seen->nr] = event->ts_ns;
    seen->hosts[seen->nr] = event->host;
    seen->kinds[seen->nr] = event->kind;
    if (event->kind == EV_name)
        (void)snprintf(seen->words[seen->nr], sizeof(seen->words[0]), "%s", event->u.name.text);
    seen->nr++;
    return 0;
}

static char *write_file(const char *text)
{
    char *path = strdup("/tmp/trshim-unit-XXXXXX");
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    return path;
}

static struct trace *open_text(const char *text)
{
    char *path = write_file(text), *error = NULL;
    struct trace *trace = NULL;

    int rc = trace_open(&path, 1, &trace, &error);
    if (rc != 0)
        fail_msg("%d: %s", rc, error);
    unlink(path);
    free(path);
    return trace;
}

static struct seen scan(struct trace *trace, unsigned channels)
{
    struct seen seen = {0};

    assert_int_equal(trace_scan(trace, channels, see, &seen), 0);
    return seen;
}

static void in_order(void **state)
{
    struct trace *trace = open_text(HEADER "1us a name pid=1 text=x\n\n# comment\n2us a exit pid=1\n2us a exit pid=2");

    for (int i = 0; i < 2; i++) { /* it can be scanned again */
        struct seen seen = scan(trace, TRACE_ALL_CHANNELS);
        assert_int_equal(seen.nr, 3);
        assert_int_equal(seen.times[0], 1000);
        assert_int_equal(seen.kinds[2], EV_exit);
        assert_int_equal(trace_nr_inputs(trace), 1);
        const struct trace_input *input = trace_input(trace, 0);
        assert_string_equal(input->kind, "events");
        assert_int_equal(input->events, 3);
        assert_int_equal(input->first_ns, 1000);
        assert_int_equal(input->last_ns, 2000);
        assert_int_equal(input->host, 0);
        assert_null(input->problem);
    }
    assert_int_equal(trace_nr_hosts(trace), 1);
    assert_string_equal(trace_host(trace, 0)->name, "a");
    trace_free(trace);
}

static void out_of_order_is_sorted_stably(void **state)
{
    struct trace *trace =
        open_text(HEADER "3 a name text=d\n1 a name text=a\n2 a name text=b\n1 a name text=aa\n2 a name text=c\n");
    struct seen seen = scan(trace, TRACE_ALL_CHANNELS);

    assert_int_equal(seen.nr, 5);
    static const char *const want[] = {"a", "aa", "b", "c", "d"};
    for (size_t i = 0; i < 5; i++)
        assert_string_equal(seen.words[i], want[i]);
    trace_free(trace);
}

static void channels_are_told_apart(void **state)
{
    struct trace *trace = open_text(HEADER "1 a name\n2 a anchor\n3 a file_io\n");

    assert_int_equal(scan(trace, 1u << CH_STATE).kinds[0], EV_name);
    assert_int_equal(trace_input(trace, 0)->events, 1);
    assert_int_equal(scan(trace, 1u << CH_STEPS | 1u << CH_DATA).nr, 2);
    trace_free(trace);
}

static void hosts_share_an_axis(void **state)
{
    struct trace *trace = open_text(HEADER "host a boot=x epoch_ns=1000\n100 a exit\n5 b exit\n200 a exit\n"
                                           "host b boot=y epoch_ns=1100\n90 \"b\" exit\n");
    struct seen seen = scan(trace, TRACE_ALL_CHANNELS);

    assert_int_equal(seen.nr, 4);
    assert_int_equal(seen.times[0], 100);
    assert_int_equal(seen.times[1], 5);
    assert_int_equal(seen.times[2], 90);
    assert_int_equal(seen.times[3], 200);
    assert_int_equal(seen.hosts[1], seen.hosts[2]);
    assert_int_equal(trace_input(trace, 0)->host, TRACE_NO_HOST);
    assert_string_equal(trace_host(trace, seen.hosts[1])->boot, "y");
    trace_free(trace);
}

static void a_process_names_its_host(void **state)
{
    struct trace *trace = open_text(HEADER "1 a proc pid=1 host=node-a boot=6f2d\n");

    (void)scan(trace, 1u << CH_STATE);
    assert_string_equal(trace_host(trace, 0)->name, "node-a");
    assert_string_equal(trace_host(trace, 0)->boot, "6f2d");
    trace_free(trace);
}

static void what_is_wrong_is_told(void **state)
{
    struct trace *trace =
        open_text(HEADER "1 a exit\n2 a exit sattus=1\n3 a extit\n4 a exit\nlots a 1\nlost a 12\nunknown a 3\n");
    struct seen seen = scan(trace, TRACE_ALL_CHANNELS);
    const struct trace_input *input = trace_input(trace, 0);

    assert_int_equal(seen.nr, 2);
    assert_int_equal(input->lost, 12);
    assert_int_equal(input->unknown, 4);
    assert_string_equal(input->problem,
                        "Line 3, column 10: The event exit has no field 'sattus'; 3 lines are left out");
    trace_free(trace);
}

static void a_problem_is_handed_on(void **state)
{
    struct trace *trace = open_text(HEADER "1 a exit\nproblem \"disk full\"\n");

    (void)scan(trace, TRACE_ALL_CHANNELS);
    assert_string_equal(trace_input(trace, 0)->problem, "disk full");
    trace_free(trace);
}

static int stop_at_second(void *arg, const struct event *event)
{
    return ++*(int *)arg == 2 ? 17 : 0;
}

static void a_scan_can_be_stopped(void **state)
{
    struct trace *trace = open_text(HEADER "1 a exit\n2 a exit\n3 a exit\n");
    int nr = 0;

    assert_int_equal(trace_scan(trace, TRACE_ALL_CHANNELS, stop_at_second, &nr), 17);
    assert_int_equal(nr, 2);
    assert_int_equal(scan(trace, TRACE_ALL_CHANNELS).nr, 3);
    trace_free(trace);
}

static void several_files_are_one_stream(void **state)
{
    char *paths[] = {write_file(HEADER "1 a exit\n3 a exit\n"), write_file(HEADER "2 a exit\n4 b exit\n")}, *error;
    struct trace *trace;

    assert_int_equal(trace_open(paths, 2, &trace, &error), 0);
    struct seen seen = scan(trace, TRACE_ALL_CHANNELS);
    assert_int_equal(seen.nr, 4);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(seen.times[i], i + 1);
    assert_int_equal(seen.hosts[0], seen.hosts[1]);
    assert_int_equal(trace_nr_hosts(trace), 2);
    trace_free(trace);
    for (size_t i = 0; i < 2; i++) {
        unlink(paths[i]);
        free(paths[i]);
    }
}

static void expect_error(const char *text, int rc, const char *word)
{
    char *path = text ? write_file(text) : strdup("/nonexistent/x.events"), *error = NULL;
    struct trace *trace = NULL;

    assert_int_equal(trace_open(&path, 1, &trace, &error), rc);
    assert_null(trace);
    assert_non_null(error);
    assert_non_null(strstr(error, path));
    assert_non_null(strstr(error, word));
    assert_null(strchr(error, '\n'));
    free(error);
    unlink(path);
    free(path);
}

static void what_is_no_input_is_refused(void **state)
{
    expect_error(NULL, -ENOENT, "No such file");
    expect_error("", -EINVAL, "first line");
    expect_error("{}", -EINVAL, "traceEvents");
    expect_error("hello", -EINVAL, "first line");
    expect_error("#! trshim-events 2\n", -EPROTONOSUPPORT, "newer");
}

static void odd_bytes(void **state)
{
    static const char text[] = HEADER "1 a exit\n\0\0\0\n2 a name text=\"\0\"\n3 a \"b\n4 \"a exit\n5 a exit\r\n";
    char *path = strdup("/tmp/trshim-unit-XXXXXX"), *error;
    int fd = mkstemp(path);
    struct trace *trace;

    assert_int_equal(write(fd, text, sizeof(text)), sizeof(text));
    close(fd);
    assert_int_equal(trace_open(&path, 1, &trace, &error), 0);
    struct seen seen = scan(trace, TRACE_ALL_CHANNELS);
    assert_int_equal(seen.nr, 3);
    assert_string_equal(seen.words[1], "?");
    assert_non_null(trace_input(trace, 0)->problem);
    trace_free(trace);
    unlink(path);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_order),
        cmocka_unit_test(out_of_order_is_sorted_stably),
        cmocka_unit_test(channels_are_told_apart),
        cmocka_unit_test(hosts_share_an_axis),
        cmocka_unit_test(a_process_names_its_host),
        cmocka_unit_test(what_is_wrong_is_told),
        cmocka_unit_test(a_problem_is_handed_on),
        cmocka_unit_test(a_scan_can_be_stopped),
        cmocka_unit_test(several_files_are_one_stream),
        cmocka_unit_test(what_is_no_input_is_refused),
        cmocka_unit_test(odd_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
