/* Device memory on events small enough to add up by hand, and out-of-memory messages of real reports
 * (Case oom-02, Case oom-03) with the verdict they should get. */
#include "tests/unit/analyze_text.h"

#include <math.h>

#define MIB (1ll << 20)
#define GIB(n) ((int64_t)((n)*1024 + 0.5) * MIB)

static void say_process(struct script *script)
{
    say(script, "0 a proc pid=1 how=start schema=1 rank=0 world=1 start_ns=0 host=a boot=b comm=python3 cmd=train.py");
    say(script, "0 a gpu pid=1 device=0 memory=80GiB model=\"NVIDIA A100-SXM4-80GB\"");
    say(script, "0 a name pid=1 kind=library id=1 text=/venv/torch/lib/libc10_cuda.so");
    say(script, "0 a name pid=1 kind=library id=2 text=/venv/nvidia/nccl/lib/libnccl.so.2");
}

static struct report *end(struct script *script)
{
    say(script, "9s a exit pid=1 how=exit start_ns=9s");
    return script_analyze(script, &(struct options){0});
}

static void reserved_in_use_and_split_at_the_peak(void **state)
{
    struct script script;
    script_begin(&script);
    say_process(&script);
    say(&script, "1s a segment pid=1 act=alloc kind=device owner=2 address=0x9000000 size=16MiB");
    say(&script, "1s a segment pid=1 act=alloc kind=device owner=1 address=0x1000000 size=20MiB");
    say(&script, "1s a segment pid=1 act=alloc kind=pinned owner=1 address=0x70000000 size=64MiB"); /* of the host */
    say(&script, "1s a block pid=1 act=alloc address=0x1000000 size=4MiB");
    say(&script, "1s a block pid=1 act=alloc address=0x1800000 size=2MiB");
    say(&script, "2s a segment pid=1 act=alloc kind=device owner=1 address=0x4000000 size=30MiB");
    say(&script, "2s a block pid=1 act=alloc address=0x4000000 size=30MiB");
    /* The peak: 50 MiB reserved, 36 in use, 14 free in holes of 4 and 10 MiB. What follows is less. */
    say(&script, "3s a block pid=1 act=free address=0x4000000 size=30MiB");
    say(&script, "3s a segment pid=1 act=free kind=device address=0x4000000 size=30MiB");
    say(&script, "3s a segment pid=1 act=alloc kind=device owner=2 address=0xb000000 size=1MiB");
    struct report *report = end(&script);
    assert_int_equal(report->nr_memory, 1);
    const struct report_memory *row = &report->memory[0];
    assert_int_equal(row->rank, 0);
    assert_int_equal(row->total, GIB(80));
    assert_int_equal(row->reserved_peak, 50 * MIB);
    assert_int_equal(row->allocated_peak, 36 * MIB);
    assert_int_equal(row->split_free_at_peak, 14 * MIB);
    assert_int_equal(row->largest_hole, 10 * MIB);
    assert_true(fabs(row->fragmentation_at_peak - 14. / 50) < 1e-12);
    assert_int_equal(row->nr_owners, 2);
    assert_string_equal(row->owners[0].name, "libc10_cuda.so");
    assert_int_equal(row->owners[0].peak, 50 * MIB);
    assert_string_equal(row->owners[1].name, "libnccl.so.2");
    assert_int_equal(row->owners[1].peak, 17 * MIB);
    report_free(report);
}

static void without_blocks_only_what_is_reserved_is_known(void **state)
{
    struct script script;
    script_begin(&script);
    say_process(&script);
    say(&script, "1s a segment pid=1 act=alloc kind=device owner=1 address=0x1000000 size=20MiB");
    struct report *report = end(&script);
    assert_int_equal(report->nr_memory, 1);
    assert_int_equal(report->memory[0].reserved_peak, 20 * MIB);
    assert_true(report->memory[0].allocated_peak == TR_UNKNOWN && report->memory[0].largest_hole == TR_UNKNOWN);
    assert_true(isnan(report->memory[0].fragmentation_at_peak));
    bool told = false;
    for (size_t i = 0; i < report->nr_notes; i++)
        told |= !strcmp(report->notes[i].key, "no-blocks");
    assert_true(told);
    report_free(report);
}

