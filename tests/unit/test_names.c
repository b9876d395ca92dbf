/* Names, their groups and mounts; and the tables they rest on: the map and the histogram. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/model/groups.h"
#include "analysis/model/histogram.h"
#include "analysis/model/map.h"
#include "analysis/model/mounts.h"
#include "analysis/model/names.h"

static void learn(struct names *names, uint32_t pid, uint32_t id, enum tr_name_kind kind, const char *text)
{
    struct tr_name event = {.pid = pid, .tid = pid, .kind = (uint8_t)kind, .id = id, .text = text};
    assert_int_equal(names_learn(names, 0, &event), 0);
}

static const char *group_of(const struct names *names, uint32_t pid, uint32_t id)
{
    const struct name *name = names_own(names, 0, pid, id);
    assert_non_null(name);
    assert_non_null(name->group);
    return name->group->text;
}

static void a_map_finds_what_was_put(void **state)
{
    struct map map = {0};
    static int values[5000];
    assert_null(map_find(&map, (struct map_key){1, 2}));
    for (uint64_t i = 0; i < 5000; i++)
        assert_int_equal(map_put(&map, (struct map_key){i % 7, i}, &values[i]), 0);
    for (uint64_t i = 0; i < 5000; i++)
        assert_ptr_equal(map_find(&map, (struct map_key){i % 7, i}), &values[i]);
    assert_null(map_find(&map, (struct map_key){0, 1}));
    map_put(&map, (struct map_key){3, 3}, &values[0]);
    assert_ptr_equal(map_find(&map, (struct map_key){3, 3}), &values[0]);
    assert_int_equal(map.nr, 5000);
    map_done(&map);
}

static void percentiles_are_within_four_percent(void **state)
{
    struct histogram histogram = {0};
    assert_true(isnan(histogram_percentile(&histogram, 0.5)));
    for (uint64_t i = 1; i <= 100000; i++)
        histogram_add(&histogram, i * 1000, 1);
    const double shares[] = {0.01, 0.25, 0.5, 0.95, 0.99};
    for (size_t i = 0; i < 5; i++) {
        double expected = shares[i] * 1e8, got = histogram_percentile(&histogram, shares[i]);
        assert_true(fabs(got - expected) < 0.04 * expected);
    }
    histogram_add(&histogram, UINT64_MAX, 1); /* beyond the last slot: kept in it */
    assert_int_equal(histogram.count, 100001);
}

static void equal_texts_are_one_name_and_ids_are_per_process(void **state)
{
    struct names names = {0};
    learn(&names, 1, 10, TR_name_kind_file, "/a/b");
    learn(&names, 2, 77, TR_name_kind_file, "/a/b");
    learn(&names, 2, 10, TR_name_kind_file, "/a/c");
    assert_ptr_equal(names_own(&names, 0, 1, 10), names_own(&names, 0, 2, 77));
    assert_string_equal(names_own(&names, 0, 2, 10)->text, "/a/c");
    assert_null(names_own(&names, 0, 3, 10));
    assert_null(names_own(&names, 1, 1, 10));
    names_done(&names);
}

static void many_directories_stand_together(void **state)
{
    struct names names = {0};
    struct groups groups = {0};
    struct mounts mounts = {0};
    char path[64];
    for (uint32_t i = 0; i < 20; i++) {
        snprintf(path, sizeof(path), "/data/train/class%02u", i);
        learn(&names, 1, 100 + i, TR_name_kind_dir, path);
    }
    learn(&names, 1, 1, TR_name_kind_file, "/data/index.bin");
    learn(&names, 1, 2, TR_name_kind_dir, "/data/val");
    assert_int_equal(groups_build(&groups, &names, &mounts), 0);
    assert_string_equal(group_of(&names, 1, 100), "/data/train/*");
    assert_string_equal(group_of(&names, 1, 119), "/data/train/*");
    assert_string_equal(group_of(&names, 1, 1), "/data/index.bin");
    assert_string_equal(group_of(&names, 1, 2), "/data/val");
    groups_done(&groups);
    names_done(&names);
}

static void one_child_that_is_most_of_it_is_told_by_itself(void **state)
{
    struct names names = {0};
    struct groups groups = {0};
    struct mounts mounts = {0};
    char path[64];
    for (uint32_t i = 0; i < 5; i++) { /* as /tmp on any machine */
        snprintf(path, sizeof(path), "/tmp/tmp%u", i);
        learn(&names, 1, i + 1, TR_name_kind_dir, path);
    }
    for (uint32_t i = 0; i < 30; i++) {
        snprintf(path, sizeof(path), "/tmp/job1/data/c%u", i);
        learn(&names, 1, 100 + i, TR_name_kind_dir, path);
    }
    assert_int_equal(groups_build(&groups, &names, &mounts), 0);
    assert_string_equal(group_of(&names, 1, 100), "/tmp/job1/data/*");
    groups_done(&groups);
    names_done(&names);
}

