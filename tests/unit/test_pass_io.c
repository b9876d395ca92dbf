/* The I/O table: sums, percentiles, shares; receives with the wait for them; what loaders do while steps run. */
#include <math.h>

#include "tests/unit/analyze_text.h"

static void say_process(struct script *script)
{
    say(script, "0 a proc pid=1 how=start schema=1 rank=-1 world=-1 host=a boot=b comm=python3");
    say(script, "0 a mount pid=1 dev=8 point=/data fstype=nfs4 source=store:/export");
    say(script, "0 a name pid=1 kind=range id=1 text=Optimizer.step#SGD.step");
    say(script, "0 a name pid=1 kind=file id=2 dev=8 text=/data/shard.tar");
    say(script, "0 a name pid=1 kind=peer id=3 text=store:9000");
}

static const struct report_io *row_of(const struct report *report, const char *place)
{
    for (size_t i = 0; i < report->nr_io; i++) {
        const struct report_io *row = &report->io[i];
        if ((row->group && !strcmp(row->group, place)) || (row->peer && !strcmp(row->peer, place)))
            return row;
    }
    return NULL;
}

static void bursts_add_up(void **state)
{
    struct script script;
    script_begin(&script);
    say_process(&script);
    say(&script, "1ms a file_meta pid=1 name=2 count=3 opens=1 failed=1 busy=1ms dur=1ms");
    say(&script, "2ms a file_io pid=1 op=read how=8 name=2 count=10 size=640KiB busy=10ms dur=20ms"); /* all device */
    say(&script, "3ms a file_io pid=1 op=read how=0 name=2 count=10 size=640KiB busy=2ms dur=5ms");   /* all cache */
    say(&script, "4ms a file_io pid=1 op=read how=31 name=2 count=1 size=1280KiB dur=7ms"); /* unknown, random */
    say(&script, "5ms a file_io pid=1 op=write how=15 name=2 count=1 size=4KiB busy=3ms dur=3ms");
    struct report *report = script_analyze(&script, &(struct options){0});
    const struct report_io *row = row_of(report, "/data/shard.tar");
    assert_non_null(row);
    assert_string_equal(row->mount, "/data");
    assert_string_equal(row->fstype, "nfs4");
    assert_int_equal(row->opens, 1);
    assert_int_equal(row->files_failed, 1);
    assert_int_equal(row->reads, 21);
    assert_int_equal(row->writes, 1);
    assert_int_equal(row->bytes_read, 2560 * 1024);
    assert_int_equal(row->read_ns, 19000000);
    assert_int_equal(row->write_ns, 3000000);
    assert_true(fabs(row->cache_share - 0.5) < 1e-9);
    assert_true(fabs(row->sequential_share - 0.5) < 1e-9);
    assert_true(fabs(row->metadata_share - 1.0 / 23) < 1e-9);
    assert_true(fabs(row->p50_read_ns - 1e6) < 0.04e6); /* ten of 0.2 ms, ten of 1 ms, one of 7 ms */
    assert_true(fabs(row->p99_read_ns - 7e6) < 0.3e6);
    report_free(report);
}

static void a_receive_takes_as_long_as_its_peer(void **state)
{
    struct script script;
    script_begin(&script);
    say_process(&script);
    for (unsigned i = 0; i < 10; i++) {
        unsigned at = 100 + 20 * i;
        /* the wait of 10 ms is told after the read that followed it */
        say(&script, "%u.2ms a sock_io pid=1 op=read name=3 count=1 size=4KiB busy=2us start_ns=%u.02ms dur=2us", at,
            at);
        say(&script, "%u.3ms a wait pid=1 kind=poll obj=55 start_ns=%ums dur=10ms", at, at - 10);
    }
    struct report *report = script_analyze(&script, &(struct options){0});
    const struct report_io *row = row_of(report, "store:9000");
    assert_non_null(row);
    assert_null(row->mount);
    assert_int_equal(row->reads, 10);
    assert_int_equal(row->bytes_read, 40960);
    assert_int_equal(row->read_ns, 10 * 10002000);
    assert_true(fabs(row->p50_read_ns - 10e6) < 0.4e6);
    assert_true(isnan(row->cache_share));
    report_free(report);
}

static void the_largest_time_comes_first(void **state)
{
    struct script script;
    script_begin(&script);
    say_process(&script);
    say(&script, "0 a name pid=1 kind=dir id=9 text=/fast");
    say(&script, "1ms a file_io pid=1 op=read name=9 count=1 size=1KiB dur=1ms");
    say(&script, "2ms a file_io pid=1 op=read name=2 count=1 size=1KiB dur=2ms");
    struct report *report = script_analyze(&script, &(struct options){0});
    assert_int_equal(report->nr_io, 2);
    assert_string_equal(report->io[0].group, "/data/shard.tar");
    assert_string_equal(report->io[1].group, "/fast");
    report_free(report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bursts_add_up),
        cmocka_unit_test(a_receive_takes_as_long_as_its_peer),
        cmocka_unit_test(the_largest_time_comes_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
