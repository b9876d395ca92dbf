/* How steps are told apart: which anchors, merged or not, how sure, what is warm-up, and where the loop ends. */
#include "tests/unit/analyze_text.h"

#include "analysis/model/stepper.h"

/* ---- the stepper alone -------------------------------------------------------------------- */

struct points {
    uint64_t at[256];
    size_t nr;
};

static void add_point(void *arg, uint64_t point_ns)
{
    struct points *points = arg;
    assert_true(points->nr < 256);
    points->at[points->nr++] = point_ns;
}

#define US 1000ull
#define MS 1000000ull

/* `nr` optimizer ranges of `length` per step, `gap` apart; `pause` between steps. */
static void optimizer_steps(struct points *points, unsigned steps, unsigned nr, uint64_t length, uint64_t gap,
                            uint64_t pause, bool data)
{
    struct stepper stepper;
    uint64_t at = 1000 * MS;
    stepper_init(&stepper, ANCHORS_optimizer, add_point, points);
    for (unsigned i = 0; i < steps; i++) {
        if (data)
            stepper_data(&stepper);
        for (unsigned j = 0; j < nr; j++) {
            stepper_anchor(&stepper, at, at + length);
            at += length + (j + 1 < nr ? gap : pause);
        }
    }
    stepper_finish(&stepper);
}

static void parameter_groups_are_one_step(void **state)
{
    struct points points = {0};
    optimizer_steps(&points, 50, 4, 500 * US, 50 * US, 30 * MS, false);
    assert_int_equal(points.nr, 50);
    assert_int_equal(points.at[0], 1000 * MS + 4 * 500 * US + 3 * 50 * US);
}

static void forward_between_makes_two_steps(void **state)
{
    struct points points = {0};
    optimizer_steps(&points, 20, 2, 500 * US, 8 * MS, 30 * MS, false);
    assert_int_equal(points.nr, 40);
}

static void very_short_steps_stay_apart(void **state)
{
    /* A tiny model: 200 us between optimizer ranges, always. Nothing says that they belong together. */
    struct points points = {0};
    optimizer_steps(&points, 100, 1, 100 * US, 0, 200 * US, false);
    assert_int_equal(points.nr, 100);
    points.nr = 0;
    optimizer_steps(&points, 100, 1, 100 * US, 0, 200 * US, true);
    assert_int_equal(points.nr, 100);
}

static void one_evaluation_does_not_merge_the_rest(void **state)
{
    struct points points = {0};
    struct stepper stepper;
    uint64_t at = 1000 * MS;
    stepper_init(&stepper, ANCHORS_optimizer, add_point, &points);
    for (unsigned i = 0; i < 40; i++) {
        stepper_anchor(&stepper, at, at + 1 * MS);
        at += i == 5 ? 5000 * MS : 11 * MS;
    }
    stepper_finish(&stepper);
    assert_int_equal(points.nr, 40);
}

static void an_engine_around_its_optimizer_is_one_step(void **state)
{
    struct points points = {0};
    struct stepper stepper;
    stepper_init(&stepper, ANCHORS_optimizer, add_point, &points);
    for (unsigned i = 0; i < 20; i++) {
        uint64_t at = (1000 + 20 * i) * MS;
        stepper_anchor(&stepper, at + 1 * MS, at + 3 * MS); /* the inner one ends first */
        stepper_anchor(&stepper, at, at + 4 * MS);
    }
    stepper_finish(&stepper);
    assert_int_equal(points.nr, 20);
    assert_int_equal(points.at[3], (1000 + 60 + 4) * MS);
}

static void warm_up_ends_where_the_length_settles(void **state)
{
    struct step_stats stats = {0};
    uint64_t at = 0;
    const unsigned first[] = {100, 40, 12, 30};
    step_stats_point(&stats, at);
    for (unsigned i = 0; i < 4; i++)
        step_stats_point(&stats, at += first[i] * MS);
    for (unsigned i = 0; i < 40; i++)
        step_stats_point(&stats, at += (i == 20 ? 90 : 10) * MS);
    assert_int_equal(step_stats_warmup(&stats), 4); /* the short one between two long ones is not the end of it */
}

static void even_steps_have_no_warm_up(void **state)
{
    struct step_stats stats = {0};
    for (unsigned i = 0; i < 40; i++)
        step_stats_point(&stats, i * 10 * MS);
    assert_int_equal(step_stats_warmup(&stats), 0);
}

/* ---- the whole analysis ------------------------------------------------------------------- */

