/* Workers, hand-overs and the reasons of a starved trainer: what each of them is told from, and what it is not. */
#include "tests/unit/analyze_text.h"

/* A trainer (pid 1) and a worker (pid 2, feeder thread 3) joined by pipes: index 70, data 71. A step of 20 ms: the
 * trainer computes 10 ms and waits 10 ms; the worker gets its order, makes the batch (what() says how), writes it. */
static void say_job(struct script *script, const char *attrs)
{
    say(script, "0 a proc pid=1 how=start schema=1 rank=-1 world=-1 host=a boot=b comm=python3");
    say(script, "0 a name pid=1 kind=range id=1 text=Optimizer.step#SGD.step");
    say(script, "0 a name pid=1 kind=dir id=4 text=/data/small");
    say(script, "0 a name pid=1 kind=file id=5 text=/data/shard.tar");
    say(script, "0 a attr pid=1 key=cpu.online value=64");
    if (attrs)
        say(script, "0 a attr pid=1 key=cpu.allowed value=%s", attrs);
    say(script, "10ms a proc pid=2 ppid=1 how=fork schema=1 rank=-1 world=-1 start_ns=10ms host=a boot=b comm=python3");
}

typedef void (*batch_fn)(struct script *script, unsigned from_ms, unsigned to_ms);

static void say_steps(struct script *script, batch_fn batch, unsigned cpu_ms, unsigned runnable_ms)
{
    for (unsigned i = 0; i < 60; i++) {
        unsigned at = 1000 + 20 * i;
        say(script, "%ums a cpu pid=2 at_ns=%ums cpu_ns=%ums runnable_ns=%ums", at, at, cpu_ms * i, runnable_ms * i);
        say(script, "%ums a pipe_io pid=1 tid=9 op=write count=1 size=100 inode=70", at);
        say(script, "%ums a pipe_io pid=2 op=read count=2 size=100 inode=70", at + 1);
        batch(script, at + 1, at + 19);
        say(script, "%ums a pipe_io pid=2 tid=3 op=write count=1 size=300 inode=71", at + 19);
        say(script, "%ums a wait pid=1 kind=poll obj=71 dur=10ms", at + 19);
        say(script, "%u.1ms a pipe_io pid=1 op=read count=2 size=300 inode=71", at + 19);
        say(script, "%u.2ms a anchor pid=1 kind=optimizer name=1 dur=10us", at + 19);
    }
    say(script, "2300ms a exit pid=2 how=quick start_ns=2300ms");
    say(script, "2301ms a exit pid=1 how=exit start_ns=2301ms");
}

static void sleeps_over_small_files(struct script *script, unsigned from, unsigned to)
{
    say(script, "%ums a file_meta pid=2 name=4 count=30 opens=10 busy=200us dur=300us", from + 1);
    say(script, "%ums a file_io pid=2 op=read name=4 count=10 size=20KiB busy=50us dur=300us", from + 2);
    say(script, "%ums a wait pid=2 kind=sleep dur=%ums", to, to - from - 2);
}

static void opens_small_files(struct script *script, unsigned from, unsigned to)
{
    say(script, "%ums a file_meta pid=2 name=4 count=300 opens=100 busy=14ms dur=%ums", to, to - from);
    say(script, "%ums a file_io pid=2 op=read name=4 count=100 size=200KiB busy=3ms dur=%ums", to, to - from);
}

static void reads_slowly(struct script *script, unsigned from, unsigned to)
{
    say(script, "%ums a file_io pid=2 op=read how=8 name=5 count=4 size=256KiB busy=17ms dur=%ums", to, to - from);
}

static void computes(struct script *script, unsigned from, unsigned to)
{
}

static const struct report_finding *starved(struct report **ret, const char *attrs, batch_fn batch, unsigned cpu_ms,
                                            unsigned runnable_ms)
{
    struct script script;
    script_begin(&script);
    say_job(&script, attrs);
    say_steps(&script, batch, cpu_ms, runnable_ms);
    *ret = script_analyze(&script, &(struct options){0});
    const struct report_finding *finding = find_finding(*ret, "dataloader-bound");
    assert_non_null(finding);
    assert_int_equal(finding->severity, SEVERITY_HIGH);
    assert_int_equal(finding->nr_ranks, 1);
    return finding;
}

