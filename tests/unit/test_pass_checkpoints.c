/* What is a checkpoint and what is not, what its life says about it, and what saving costs. */
#include "tests/unit/analyze_text.h"

static void say_process(struct script *script)
{
    say(script, "0 a proc pid=1 how=start schema=1 rank=0 world=1 host=a boot=b comm=python3");
    say(script, "0 a name pid=1 kind=range id=1 text=Optimizer.step#SGD.step");
    say(script, "0 a name pid=1 kind=range id=2 text=__next__");
    for (unsigned i = 0; i < 10; i++) {
        say(script, "0 a name pid=1 kind=file id=%u text=/out/step-%u.pt", 10 + i, i);
        say(script, "0 a name pid=1 kind=file id=%u text=/out/step-%u.pt.tmp", 30 + i, i);
    }
    say(script, "0 a name pid=1 kind=file id=50 text=/out/last.pt");
    say(script, "0 a name pid=1 kind=file id=51 text=/out/metrics.bin");
}

static void say_step(struct script *script, unsigned at_ms)
{
    say(script, "%ums a anchor pid=1 kind=dataloader name=2 dur=1ms", at_ms + 2);
    say(script, "%ums a anchor pid=1 kind=optimizer name=1 dur=1ms", at_ms + 100);
}

/* A save by the training thread right after the step that ends at `at_ms`, 20 ms long. */
static void say_save(struct script *script, unsigned at_ms, unsigned id, unsigned renamed_id, bool synced, unsigned mib)
{
    say(script, "%ums a file_op pid=1 op=create name=%u dur=10us", at_ms + 1, id);
    say(script, "%ums a file_io pid=1 op=write name=%u count=8 size=%uMiB busy=14ms dur=15ms", at_ms + 17, id, mib);
    if (synced)
        say(script, "%ums a file_op pid=1 op=fsync name=%u dur=2ms", at_ms + 20, id);
    say(script, "%ums a file_op pid=1 op=close name=%u size=%uMiB", at_ms + 20, id, mib);
    if (renamed_id)
        say(script, "%ums a file_op pid=1 op=rename name=%u name2=%u", at_ms + 21, id, renamed_id);
}

static void say_exit(struct script *script, unsigned ms)
{
    say(script, "%ums a exit pid=1 how=exit start_ns=%ums", ms, ms);
}

static bool has_finding(const struct report *report, const char *id, enum severity severity)
{
    const struct report_finding *finding = find_finding(report, id);
    return finding && finding->severity == severity;
}

static void safe_saves_are_only_listed(void **state)
{
    struct script script;
    script_begin(&script);
    say_process(&script);
    for (unsigned i = 0; i < 40; i++) {
        say_step(&script, 1000 + 100 * i);
        if (i == 19 || i == 39)
            say_save(&script, 1100 + 100 * i, 30 + i / 20, 10 + i / 20, true, 2);
    }
    say_exit(&script, 6000);
    struct report *report = script_analyze(&script, &(struct options){0});
    assert_int_equal(report->nr_checkpoints, 2);
    assert_string_equal(report->checkpoints[0].path, "/out/step-0.pt");
    assert_int_equal(report->checkpoints[0].bytes, 2 << 20);
    assert_int_equal(report->checkpoints[0].step, 19);
    assert_true(report->checkpoints[0].sync);
    assert_int_equal(report->checkpoints[0].safe, 1);
    assert_true(report->checkpoints[0].survives);
    assert_null(find_finding(report, "checkpoint-unsafe"));
    assert_null(find_finding(report, "checkpoint-retention"));
    report_free(report);
}

static void overwriting_in_place_is_grave_and_keeps_one(void **state)
{
    struct script script;
    script_begin(&script);
    say_process(&script);
    for (unsigned i = 0; i < 40; i++) {
        say_step(&script, 1000 + 100 * i);
        if (i % 10 == 9)
            say_save(&script, 1100 + 100 * i, 50, 0, false, 2);
    }
    say_exit(&script, 6000);
    struct report *report = script_analyze(&script, &(struct options){0});
    assert_true(has_finding(report, "checkpoint-unsafe", SEVERITY_HIGH));
    assert_true(has_finding(report, "checkpoint-retention", SEVERITY_MEDIUM));
    assert_int_equal(report->nr_checkpoints, 4);
    assert_false(report->checkpoints[0].survives);
    assert_true(report->checkpoints[3].survives);
    report_free(report);
}