static void say_process(struct script *script)
{
    say(script, "0 a proc pid=1 how=start schema=1 rank=-1 world=-1 start_ns=0 host=a boot=b comm=python3");
    say(script, "0 a name pid=1 kind=range id=1 text=Optimizer.step#SGD.step");
    say(script, "0 a name pid=1 kind=range id=2 text=__next__");
}

static void say_exit(struct script *script, unsigned ms)
{
    say(script, "%ums a exit pid=1 how=exit start_ns=%ums", ms, ms);
}

static void marks_go_before_optimizer_ranges(void **state)
{
    struct script script;
    script_begin(&script);
    say_process(&script);
    for (unsigned i = 0; i < 12; i++) {
        say(&script, "%ums a anchor pid=1 kind=optimizer name=1 dur=1ms", 1000 + 10 * i);
        if (i % 2 == 0)
            say(&script, "%ums a anchor pid=1 kind=mark nr=%u", 1001 + 10 * i, i / 2);
    }
    say_exit(&script, 1200);
    struct report *report = script_analyze(&script, &(struct options){0});
    assert_string_equal(report->steps.method, "mark");
    assert_int_equal(report->steps.count, 6);
    report_free(report);
}

static void optimizer_can_be_asked_for(void **state)
{
    struct script script;
    script_begin(&script);
    say_process(&script);
    for (unsigned i = 0; i < 12; i++) {
        say(&script, "%ums a anchor pid=1 kind=optimizer name=1 dur=1ms", 1000 + 10 * i);
        say(&script, "%ums a anchor pid=1 kind=mark nr=%u", 1001 + 10 * i, i);
    }
    say_exit(&script, 1200);
    struct report *report = script_analyze(&script, &(struct options){.steps = STEP_METHOD_optimizer});
    assert_string_equal(report->steps.method, "optimizer");
    report_free(report);
}

static void nvtx_ranges_begin_steps(void **state)
{
    struct script script;
    struct step_rows rows = {0};
    script_begin(&script);
    say_process(&script);
    say(&script, "0 a name pid=1 kind=range id=90 text=training");
    say(&script, "0 a name pid=1 kind=range id=91 text=optimizer_step");
    for (unsigned i = 0; i < 12; i++) {
        say(&script, "%ums a name pid=1 kind=range id=%u text=\"step %u\"", 999 + 10 * i, 100 + i, i);
        say(&script, "%ums a anchor pid=1 kind=nvtx name=91 dur=1ms", 1008 + 10 * i);
        say(&script, "%ums a anchor pid=1 kind=nvtx name=%u dur=9ms", 1009 + 10 * i, 100 + i);
    }
    say(&script, "1150ms a anchor pid=1 kind=nvtx name=90 dur=200ms");
    say_exit(&script, 1200);
    struct report *report =
        script_analyze(&script, &(struct options){.steps = STEP_METHOD_nvtx, .steps_regex = "^step"});
    assert_string_equal(report->steps.method, "nvtx");
    report_each_step(report, step_rows_add, &rows);
    assert_int_equal(rows.nr, 12);
    assert_int_equal(rows.rows[0].start_ns, 1000 * MS);
    assert_int_equal(rows.rows[1].start_ns, 1010 * MS);
    report_free(report);
}

static void a_dataloader_alone_gives_steps_by_hand_off(void **state)
{
    struct script script;
    struct step_rows rows = {0};
    script_begin(&script);
    say_process(&script);
    for (unsigned i = 0; i <= 12; i++) /* the 13th says that there is no more */
        say(&script, "%ums a anchor pid=1 kind=dataloader name=2 dur=2ms", 1002 + 10 * i);
    say_exit(&script, 1200);
    struct report *report = script_analyze(&script, &(struct options){0});
    assert_string_equal(report->steps.method, "dataloader");
    report_each_step(report, step_rows_add, &rows);
    assert_int_equal(rows.nr, 12);
    assert_int_equal(rows.rows[11].end_ns, 1122 * MS);
    assert_int_equal(rows.rows[0].class_ns[BC_dataloader], 2 * MS);
    report_free(report);
}

