/* test_session_commands.c - what the commands of a session make of words: quantities, output directories. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/cmd/output.h"
#include "analysis/cmd/quantity.h"
#include "traces/session_home.h"

static void times(void **state)
{
    static const struct {
        const char *text;
        uint64_t ns;
    } good[] = {{"90", 90000000000},   {"90s", 90000000000}, {"1.5m", 90000000000},
                {"2h", 7200000000000}, {"500ms", 500000000}, {"0", 0}};
    static const char *const bad[] = {"", "-1", "s", "1x", "1 s", "nan", "inf", "1e30", "0x10h"};
    uint64_t ns;

    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
        assert_int_equal(quantity_time_ns(good[i].text, &ns), 0);
        assert_int_equal(ns, good[i].ns);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        assert_int_equal(quantity_time_ns(bad[i], &ns), -EINVAL);
}

static void sizes(void **state)
{
    uint64_t bytes;
    assert_int_equal(quantity_bytes("4096", &bytes), 0);
    assert_int_equal(bytes, 4096);
    assert_int_equal(quantity_bytes("20M", &bytes), 0);
    assert_int_equal(bytes, 20u << 20);
    assert_int_equal(quantity_bytes("1.5GiB", &bytes), 0);
    assert_int_equal(bytes, 3ull << 29);
    assert_int_equal(quantity_bytes("64k", &bytes), 0);
    assert_int_equal(bytes, 65536);
    assert_int_equal(quantity_bytes("M", &bytes), -EINVAL);
    assert_int_equal(quantity_bytes("12Q", &bytes), -EINVAL);
}

static void steps_and_ranks(void **state)
{
    assert_int_equal(quantity_step_range("100:120"), 0);
    assert_int_equal(quantity_step_range("120:100"), -EINVAL);
    assert_int_equal(quantity_step_range("100"), -EINVAL);
    assert_int_equal(quantity_step_range("1:2:3"), -EINVAL);
    assert_int_equal(quantity_every("100:5"), 0);
    assert_int_equal(quantity_every("5:100"), -EINVAL);
    assert_int_equal(quantity_every("5:0"), -EINVAL);
    assert_int_equal(quantity_ranks("0,2,8-15"), 0);
    assert_int_equal(quantity_ranks("3"), 0);
    assert_int_equal(quantity_ranks(""), -EINVAL);
    assert_int_equal(quantity_ranks("0,"), -EINVAL);
    assert_int_equal(quantity_ranks("8-2"), -EINVAL);
    assert_int_equal(quantity_ranks("a"), -EINVAL);
}

static char scratch[64];

static int make_scratch(void **state)
{
    strcpy(scratch, "/tmp/trshim-unit.XXXXXX");
    return mkdtemp(scratch) ? 0 : -1;
}

static int remove_scratch(void **state)
{
    tree_remove(AT_FDCWD, scratch);
    return 0;
}

static void touch(const char *dir, const char *name)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    int fd = open(path, O_CREAT | O_WRONLY, 0600);
    assert_true(fd >= 0);
    close(fd);
}

static void a_new_directory_is_made_and_unmade(void **state)
{
    char dir[128];
    struct output o;
    bool again;
    snprintf(dir, sizeof(dir), "%s/a/b", scratch);
    assert_int_equal(output_open(&o, dir, NULL), 0);
    assert_string_equal(o.dir, dir);
    assert_int_equal(output_new_session(&o, &again, NULL), 0);
    assert_false(again);
    assert_string_equal(o.session, o.node);
    output_undo(&o);
    output_close(&o);
    assert_int_equal(access(dir, F_OK), -1);
}

static void a_second_session_goes_beside_the_first(void **state)
{
    char dir[128], want[PATH_MAX + 8];
    struct output o;
    bool again;
    snprintf(dir, sizeof(dir), "%s/twice/", scratch);
    assert_int_equal(output_open(&o, dir, NULL), 0);
    touch(o.node, "session.json");
    assert_int_equal(output_new_session(&o, &again, NULL), 0);
    assert_true(again);
    snprintf(want, sizeof(want), "%s.2", o.node);
    assert_string_equal(o.session, want);
    output_close(&o);
    touch(dir, "report.txt"); /* beside a trace of ours, other files are welcome */
    assert_int_equal(output_open(&o, dir, NULL), 0);
    output_close(&o);
}

static void a_directory_of_something_else_is_refused(void **state)
{
    char dir[128], *error = NULL;
    struct output o;
    snprintf(dir, sizeof(dir), "%s/other", scratch);
    assert_int_equal(mkdir(dir, 0700), 0);
    touch(dir, ".hidden");
    assert_int_equal(output_open(&o, dir, NULL), 0);
    output_undo(&o);
    output_close(&o);
    touch(dir, "host-not-a-boot-id");
    assert_int_equal(output_open(&o, dir, &error), -ENOTEMPTY);
    assert_non_null(strstr(error, "host-not-a-boot-id"));
    free(error);
}

static void the_keepers_place_is_found_and_forgotten(void **state)
{
    char dir[128], home[HOME_PATH_MAX];
    struct output o;
    snprintf(dir, sizeof(dir), "%s/keeper", scratch);
    assert_int_equal(output_open(&o, dir, NULL), 0);
    assert_int_equal(output_find_keeper(&o, home, sizeof(home)), -ENOENT);
    assert_int_equal(output_set_keeper(&o, "/tmp/trshim.abc"), 0);
    assert_int_equal(output_find_keeper(&o, home, sizeof(home)), 0);
    assert_string_equal(home, "/tmp/trshim.abc");
    output_clear_keeper(&o);
    assert_int_equal(output_find_keeper(&o, home, sizeof(home)), -ENOENT);
    output_close(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times),
        cmocka_unit_test(sizes),
        cmocka_unit_test(steps_and_ranks),
        cmocka_unit_test(a_new_directory_is_made_and_unmade),
        cmocka_unit_test(a_second_session_goes_beside_the_first),
        cmocka_unit_test(a_directory_of_something_else_is_refused),
        cmocka_unit_test(the_keepers_place_is_found_and_forgotten),
    };
    return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
