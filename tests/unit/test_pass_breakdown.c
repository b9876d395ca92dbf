/* Where each step's time went, on events small enough to add up by hand; and layers against counting every instant. */
#include "tests/unit/analyze_text.h"

#include "analysis/model/layers.h"

/* One process, steps of 10 ms from 1 s on: 3 ms in the DataLoader, 6 ms running, 1 ms in Optimizer.step. */
static void say_process(struct script *script)
{
    say(script,
        "0 a proc pid=1 how=start schema=1 rank=-1 world=-1 start_ns=0 host=a boot=b comm=python3 cmd=train.py");
    say(script, "0 a thread pid=1 how=start comm=python3");
    say(script, "0 a name pid=1 kind=range id=1 text=Optimizer.step#SGD.step");
    say(script, "0 a name pid=1 kind=range id=2 text=\"enumerate(DataLoader)#_Iter.__next__\"");
}

static void say_step(struct script *script, unsigned i)
{
    unsigned at = 1000 + 10 * i;
    say(script, "%ums a anchor pid=1 kind=dataloader name=2 dur=3ms", at + 3);
    say(script, "%ums a anchor pid=1 kind=optimizer name=1 dur=1ms", at + 10);
}

static void say_end(struct script *script, unsigned ms)
{
    say(script, "%ums a exit pid=1 how=exit start_ns=%ums", ms, ms);
}

static void windows_lie_between_ends_of_optimizer_steps(void **state)
{
    struct script script;
    struct step_rows rows = {0};
    script_begin(&script);
    say_process(&script);
    for (unsigned i = 0; i < 20; i++)
        say_step(&script, i);
    say(&script, "1202ms a anchor pid=1 kind=dataloader name=2 dur=2ms");
    say_end(&script, 1300);
    struct report *report = script_analyze(&script, &(struct options){0});

    assert_string_equal(report->steps.method, "optimizer");
    assert_int_equal(report->steps.count, 20);
    assert_true(report->steps.confidence > 0.9);
    report_each_step(report, step_rows_add, &rows);
    assert_int_equal(rows.nr, 20);
    for (size_t i = 0; i < 20; i++) {
        const struct report_step *row = &rows.rows[i];
        assert_int_equal(row->step, i);
        assert_int_equal(row->incomplete, i == 19);
        assert_int_equal(row->start_ns, 1010000000 + 10000000 * i);
        assert_int_equal(row->end_ns, i == 19 ? 1202000000 : 1020000000 + 10000000 * i);
        assert_int_equal(row->class_ns[BC_dataloader], i == 19 ? 2000000 : 3000000);
        assert_int_equal(row->class_ns[BC_compute], i == 19 ? 0 : 7000000);
    }
    assert_int_equal(report->nr_ranks, 1);
    assert_int_equal(report->ranks[0].rank, 0);
    assert_string_equal(report->ranks[0].rank_source, "single");
    report_free(report);
}

static void waits_are_other_and_do_not_count_twice(void **state)
{
    struct script script;
    struct step_rows rows = {0};
    script_begin(&script);
    say_process(&script);
    for (unsigned i = 0; i < 12; i++) {
        unsigned at = 1000 + 10 * i;
        /* within the DataLoader range: hidden in it; outside: other */
        say(&script, "%ums a wait pid=1 kind=poll obj=77 dur=1ms", at + 2);
        say(&script, "%ums a anchor pid=1 kind=dataloader name=2 dur=3ms", at + 3);
        say(&script, "%ums a wait pid=1 kind=cond obj=0x10 dur=2ms", at + 7);
        say(&script, "%ums a anchor pid=1 kind=optimizer name=1 dur=1ms", at + 10);
    }
    say_end(&script, 1300);
    struct report *report = script_analyze(&script, &(struct options){0});
    report_each_step(report, step_rows_add, &rows);
    assert_int_equal(rows.nr, 12);
    for (size_t i = 0; i < 11; i++) {
        assert_int_equal(rows.rows[i].class_ns[BC_dataloader], 3000000);
        assert_int_equal(rows.rows[i].class_ns[BC_other], 2000000);
        assert_int_equal(rows.rows[i].class_ns[BC_compute], 5000000);
    }
    report_free(report);
}

static void short_waits_are_taken_from_running_time(void **state)
{
    struct script script;
    struct step_rows rows = {0};
    script_begin(&script);
    say_process(&script);
    for (unsigned i = 0; i < 12; i++) {
        unsigned at = 1000 + 10 * i;
        say(&script, "%ums a anchor pid=1 kind=optimizer name=1 dur=1ms", at + 10);
        say(&script, "%ums a wait_sum pid=1 kind=sem count=100 total=2ms since_ns=%ums", at + 10, at);
    }
    say_end(&script, 1300);
    struct report *report = script_analyze(&script, &(struct options){0});
    report_each_step(report, step_rows_add, &rows);
    assert_int_equal(rows.nr, 12);
    for (size_t i = 0; i < 11; i++) {
        assert_int_equal(rows.rows[i].class_ns[BC_other], 2000000);
        assert_int_equal(rows.rows[i].class_ns[BC_compute], 8000000);
    }
    report_free(report);
}

