/* Who is who: ranks by variable, by order and alone, attempts, names over fork, a pid used twice, workers by pipe. */
#include "tests/unit/analyze_text.h"

static void say_trainer(struct script *script, unsigned pid, unsigned ppid, unsigned start_ms, const char *more)
{
    say(script, "%ums a proc pid=%u ppid=%u how=start schema=1 %s start_ns=%ums host=node-a boot=b comm=python3",
        start_ms, pid, ppid, more, start_ms);
    say(script, "%ums a name pid=%u kind=range id=1 text=Optimizer.step#SGD.step", start_ms, pid);
}

static void say_steps(struct script *script, unsigned pid, unsigned from_ms, unsigned nr)
{
    for (unsigned i = 1; i <= nr; i++)
        say(script, "%ums a anchor pid=%u kind=optimizer name=1 dur=1ms", from_ms + 10 * i, pid);
}

static void say_exit(struct script *script, unsigned pid, unsigned ms)
{
    say(script, "%ums a exit pid=%u how=exit start_ns=%ums", ms, pid, ms);
}

#define NO_RANK "rank=-1 world=-1"

static const struct report_rank *rank_of_pid(const struct report *report, uint32_t pid)
{
    for (size_t i = 0; i < report->nr_ranks; i++)
        if (report->ranks[i].pid == pid)
            return &report->ranks[i];
    return NULL;
}

static void the_launcher_tells_the_rank(void **state)
{
    struct script script;
    script_begin(&script);
    say(&script, "0 a proc pid=5 ppid=1 how=start schema=1 " NO_RANK " host=node-a boot=b comm=torchrun");
    say_trainer(&script, 10, 5, 10, "rank=1 world=2");
    say_trainer(&script, 11, 5, 11, "rank=0 world=2");
    say_steps(&script, 10, 100, 12);
    say_steps(&script, 11, 100, 12);
    say_exit(&script, 10, 400);
    say_exit(&script, 11, 400);
    struct report *report = script_analyze(&script, &(struct options){0});
    assert_int_equal(report->nr_ranks, 2);
    assert_int_equal(report->world_size, 2);
    assert_int_equal(rank_of_pid(report, 10)->rank, 1);
    assert_string_equal(rank_of_pid(report, 10)->rank_source, "env");
    assert_int_equal(rank_of_pid(report, 11)->rank, 0);
    assert_null(rank_of_pid(report, 5));
    report_free(report);
}

static void without_a_launcher_the_order_counts(void **state)
{
    struct script script;
    script_begin(&script);
    say(&script, "0 a proc pid=5 ppid=1 how=start schema=1 " NO_RANK " host=node-a boot=b comm=python3");
    for (unsigned pid = 20; pid < 24; pid++)
        say_trainer(&script, pid, 5, 100 - pid, NO_RANK); /* the later pid started first */
    for (unsigned pid = 20; pid < 24; pid++)
        say_steps(&script, pid, 100, 12);
    for (unsigned pid = 20; pid < 24; pid++)
        say_exit(&script, pid, 400);
    struct report *report = script_analyze(&script, &(struct options){0});
    assert_int_equal(report->nr_ranks, 4);
    assert_int_equal(report->world_size, 4);
    assert_int_equal(rank_of_pid(report, 20)->rank, 3);
    assert_int_equal(rank_of_pid(report, 23)->rank, 0);
    assert_string_equal(rank_of_pid(report, 23)->rank_source, "order");
    report_free(report);
}

static void a_second_attempt_counts_on(void **state)
{
    struct script script;
    struct step_rows rows = {0};
    script_begin(&script);
    say_trainer(&script, 10, 5, 10, "rank=0 world=1 attempt=0");
    say_steps(&script, 10, 100, 12);
    say_exit(&script, 10, 300);
    say_trainer(&script, 30, 5, 400, "rank=0 world=1 attempt=1");
    say_steps(&script, 30, 500, 15);
    say_exit(&script, 30, 800);
    struct report *report = script_analyze(&script, &(struct options){0});
    assert_int_equal(report->nr_ranks, 2);
    assert_int_equal(rank_of_pid(report, 30)->attempt, 1);
    report_each_step(report, step_rows_add, &rows);
    assert_int_equal(rows.nr, 27);
    for (size_t i = 0; i < rows.nr; i++)
        assert_int_equal(rows.rows[i].step, i);
    report_free(report);
}

static void a_pid_used_twice_is_two_processes(void **state)
{
    struct script script;
    script_begin(&script);
    say_trainer(&script, 10, 5, 10, NO_RANK);
    say_steps(&script, 10, 100, 12);
    say_exit(&script, 10, 300);
    say_trainer(&script, 10, 7, 400, NO_RANK);
    say_steps(&script, 10, 500, 12);
    say_exit(&script, 10, 800);
    struct report *report = script_analyze(&script, &(struct options){0});
    assert_int_equal(report->nr_ranks, 2);
    assert_int_equal(report->ranks[0].attempt + report->ranks[1].attempt, 1);
    assert_int_equal(report->steps.count, 24);
    report_free(report);
}