static void waits_for_the_pipe_are_data(void **state)
{
    struct report *report;
    starved(&report, NULL, computes, 17, 0);
    const struct report_breakdown *mean = report_mean(report);
    assert_true(report_share(mean, mean->class_ns[BC_dataloader]) > 0.49);
    assert_true(report_share(mean, mean->class_ns[BC_dataloader]) < 0.51);
    assert_int_equal(report->nr_workers, 1);
    assert_int_equal(report->workers[0].batches, 60);
    report_free(report);
}

static void a_sleeping_worker_is_no_file_problem(void **state)
{
    struct report *report;
    const struct report_finding *finding = starved(&report, NULL, sleeps_over_small_files, 1, 0);
    assert_non_null(strstr(finding->cause, "blocked"));
    assert_null(find_finding(report, "small-files"));
    assert_null(find_finding(report, "storage-slow"));
    report_free(report);
}

static void many_opens_are_small_files(void **state)
{
    struct report *report;
    const struct report_finding *finding = starved(&report, NULL, opens_small_files, 4, 0);
    assert_non_null(find_finding(report, "small-files"));
    assert_null(find_finding(report, "storage-slow"));
    assert_string_equal(finding->caused_by, "small-files");
    report_free(report);
}

static void slow_reads_are_the_storage(void **state)
{
    struct report *report;
    const struct report_finding *finding = starved(&report, NULL, reads_slowly, 2, 0);
    assert_non_null(find_finding(report, "storage-slow"));
    assert_null(find_finding(report, "small-files"));
    assert_string_equal(finding->caused_by, "storage-slow");
    assert_non_null(strstr(finding->cause, "/data/shard.tar"));
    report_free(report);
}

/* The same slow reads, but the worker is ready without a CPU most of the time, and bound to one: not the storage. */
static void a_narrow_mask_clears_the_storage(void **state)
{
    struct report *report;
    const struct report_finding *finding = starved(&report, "1", reads_slowly, 4, 14);
    const struct report_finding *affinity = find_finding(report, "cpu-affinity");
    assert_non_null(affinity);
    assert_true(affinity->severity >= SEVERITY_MEDIUM);
    assert_null(find_finding(report, "storage-slow"));
    assert_string_equal(finding->caused_by, "cpu-affinity");
    report_free(report);
}

static void a_busy_host_with_a_wide_mask_is_no_affinity(void **state)
{
    struct report *report;
    starved(&report, "64", computes, 4, 14);
    assert_null(find_finding(report, "cpu-affinity"));
    report_free(report);
}

static void one_busy_worker_is_too_few(void **state)
{
    struct report *report;
    const struct report_finding *finding = starved(&report, "64", computes, 17, 0);
    assert_non_null(strstr(finding->cause, "on a CPU"));
    const struct report_finding *count = find_finding(report, "worker-count");
    assert_non_null(count);
    assert_int_equal(count->severity, SEVERITY_LOW);
    report_free(report);
}

/* ---- hand-overs without ranges ------------------------------------------------------------ */

static void steps_are_told_from_hand_overs_alone(void **state)
{
    struct script script;
    struct step_rows rows = {0};
    script_begin(&script);
    say_job(&script, NULL);
    say(&script, "11ms a child pid=1 how=fork child=2 start_ns=9ms dur=1ms");
    for (unsigned i = 0; i < 40; i++) {
        unsigned at = 1000 + 20 * i;
        say(&script, "%ums a pipe_io pid=2 tid=3 op=write count=1 size=300 inode=71", at);
        say(&script, "%ums a wait pid=1 kind=poll obj=71 dur=8ms", at);
        say(&script, "%u.1ms a pipe_io pid=1 op=read count=2 size=300 inode=71 dur=50us", at);
        say(&script, "%u.3ms a pipe_io pid=1 tid=9 op=write count=1 size=100 inode=70", at);
        say(&script, "%u.4ms a pipe_io pid=2 op=read count=2 size=100 inode=70", at);
    }
    say(&script, "1900ms a exit pid=1 how=exit start_ns=1900ms");
    struct report *report = script_analyze(&script, &(struct options){0});
    assert_string_equal(report->steps.method, "dataloader");
    assert_true(report->steps.confidence >= 0.6);
    report_each_step(report, step_rows_add, &rows);
    assert_int_equal(rows.nr, 40);
    for (size_t i = 1; i < 39; i++) {
        assert_int_equal(rows.rows[i].end_ns - rows.rows[i].start_ns, 20000000);
        assert_in_range(rows.rows[i].class_ns[BC_dataloader], 8000000, 8500000);
    }
    report_free(report);
}