static void large_files_are_told_until_they_are_many(void **state)
{
    struct names names = {0};
    struct groups groups = {0};
    struct mounts mounts = {0};
    char path[64];
    for (uint32_t i = 0; i < 4; i++) {
        snprintf(path, sizeof(path), "/few/shard-%u.tar", i);
        learn(&names, 1, 1 + i, TR_name_kind_file, path);
    }
    for (uint32_t i = 0; i < 40; i++) {
        snprintf(path, sizeof(path), "/many/shard-%u.tar", i);
        learn(&names, 1, 100 + i, TR_name_kind_file, path);
    }
    assert_int_equal(groups_build(&groups, &names, &mounts), 0);
    assert_string_equal(group_of(&names, 1, 2), "/few/shard-1.tar");
    assert_string_equal(group_of(&names, 1, 102), "/many");
    groups_done(&groups);
    names_done(&names);
}

static void code_is_no_data(void **state)
{
    struct names names = {0};
    struct groups groups = {0};
    struct mounts mounts = {0};
    const char *const code[] = {"/usr/lib/python3/dist-packages/torch", "/home/u/.venv/lib/python3.11/site-packages/x",
                                "/proc/self", "/home/u/project/train.py", "/opt/lib/libfoo.so.3"};
    const char *const data[] = {"/home/u/.cache/datasets/x.arrow", "/library/books.bin", "/lustre/user/run"};
    for (uint32_t i = 0; i < 5; i++)
        learn(&names, 1, 1 + i, TR_name_kind_file, code[i]);
    for (uint32_t i = 0; i < 3; i++)
        learn(&names, 1, 11 + i, TR_name_kind_file, data[i]);
    learn(&names, 1, 20, TR_name_kind_file, "/dev/shm/torch_1_2");
    assert_int_equal(groups_build(&groups, &names, &mounts), 0);
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(names_own(&names, 0, 1, 1 + i)->group->kind, GROUP_SOFTWARE);
    for (uint32_t i = 0; i < 3; i++)
        assert_true(group_is_data(names_own(&names, 0, 1, 11 + i)->group));
    assert_int_equal(names_own(&names, 0, 1, 20)->group->kind, GROUP_MEMORY);
    groups_done(&groups);
    names_done(&names);
}

static void ports_of_clients_are_one_peer(void **state)
{
    struct names names = {0};
    struct groups groups = {0};
    struct mounts mounts = {0};
    char text[64];
    learn(&names, 1, 1, TR_name_kind_peer, "store:9000"); /* what a client sees */
    for (uint32_t i = 0; i < 30; i++) {                   /* what the server sees */
        snprintf(text, sizeof(text), "node-b:%u", 40000 + i);
        learn(&names, 2, 100 + i, TR_name_kind_peer, text);
    }
    assert_int_equal(groups_build(&groups, &names, &mounts), 0);
    assert_string_equal(group_of(&names, 1, 1), "store:9000");
    assert_string_equal(group_of(&names, 2, 105), "node-b:*");
    groups_done(&groups);
    names_done(&names);
}

static void a_mount_is_found_by_device_else_by_path(void **state)
{
    struct mounts mounts = {0};
    const struct tr_mount list[] = {
        {.dev = 1, .point = "/", .fstype = "ext4", .source = "/dev/vda"},
        {.dev = 2, .point = "/data", .fstype = "nfs4", .source = "store:/a"},
        {.dev = 2, .point = "/data/sub", .fstype = "nfs4", .source = "store:/a"},
        {.dev = 3, .point = "/database", .fstype = "xfs", .source = "/dev/vdb"},
    };
    for (size_t i = 0; i < 4; i++) {
        mounts_learn(&mounts, 0, &list[i]);
        mounts_learn(&mounts, 0, &list[i]);
    }
    assert_int_equal(mounts.nr, 4);
    assert_string_equal(mounts_find(&mounts, 0, 0, "/data/train/x")->point, "/data");
    assert_string_equal(mounts_find(&mounts, 0, 0, "/database/x")->point, "/database");
    assert_string_equal(mounts_find(&mounts, 0, 0, "/home")->point, "/");
    assert_string_equal(mounts_find(&mounts, 0, 2, "/data/sub/x")->point, "/data/sub");
    assert_string_equal(mounts_find(&mounts, 0, 3, "/elsewhere")->fstype, "xfs"); /* a bind mount we were not told of */
    assert_null(mounts_find(&mounts, 1, 1, "/home"));
    mounts_done(&mounts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_map_finds_what_was_put),
        cmocka_unit_test(percentiles_are_within_four_percent),
        cmocka_unit_test(equal_texts_are_one_name_and_ids_are_per_process),
        cmocka_unit_test(many_directories_stand_together),
        cmocka_unit_test(one_child_that_is_most_of_it_is_told_by_itself),
        cmocka_unit_test(large_files_are_told_until_they_are_many),
        cmocka_unit_test(code_is_no_data),
        cmocka_unit_test(ports_of_clients_are_one_peer),
        cmocka_unit_test(a_mount_is_found_by_device_else_by_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