static void a_rank_that_got_nowhere_is_there(void **state)
{
    struct script script;
    script_begin(&script);
    say_trainer(&script, 10, 5, 10, "rank=0 world=2");
    say_trainer(&script, 11, 5, 10, "rank=1 world=2");
    say(&script, "20ms a wait pid=11 kind=sleep dur=1ms");
    say_steps(&script, 10, 100, 12);
    say_exit(&script, 10, 300);
    struct report *report = script_analyze(&script, &(struct options){0});
    assert_int_equal(report->nr_ranks, 2);
    assert_int_equal(rank_of_pid(report, 11)->rank, 1);
    assert_null(find_finding(report, "trace-quality"));
    report_free(report);
}

static void a_child_uses_its_parents_names(void **state)
{
    struct script script;
    script_begin(&script);
    say_trainer(&script, 10, 5, 10, NO_RANK);
    say(&script, "10ms a mount pid=10 dev=7 point=/data fstype=nfs4 source=store:/x");
    say(&script, "11ms a name pid=10 kind=dir id=40 dev=7 text=/data/train");
    say(&script,
        "12ms a proc pid=12 ppid=10 how=fork schema=1 " NO_RANK " start_ns=12ms host=node-a boot=b comm=python3");
    say_steps(&script, 10, 100, 12);
    say(&script, "200ms a file_io pid=12 op=read name=40 count=2 size=8KiB busy=1ms dur=2ms");
    say(&script, "201ms a file_io pid=12 op=read name=41 count=2 size=8KiB busy=1ms dur=2ms");
    say_exit(&script, 10, 300);
    struct report *report = script_analyze(&script, &(struct options){0});
    assert_int_equal(report->nr_io, 1);
    assert_string_equal(report->io[0].group, "/data/train");
    assert_string_equal(report->io[0].mount, "/data");
    assert_int_equal(report->io[0].bytes_read, 8192);
    assert_int_equal(report->quality.unresolved, 1);
    report_free(report);
}

/* Workers made by a fork server are no children of their trainer: the pipe tells. */
static void a_worker_is_who_feeds_the_trainer(void **state)
{
    struct script script;
    script_begin(&script);
    say_trainer(&script, 10, 5, 10, "rank=3 world=8");
    say(&script, "12ms a proc pid=50 ppid=10 how=start schema=1 rank=3 world=8 start_ns=12ms host=node-a boot=b");
    say(&script, "13ms a proc pid=60 ppid=50 how=fork schema=1 rank=3 world=8 start_ns=13ms host=node-a boot=b");
    say(&script, "14ms a pipe_io pid=50 op=write count=1 size=8 inode=900"); /* the pid of the worker it made */
    say(&script, "14ms a pipe_io pid=10 op=read count=1 size=8 inode=900");
    for (unsigned i = 0; i < 12; i++) {
        say(&script, "%ums a pipe_io pid=10 tid=15 op=write count=1 size=100 inode=801", 100 + 10 * i);
        say(&script, "%ums a wait pid=60 kind=poll obj=801 dur=6ms", 100 + 10 * i);
        say(&script, "%ums a pipe_io pid=60 op=read count=1 size=100 inode=801", 101 + 10 * i);
        say(&script, "%ums a pipe_io pid=60 tid=61 op=write count=1 size=300 inode=800", 104 + 10 * i);
        say(&script, "%ums a pipe_io pid=10 op=read count=2 size=300 inode=800", 105 + 10 * i);
        say(&script, "%ums a anchor pid=10 kind=optimizer name=1 dur=1ms", 108 + 10 * i);
    }
    say_exit(&script, 10, 300);
    struct report *report = script_analyze(&script, &(struct options){0});
    assert_int_equal(report->nr_ranks, 1);
    assert_int_equal(report->nr_workers, 1);
    assert_int_equal(report->workers[0].pid, 60);
    assert_int_equal(report->workers[0].rank, 3);
    assert_int_equal(report->workers[0].batches, 12);
    assert_int_equal(report->workers[0].blocked_ns, 2000000 + 10 * 6000000); /* from the end of the first step on */
    report_free(report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_launcher_tells_the_rank),       cmocka_unit_test(without_a_launcher_the_order_counts),
        cmocka_unit_test(a_second_attempt_counts_on),        cmocka_unit_test(a_pid_used_twice_is_two_processes),
        cmocka_unit_test(a_rank_that_got_nowhere_is_there),  cmocka_unit_test(a_child_uses_its_parents_names),
        cmocka_unit_test(a_worker_is_who_feeds_the_trainer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