/* What the message says: asked for, reserved, in use, free on the device; all in MiB. */
static void expect_verdict(double asked, double reserved, double allocated, double device_free, const char *verdict,
                           double short_by)
{
    struct script script;
    script_begin(&script);
    say_process(&script);
    say(&script, "1s a segment pid=1 act=failed kind=device owner=1 err=2 size=%.0fKiB dur=1ms", asked * 1024);
    say(&script, "2s a oom pid=1 device=0 size=%.0fKiB reserved=%.0fKiB allocated=%.0fKiB free=%.0fKiB", asked * 1024,
        reserved * 1024, allocated * 1024, device_free * 1024);
    struct report *report = end(&script);
    assert_int_equal(report->nr_memory, 1);
    assert_int_equal(report->memory[0].nr_failures, 1);
    const struct report_failure *failure = &report->memory[0].failures[0];
    assert_string_equal(failure->verdict, verdict);
    if (short_by > 0)
        assert_true(fabs((double)failure->short_by - short_by * MIB) < 4096);
    else
        assert_true(failure->short_by == TR_UNKNOWN);
    assert_int_equal(report->memory[0].retries, 0);
    const struct report_finding *finding =
        find_finding(report, !strcmp(verdict, "fragmentation") ? "memory-fragmentation" : "memory-capacity");
    assert_non_null(finding);
    assert_int_equal(finding->severity, SEVERITY_HIGH);
    assert_null(find_finding(report, strcmp(verdict, "fragmentation") ? "memory-fragmentation" : "memory-capacity"));
    report_free(report);
}

static void messages_of_real_reports_get_their_verdict(void **state)
{
    /* More than all that is free: nothing helps. */
    expect_verdict(22.78 * 1024, 18.43 * 1024, 9.08 * 1024, 12.73 * 1024, "capacity", 0.7 * 1024);
    /* Less than what the cache holds unused. */
    expect_verdict(1.7 * 1024, 12.3 * 1024, 10 * 1024, 0.5 * 1024, "fragmentation", 0);
    /* A little is unused, as always. */
    expect_verdict(90, 7.13 * 1024 + 127, 7.13 * 1024, 0, "capacity", 0);
    /* The device had a hundred times as much: somebody forbade it. */
    expect_verdict(20, 825 + 24.85, 825, 2.35 * 1024, "limit", 0);
}

/* Enough is free, but in segments for small blocks, which never serve a large one. */
static void the_pool_for_small_blocks_does_not_serve_large_ones(void **state)
{
    struct script script;
    script_begin(&script);
    say_process(&script);
    for (unsigned i = 0; i < 60; i++) {
        say(&script, "1s a segment pid=1 act=alloc kind=device owner=1 address=0x%x size=2MiB",
            0x10000000 + i * 0x200000);
        say(&script, "1s a block pid=1 act=alloc address=0x%x size=512", 0x10000000 + i * 0x200000);
    }
    say(&script, "2s a oom pid=1 device=0 size=64MiB reserved=120MiB allocated=1MiB free=1MiB");
    struct report *report = end(&script);
    assert_string_equal(report->memory[0].failures[0].verdict, "capacity");
    assert_int_equal(report->memory[0].failures[0].cached_free, 0);
    assert_int_equal(report->memory[0].failures[0].short_by, 63 * MIB);
    report_free(report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reserved_in_use_and_split_at_the_peak),
        cmocka_unit_test(without_blocks_only_what_is_reserved_is_known),
        cmocka_unit_test(messages_of_real_reports_get_their_verdict),
        cmocka_unit_test(the_pool_for_small_blocks_does_not_serve_large_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