static void a_new_name_each_time_is_a_small_risk(void **state)
{
    struct script script;
    script_begin(&script);
    say_process(&script);
    for (unsigned i = 0; i < 40; i++) {
        say_step(&script, 1000 + 100 * i);
        if (i % 10 == 9)
            say_save(&script, 1100 + 100 * i, 10 + i / 10, 0, true, 2);
    }
    say_exit(&script, 6000);
    struct report *report = script_analyze(&script, &(struct options){0});
    assert_true(has_finding(report, "checkpoint-unsafe", SEVERITY_LOW));
    assert_null(find_finding(report, "checkpoint-retention"));
    report_free(report);
}

static void deleting_old_ones_is_retention_but_tidying_up_is_not(void **state)
{
    for (unsigned during = 0; during < 2; during++) {
        struct script script;
        script_begin(&script);
        say_process(&script);
        for (unsigned i = 0; i < 40; i++) {
            say_step(&script, 1000 + 100 * i);
            if (i % 10 != 9)
                continue;
            say_save(&script, 1100 + 100 * i, 30 + i / 10, 10 + i / 10, true, 2);
            if (during && i > 10)
                say(&script, "%ums a file_op pid=1 op=unlink name=%u", 1125 + 100 * i, 10 + i / 10 - 1);
        }
        for (unsigned i = 0; i < 4 && !during; i++)
            say(&script, "5900ms a file_op pid=1 op=unlink name=%u", 10 + i);
        say_exit(&script, 6000);
        struct report *report = script_analyze(&script, &(struct options){0});
        assert_int_equal(report->nr_checkpoints, 4);
        assert_int_equal(find_finding(report, "checkpoint-retention") != NULL, during);
        report_free(report);
    }
}

static void a_log_is_no_checkpoint_nor_is_data_made_before_the_first_step(void **state)
{
    struct script script;
    script_begin(&script);
    say_process(&script);
    say(&script, "0 a name pid=1 kind=file id=60 text=/data/cache.bin");
    say(&script, "100ms a file_op pid=1 op=create name=60");
    say(&script, "900ms a file_op pid=1 op=close name=60 size=200MiB");
    say(&script, "950ms a file_op pid=1 op=create name=51");
    for (unsigned i = 0; i < 40; i++)
        say_step(&script, 1000 + 100 * i);
    say(&script, "5500ms a file_op pid=1 op=close name=51 size=80MiB");
    say_exit(&script, 6000);
    struct report *report = script_analyze(&script, &(struct options){0});
    assert_int_equal(report->nr_checkpoints, 0);
    report_free(report);
}

static void another_thread_saves_without_stopping_training(void **state)
{
    struct script script;
    script_begin(&script);
    say_process(&script);
    for (unsigned i = 0; i < 40; i++) {
        say_step(&script, 1000 + 100 * i);
        if (i % 20 != 9)
            continue;
        unsigned at = 1100 + 100 * i, id = 30 + i / 20;
        say(&script, "%ums a file_op pid=1 tid=7 op=create name=%u dur=10us", at + 10, id);
        say(&script, "%ums a file_io pid=1 tid=7 op=write name=%u count=8 size=96MiB busy=180ms dur=180ms", at + 200,
            id);
        say(&script, "%ums a file_op pid=1 tid=7 op=fsync name=%u dur=20ms", at + 240, id);
        say(&script, "%ums a file_op pid=1 tid=7 op=close name=%u size=96MiB", at + 241, id);
        say(&script, "%ums a file_op pid=1 tid=7 op=rename name=%u name2=%u", at + 242, id, id - 20);
    }
    say_exit(&script, 6000);
    struct report *report = script_analyze(&script, &(struct options){0});
    assert_int_equal(report->nr_checkpoints, 2);
    assert_false(report->checkpoints[0].sync);
    assert_null(find_finding(report, "checkpoint-sync"));
    report_free(report);
}

