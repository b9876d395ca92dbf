/* What the sampler reads of proc and sys, in a tree of files made by the test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "shim/core/node_sources.h"

struct seen {
    unsigned count[TR_node_metric_MAX];
    uint64_t value[TR_node_metric_MAX];
};

static void see(void *arg, enum tr_node_metric metric, unsigned device, uint64_t value)
{
    struct seen *seen = arg;
    assert_int_equal(device, 0);
    seen->count[metric]++;
    seen->value[metric] = value;
}

static char root[64];

static void put(const char *file, const char *text)
{
    char command[256], path[160];
    snprintf(path, sizeof(path), "%s/%s", root, file);
    snprintf(command, sizeof(command), "mkdir -p $(dirname '%s')", path);
    assert_int_equal(system(command), 0);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static int make_root(void **state)
{
    strcpy(root, "/tmp/test_node_files.XXXXXX");
    return mkdtemp(root) ? 0 : -1;
}

static int drop_root(void **state)
{
    char command[128];
    snprintf(command, sizeof(command), "rm -r '%s'", root);
    return system(command);
}

static void nothing_there_is_nothing_told(void **state)
{
    struct seen seen = {0}, none = {0};
    node_read_files(root, see, &seen);
    assert_memory_equal(&seen, &none, sizeof(seen));
}

static void totals_are_told_in_their_units(void **state)
{
    struct seen seen = {0};
    uint64_t tick_ms = 1000u / (uint64_t)sysconf(_SC_CLK_TCK);
    /* user nice system idle iowait irq softirq steal guest: the guest's time is in user */
    put("proc/stat", "cpu  100 20 30 4000 500 6 7 8 90 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n");
    put("proc/pressure/cpu", "some avg10=1.00 avg60=2.00 avg300=3.00 total=123\nfull avg10=0.00 total=45\n");
    put("proc/pressure/memory", "some avg10=1.00 total=77\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=66\n");
    node_read_files(root, see, &seen);
    assert_int_equal(seen.value[TR_node_metric_cpu_busy_ms], 171 * tick_ms);
    assert_int_equal(seen.value[TR_node_metric_cpu_idle_ms], 4500 * tick_ms);
    assert_int_equal(seen.value[TR_node_metric_cpu_some_us], 123);
    assert_int_equal(seen.value[TR_node_metric_memory_full_us], 66);
    assert_int_equal(seen.count[TR_node_metric_io_some_us], 0);
}

static void the_own_cgroup_is_read(void **state)
{
    struct seen seen = {0};
    put("proc/self/cgroup", "1:cpu:/old\n0::/jobs/7\n");
    put("sys/fs/cgroup/cpu.stat", "usage_usec 9\n");
    put("sys/fs/cgroup/jobs/7/cpu.stat", "usage_usec 5000\nnr_throttled 3\nthrottled_usec 250\n");
    put("sys/fs/cgroup/jobs/7/memory.events", "low 0\nhigh 0\noom 4\noom_kill 2\noom_group_kill 1\n");
    node_read_files(root, see, &seen);
    assert_int_equal(seen.value[TR_node_metric_own_cpu_us], 5000);
    assert_int_equal(seen.value[TR_node_metric_own_throttled_us], 250);
    assert_int_equal(seen.value[TR_node_metric_oom_kills], 2);
}

static void a_path_seen_from_outside_falls_back_to_the_mount(void **state)
{
    struct seen seen = {0};
    put("proc/self/cgroup", "0::/not/mounted/here\n");
    put("sys/fs/cgroup/cpu.stat", "usage_usec 9\n");
    node_read_files(root, see, &seen);
    assert_int_equal(seen.value[TR_node_metric_own_cpu_us], 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nothing_there_is_nothing_told, make_root, drop_root),
        cmocka_unit_test_setup_teardown(totals_are_told_in_their_units, make_root, drop_root),
        cmocka_unit_test_setup_teardown(the_own_cgroup_is_read, make_root, drop_root),
        cmocka_unit_test_setup_teardown(a_path_seen_from_outside_falls_back_to_the_mount, make_root, drop_root),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