static void a_checkpoint_is_known_by_what_it_writes(void **state)
{
    struct script script;
    struct step_rows rows = {0};
    script_begin(&script);
    say_process(&script);
    say(&script, "0 a name pid=1 kind=file id=3 text=/out/a.tmp");
    say(&script, "0 a name pid=1 kind=file id=4 text=/out/a.bin");
    say(&script, "0 a name pid=1 kind=file id=5 text=/out/train.log");
    say(&script, "900ms a file_op pid=1 op=create name=5");
    for (unsigned i = 0; i < 12; i++) {
        unsigned at = 1000 + 10 * i;
        say(&script, "%ums a anchor pid=1 kind=optimizer name=1 dur=1ms", at + 10);
        if (i != 5)
            continue;
        say(&script, "%ums a file_op pid=1 op=create name=3 dur=10us", at + 12);
        say(&script, "%ums a file_io pid=1 op=write name=3 count=64 size=64MiB busy=3ms dur=4ms", at + 17);
        say(&script, "%ums a file_op pid=1 op=fsync name=3 dur=500us", at + 18);
        say(&script, "%ums a file_op pid=1 op=close name=3 size=64MiB", at + 18);
        say(&script, "%ums a file_op pid=1 op=rename name=3 name2=4 dur=100us", at + 19);
    }
    say(&script, "1150ms a file_op pid=1 op=close name=5 size=2MiB");
    say_end(&script, 1300);
    struct report *report = script_analyze(&script, &(struct options){0});
    report_each_step(report, step_rows_add, &rows);
    assert_int_equal(rows.nr, 12);
    assert_int_equal(rows.rows[5].class_ns[BC_checkpoint], 7010000);
    assert_int_equal(rows.rows[5].class_ns[BC_compute], 10000000 - 7010000);
    assert_int_equal(rows.rows[4].class_ns[BC_checkpoint], 0);
    report_free(report);
}

/* More pieces in one window than are held: it is summed up in parts, and still adds up. */
static void a_window_of_very_many_pieces_adds_up(void **state)
{
    struct script script;
    struct step_rows rows = {0};
    const unsigned nr = 300000;
    script_begin(&script);
    say_process(&script);
    say(&script, "1s a anchor pid=1 kind=optimizer name=1 dur=1ms");
    for (unsigned i = 0; i < nr; i++)
        say(&script, "%uus a wait pid=1 kind=cond obj=1 dur=3us", 1000000 + 10 * i + 5);
    say(&script, "5s a anchor pid=1 kind=optimizer name=1 dur=1ms");
    say(&script, "6s a anchor pid=1 kind=optimizer name=1 dur=1ms");
    say_end(&script, 6000);
    struct report *report = script_analyze(&script, &(struct options){0});
    report_each_step(report, step_rows_add, &rows);
    assert_int_equal(rows.nr, 3);
    assert_int_equal(rows.rows[0].class_ns[BC_other], nr * 3000ull);
    assert_int_equal(rows.rows[0].class_ns[BC_compute], 4000000000 - nr * 3000ull);
    report_free(report);
}

/* ---- layers ------------------------------------------------------------------------------- */

#define SPAN_TIME 200

static void split_by_counting(const struct span *spans, size_t nr, uint64_t from, uint64_t to, uint64_t *ret)
{
    memset(ret, 0, (LAYER_MAX + 1) * sizeof(*ret));
    for (uint64_t at = from; at < to; at++) {
        bool open[LAYER_MAX + 1] = {[LAYER_MAX] = true};
        unsigned first = 0;
        for (size_t i = 0; i < nr; i++)
            open[spans[i].layer] |= spans[i].start_ns <= at && at < spans[i].end_ns;
        open[LAYER_HELPER] &= open[LAYER_BLOCKED];
        while (!open[first])
            first++;
        ret[first]++;
    }
}

static void layers_agree_with_counting_every_instant(void **state)
{
    uint32_t seed = 1;
#define RANDOM(n) ((seed = seed * 1664525 + 1013904223) >> 8) % (n)
    for (unsigned round = 0; round < 5000; round++) {
        struct span spans[12];
        uint64_t expected[LAYER_MAX + 1], got[LAYER_MAX + 1], sum = 0;
        size_t nr = RANDOM(13);
        for (size_t i = 0; i < nr; i++)
            spans[i] =
                (struct span){.start_ns = RANDOM(SPAN_TIME), .end_ns = RANDOM(SPAN_TIME), .layer = RANDOM(LAYER_MAX)};
        uint64_t from = RANDOM(SPAN_TIME), to = RANDOM(SPAN_TIME);
        split_by_counting(spans, nr, from, to, expected);
        assert_int_equal(layers_split(spans, nr, from, to, got), 0);
        assert_memory_equal(got, expected, sizeof(got));
        for (unsigned i = 0; i <= LAYER_MAX; i++)
            sum += got[i];
        assert_int_equal(sum, to > from ? to - from : 0);
    }
#undef RANDOM
}

static void joining_fills_small_gaps_of_one_layer(void **state)
{
    struct span spans[] = {{0, 10, LAYER_DATA}, {5, 12, LAYER_BLOCKED}, {15, 20, LAYER_DATA}, {40, 50, LAYER_DATA}};
    uint64_t split[LAYER_MAX + 1];
    layers_join(spans, 4, LAYER_DATA, 5);
    layers_split(spans, 4, 0, 50, split);
    assert_int_equal(split[LAYER_DATA], 30);
    assert_int_equal(split[LAYER_BLOCKED], 0);
    assert_int_equal(split[LAYER_MAX], 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_lie_between_ends_of_optimizer_steps),
        cmocka_unit_test(waits_are_other_and_do_not_count_twice),
        cmocka_unit_test(short_waits_are_taken_from_running_time),
        cmocka_unit_test(a_checkpoint_is_known_by_what_it_writes),
        cmocka_unit_test(a_window_of_very_many_pieces_adds_up),
        cmocka_unit_test(layers_agree_with_counting_every_instant),
        cmocka_unit_test(joining_fills_small_gaps_of_one_layer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