static void waiting_for_the_writer_is_a_stall(void **state)
{
    struct script script;
    struct step_rows rows = {0};
    script_begin(&script);
    say_process(&script);
    for (unsigned i = 0; i < 40; i++) {
        say_step(&script, 1000 + 100 * i);
        if (i % 10 != 9)
            continue;
        unsigned at = 1100 + 100 * i, id = 30 + i / 10;
        say(&script, "%ums a file_op pid=1 tid=7 op=create name=%u dur=10us", at + 10, id);
        say(&script, "%ums a file_op pid=1 tid=7 op=close name=%u size=96MiB", at + 80, id);
        say(&script, "%ums a file_op pid=1 tid=7 op=rename name=%u name2=%u", at + 81, id, id - 20);
        say(&script, "%ums a wait pid=1 kind=sem waker=7 obj=0x1 dur=60ms", at + 82);
    }
    say_exit(&script, 6000);
    struct report *report = script_analyze(&script, &(struct options){0});
    report_each_step(report, step_rows_add, &rows);
    assert_true(rows.rows[9].class_ns[BC_checkpoint] >= 60000000);
    assert_true(report->checkpoints[0].sync);
    assert_true(report->checkpoints[0].stall_ns >= 60000000);
    assert_non_null(find_finding(report, "checkpoint-sync"));
    report_free(report);
}

static void killed_while_saving_leaves_half_a_file(void **state)
{
    struct script script;
    script_begin(&script);
    say_process(&script);
    for (unsigned i = 0; i < 40; i++) {
        say_step(&script, 1000 + 100 * i);
        if (i == 9)
            say_save(&script, 1100 + 100 * i, 50, 0, true, 2);
    }
    say(&script, "5002ms a file_op pid=1 op=create name=50 dur=10us");
    say(&script, "5030ms a file_io pid=1 op=write name=50 count=8 size=1MiB busy=14ms dur=15ms");
    struct report *report = script_analyze(&script, &(struct options){0});
    const struct report_finding *finding = find_finding(report, "checkpoint-unsafe");
    bool truncated = false;
    for (size_t i = 0; i < report->nr_findings; i++)
        truncated |= strstr(report->findings[i].what, "incomplete") && report->findings[i].severity == SEVERITY_HIGH;
    assert_non_null(finding);
    assert_true(truncated);
    report_free(report);
}

static void a_full_disk_is_seen(void **state)
{
    struct script script;
    script_begin(&script);
    say_process(&script);
    say(&script, "0 a mount pid=1 dev=3 point=/out fstype=ext4 source=/dev/sdb");
    for (unsigned i = 0; i < 40; i++)
        say_step(&script, 1000 + 100 * i);
    say(&script, "5002ms a file_op pid=1 op=create name=10 dur=10us");
    say(&script, "5020ms a file_op pid=1 op=close name=10 err=28 size=1MiB");
    say_exit(&script, 6000);
    struct report *report = script_analyze(&script, &(struct options){0});
    const struct report_finding *finding = find_finding(report, "disk-full");
    assert_non_null(finding);
    assert_int_equal(finding->severity, SEVERITY_HIGH);
    assert_non_null(strstr(finding->what, "/out"));
    report_free(report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(safe_saves_are_only_listed),
        cmocka_unit_test(overwriting_in_place_is_grave_and_keeps_one),
        cmocka_unit_test(a_new_name_each_time_is_a_small_risk),
        cmocka_unit_test(deleting_old_ones_is_retention_but_tidying_up_is_not),
        cmocka_unit_test(a_log_is_no_checkpoint_nor_is_data_made_before_the_first_step),
        cmocka_unit_test(another_thread_saves_without_stopping_training),
        cmocka_unit_test(waiting_for_the_writer_is_a_stall),
        cmocka_unit_test(killed_while_saving_leaves_half_a_file),
        cmocka_unit_test(a_full_disk_is_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