static void behind_a_pin_thread_its_wake_ups_are_hand_overs(void **state)
{
    struct script script;
    struct step_rows rows = {0};
    script_begin(&script);
    say_job(&script, NULL);
    for (unsigned i = 0; i < 40; i++) {
        unsigned at = 1000 + 20 * i;
        say(&script, "%ums a pipe_io pid=2 tid=3 op=write count=1 size=300 inode=71", at - 1);
        say(&script, "%ums a pipe_io pid=1 tid=8 op=read count=2 size=300 inode=71 dur=50us", at);
        say(&script, "%u.2ms a wait pid=1 kind=sem waker=8 obj=0x1000 dur=6ms", at);
    }
    say(&script, "1900ms a exit pid=1 how=exit start_ns=1900ms");
    struct report *report = script_analyze(&script, &(struct options){0});
    assert_string_equal(report->steps.method, "dataloader");
    report_each_step(report, step_rows_add, &rows);
    assert_int_equal(rows.nr, 40);
    for (size_t i = 1; i < 39; i++)
        assert_in_range(rows.rows[i].class_ns[BC_dataloader], 6000000, 6300000);
    report_free(report);
}

/* A job with a GPU (trainer 1, worker 2, pipes as above) that asks for its batches itself, two ahead. */
static void say_gpu_job(struct script *script)
{
    script_begin(script);
    say_job(script, NULL);
    say(script, "11ms a child pid=1 how=fork child=2 start_ns=9ms dur=1ms");
    say(script, "12ms a pipe_io pid=1 op=write count=2 size=200 inode=70");
    say(script, "13ms a pipe_io pid=2 op=read count=2 size=200 inode=70");
}

static void say_batches_arrive(struct script *script, unsigned at_ms, unsigned nr)
{
    say(script, "%ums a pipe_io pid=2 op=write count=%u size=%u inode=71", at_ms - 1, nr, 300 * nr);
    say(script, "%ums a pipe_io pid=1 op=read count=%u size=%u inode=71 dur=10us", at_ms, nr, 300 * nr);
}

/* What a step asks of the GPU, each step the same: a copy, launches. */
static void say_gpu_step(struct script *script, unsigned at_ms)
{
    say(script, "%u.2ms a cuda_call pid=1 act=copy count=1 busy=10us start_ns=%u.2ms dur=10us", at_ms, at_ms);
    say(script, "%u.3ms a cuda_call pid=1 act=launch count=9 busy=50us start_ns=%u.3ms dur=50us", at_ms, at_ms);
}

static void say_ordinary_steps(struct script *script, unsigned nr)
{
    for (unsigned i = 0; i < nr; i++) {
        say_batches_arrive(script, 1000 + 20 * i, 1);
        say(script, "%u.1ms a pipe_io pid=1 op=write count=1 size=100 inode=70", 1000 + 20 * i);
        say_gpu_step(script, 1000 + 20 * i);
    }
}

static size_t steps_of(struct script *script, struct step_rows *ret)
{
    say(script, "9s a exit pid=1 how=exit start_ns=9s");
    struct report *report = script_analyze(script, &(struct options){0});
    assert_string_equal(report->steps.method, "dataloader");
    *ret = (struct step_rows){0};
    report_each_step(report, step_rows_add, ret);
    report_free(report);
    return ret->nr;
}