/* Three micro-batches a step: the two ranks talk to each other after the last of them only. */
static void micro_batches_are_grouped_by_what_follows_them(void **state)
{
    struct script script;
    struct step_rows rows = {0};
    script_begin(&script);
    for (unsigned pid = 1; pid <= 2; pid++) {
        say(&script, "0 a proc pid=%u how=start schema=1 rank=%u world=2 host=a boot=b comm=python3", pid, pid - 1);
        say(&script, "0 a name pid=%u kind=range id=2 text=__next__", pid);
        say(&script, "0 a name pid=%u kind=peer id=3 text=10.0.0.%u:4000", pid, pid);
    }
    for (unsigned i = 0; i < 61; i++)
        for (unsigned pid = 1; pid <= 2; pid++) {
            say(&script, "%ums a anchor pid=%u kind=dataloader name=2 dur=2ms", 1002 + 10 * i, pid);
            if (i % 3 == 2 && i < 60)
                say(&script, "%ums a sock_io pid=%u tid=9 op=write name=3 count=4 size=4MiB busy=1ms dur=3ms",
                    1010 + 10 * i, pid);
        }
    say_exit(&script, 1700);
    say(&script, "1700ms a exit pid=2 how=exit start_ns=1700ms");
    struct report *report = script_analyze(&script, &(struct options){0});
    assert_string_equal(report->steps.method, "dataloader");
    assert_int_equal(report->steps.count, 20);
    report_each_step(report, step_rows_add, &rows);
    assert_int_equal(rows.nr, 40);
    for (size_t i = 0; i < rows.nr; i++) {
        const struct report_step *row = &rows.rows[i];
        if (row->incomplete)
            continue;
        assert_int_equal(row->start_ns, 1002 * MS + 30 * MS * row->step);
        assert_int_equal(row->end_ns - row->start_ns, 30 * MS);
        assert_int_equal(row->class_ns[BC_dataloader], 6 * MS);
    }
    report_free(report);
}

static void without_anchors_the_run_is_one_window(void **state)
{
    struct script script;
    struct step_rows rows = {0};
    script_begin(&script);
    say_process(&script);
    say(&script, "30ms a wait pid=1 kind=sleep dur=10ms");
    say_exit(&script, 100);
    struct report *report = script_analyze(&script, &(struct options){0});
    assert_string_equal(report->steps.method, "run");
    report_each_step(report, step_rows_add, &rows);
    assert_int_equal(rows.nr, 1);
    assert_int_equal(rows.rows[0].end_ns - rows.rows[0].start_ns, 100 * MS);
    assert_int_equal(rows.rows[0].class_ns[BC_other], 10 * MS);
    assert_int_equal(rows.rows[0].class_ns[BC_compute], 90 * MS);
    report_free(report);
}

static void a_killed_job_is_in_its_last_window_to_the_end(void **state)
{
    struct script script;
    struct step_rows rows = {0};
    script_begin(&script);
    say_process(&script);
    for (unsigned i = 0; i < 12; i++)
        say(&script, "%ums a anchor pid=1 kind=optimizer name=1 dur=1ms", 1000 + 10 * i);
    say(&script, "41115ms a open_op pid=1 kind=poll obj=7 start_ns=1115ms age=40s");
    struct report *report = script_analyze(&script, &(struct options){0});
    report_each_step(report, step_rows_add, &rows);
    assert_int_equal(rows.nr, 12);
    assert_true(rows.rows[11].incomplete);
    assert_int_equal(rows.rows[11].end_ns, 41115 * MS);
    assert_int_equal(rows.rows[11].class_ns[BC_other], 40000 * MS);
    report_free(report);
}

static void nothing_at_all_is_a_report_too(void **state)
{
    struct script script;
    script_begin(&script);
    struct report *report = script_analyze(&script, &(struct options){0});
    assert_int_equal(report->steps.count, 0);
    assert_int_equal(report->nr_ranks, 0);
    assert_int_equal(report->nr_notes, 1);
    report_free(report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameter_groups_are_one_step),
        cmocka_unit_test(forward_between_makes_two_steps),
        cmocka_unit_test(very_short_steps_stay_apart),
        cmocka_unit_test(one_evaluation_does_not_merge_the_rest),
        cmocka_unit_test(an_engine_around_its_optimizer_is_one_step),
        cmocka_unit_test(warm_up_ends_where_the_length_settles),
        cmocka_unit_test(even_steps_have_no_warm_up),
        cmocka_unit_test(marks_go_before_optimizer_ranges),
        cmocka_unit_test(optimizer_can_be_asked_for),
        cmocka_unit_test(nvtx_ranges_begin_steps),
        cmocka_unit_test(a_dataloader_alone_gives_steps_by_hand_off),
        cmocka_unit_test(micro_batches_are_grouped_by_what_follows_them),
        cmocka_unit_test(without_anchors_the_run_is_one_window),
        cmocka_unit_test(a_killed_job_is_in_its_last_window_to_the_end),
        cmocka_unit_test(nothing_at_all_is_a_report_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