static void a_batch_read_long_after_its_wait_is_one_hand_over(void **state)
{
    struct script script;
    struct step_rows rows;
    say_gpu_job(&script);
    say_ordinary_steps(&script, 10);
    say(&script, "1204ms a wait pid=1 kind=poll obj=71 dur=20ms"); /* and then it got no CPU for 6 ms */
    say_batches_arrive(&script, 1210, 1);
    say_gpu_step(&script, 1210);
    assert_int_equal(steps_of(&script, &rows), 11);
    assert_int_equal(rows.rows[9].end_ns, 1210000000);
}

static void work_for_the_gpu_keeps_hand_overs_apart(void **state)
{
    struct script script;
    struct step_rows rows;
    say_gpu_job(&script);
    say_ordinary_steps(&script, 10);
    say_batches_arrive(&script, 1200, 1);
    say_gpu_step(&script, 1200);
    say(&script, "1200.6ms a pipe_io pid=1 op=read count=1 size=300 inode=71 dur=10us"); /* 0.6 ms after the other */
    say(&script, "1200.7ms a cuda_call pid=1 act=copy count=1 busy=10us dur=10us");
    assert_int_equal(steps_of(&script, &rows), 12);
    assert_int_equal(rows.rows[10].start_ns, 1200000000);
    assert_int_equal(rows.rows[10].end_ns, 1200600000);
}

static void a_batch_that_came_early_is_taken_when_it_is_copied(void **state)
{
    struct script script;
    struct step_rows rows;
    say_gpu_job(&script);
    say_ordinary_steps(&script, 10);
    say_batches_arrive(&script, 1200, 2); /* the other one first */
    say_gpu_step(&script, 1200);
    say_gpu_step(&script, 1220);
    assert_int_equal(steps_of(&script, &rows), 12);
    assert_int_equal(rows.rows[10].end_ns, 1220200000);
    assert_int_equal(rows.rows[11].start_ns, 1220200000);
}

static void copies_without_a_batch_to_take_are_no_steps(void **state)
{
    struct script script;
    struct step_rows rows;
    say_gpu_job(&script);
    say_ordinary_steps(&script, 10);
    say_batches_arrive(&script, 1200, 2);
    for (unsigned i = 0; i < 6; i++) /* two steps, and then a validation that has its data in memory */
        say_gpu_step(&script, 1200 + 20 * i);
    assert_int_equal(steps_of(&script, &rows), 12);
}

static void copies_of_a_checkpoint_are_no_steps(void **state)
{
    struct script script;
    struct step_rows rows;
    say_gpu_job(&script);
    say_ordinary_steps(&script, 10);
    say_batches_arrive(&script, 1200, 2); /* one in stock, but workers are told to load more: it is not taken yet */
    say(&script, "1200.1ms a pipe_io pid=1 op=write count=1 size=100 inode=70");
    say_gpu_step(&script, 1200);
    say(&script, "1210ms a cuda_call pid=1 act=copy count=1 busy=1ms dur=1ms");
    say(&script, "1220ms a pipe_io pid=1 op=write count=1 size=100 inode=70");
    say_gpu_step(&script, 1220);
    assert_int_equal(steps_of(&script, &rows), 12);
    assert_int_equal(rows.rows[11].start_ns, 1220000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_for_the_pipe_are_data),
        cmocka_unit_test(a_sleeping_worker_is_no_file_problem),
        cmocka_unit_test(many_opens_are_small_files),
        cmocka_unit_test(slow_reads_are_the_storage),
        cmocka_unit_test(a_narrow_mask_clears_the_storage),
        cmocka_unit_test(a_busy_host_with_a_wide_mask_is_no_affinity),
        cmocka_unit_test(one_busy_worker_is_too_few),
        cmocka_unit_test(steps_are_told_from_hand_overs_alone),
        cmocka_unit_test(behind_a_pin_thread_its_wake_ups_are_hand_overs),
        cmocka_unit_test(a_batch_read_long_after_its_wait_is_one_hand_over),
        cmocka_unit_test(work_for_the_gpu_keeps_hand_overs_apart),
        cmocka_unit_test(a_batch_that_came_early_is_taken_when_it_is_copied),
        cmocka_unit_test(copies_without_a_batch_to_take_are_no_steps),
        cmocka_unit_test(copies_of_a_checkpoint_are_no_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
