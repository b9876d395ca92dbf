/* test_burst.c - small calls become bursts: what joins, what does not, what is emitted. The tracepoint is replaced by
 * a list; everything else is the core's own code. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "shim/core/core.h"

static struct emitted {
    const char *event;
    uint64_t count, bytes, start_ns, dur_ns, busy_ns, key, op;
} list[64];
static size_t nr_emitted;

static void note(struct emitted e)
{
    if (nr_emitted < sizeof(list) / sizeof(*list))
        list[nr_emitted++] = e;
}

static void note_file_io(struct tr_file_io e)
{
    note((struct emitted){"file_io", e.count, e.size_bytes, e.start_ns, e.dur_ns, e.busy_ns, e.name, e.op});
}

static void note_file_meta(struct tr_file_meta e)
{
    note((struct emitted){"file_meta", e.count, e.opens, e.start_ns, e.dur_ns, e.busy_ns, e.name, 0});
}

static void note_pipe_io(struct tr_pipe_io e)
{
    note((struct emitted){"pipe_io", e.count, e.size_bytes, e.start_ns, e.dur_ns, e.busy_ns, e.inode, e.op});
}

static void note_sock_io(struct tr_sock_io e)
{
    note((struct emitted){"sock_io", e.count, e.size_bytes, e.start_ns, e.dur_ns, e.busy_ns, e.name, e.op});
}

static void note_wait(struct tr_wait e)
{
    note((struct emitted){"wait", e.count, e.waker, e.start_ns, e.dur_ns, 0, e.obj, e.kind});
}

static void note_cuda_call(struct tr_cuda_call e)
{
    note((struct emitted){"cuda_call", e.count, 0, e.start_ns, e.dur_ns, e.busy_ns, (uint64_t)e.err, e.act});
}

static void note_wait_sum(struct tr_wait_sum e)
{
    note((struct emitted){"wait_sum", e.count, 0, e.since_ns, e.total_ns, 0, 0, e.kind});
}

#undef EMIT
#define EMIT(name, tid_, ...) note_##name((struct tr_##name){.tid = (tid_), __VA_ARGS__})
#include "shim/core/burst.c"

#define US 1000u
#define MS 1000000u

static struct thread thread;

static int fresh(void **state)
{
    memset(&thread, 0, sizeof(thread));
    nr_emitted = 0;
    options.wait_ns = 100 * US;
    return 0;
}

static void file_read(uint64_t key, uint64_t start_ns, uint64_t dur_ns, uint64_t bytes)
{
    struct burst call = {.key = key,
                         .start_ns = start_ns,
                         .end_ns = start_ns + dur_ns,
                         .busy_ns = dur_ns,
                         .bytes = bytes,
                         .count = 1,
                         .op = TR_io_op_read};
    burst_add(&thread, SLOT_FILE, &call);
}

static void neighbours_join(void **state)
{
    file_read(7, 1 * MS, 10 * US, 100);
    file_read(7, 1 * MS + 20 * US, 10 * US, 200);
    file_read(7, 1 * MS + 500 * US, 10 * US, 300);
    assert_int_equal(nr_emitted, 0);
    burst_flush(&thread);
    assert_int_equal(nr_emitted, 1);
    assert_int_equal(list[0].count, 3);
    assert_int_equal(list[0].bytes, 600);
    assert_int_equal(list[0].busy_ns, 30 * US);
    assert_int_equal(list[0].start_ns, 1 * MS);
    assert_int_equal(list[0].dur_ns, 510 * US);
}

static void another_file_ends_it(void **state)
{
    file_read(7, 1 * MS, 10 * US, 100);
    file_read(8, 1 * MS + 20 * US, 10 * US, 200);
    assert_int_equal(nr_emitted, 1);
    assert_int_equal(list[0].key, 7);
}

static void a_gap_ends_it(void **state)
{
    file_read(7, 1 * MS, 10 * US, 100);
    file_read(7, 1 * MS + 10 * US + BURST_GAP_NS + 1, 10 * US, 100);
    assert_int_equal(nr_emitted, 1);
}

static void a_slow_call_stands_alone(void **state)
{
    file_read(7, 1 * MS, 10 * US, 1);
    file_read(7, 1 * MS + 20 * US, BURST_SLOW_NS, 2);
    file_read(7, 3 * MS, 10 * US, 4);
    burst_flush(&thread);
    assert_int_equal(nr_emitted, 3);
    assert_int_equal(list[0].bytes, 1);
    assert_int_equal(list[1].bytes, 2);
    assert_int_equal(list[1].dur_ns, BURST_SLOW_NS);
    assert_int_equal(list[2].bytes, 4);
}

static void it_does_not_grow_for_ever(void **state)
{
    for (uint64_t i = 0; i < 400; i++)
        file_read(7, 1 * MS + i * 500 * US, 10 * US, 1);
    burst_flush(&thread);
    uint64_t calls = 0;
    for (size_t i = 0; i < nr_emitted; i++) {
        assert_true(list[i].dur_ns <= BURST_SPAN_NS);
        calls += list[i].count;
    }
    assert_int_equal(calls, 400);
}

static void launches_join_and_a_synchronisation_does_not(void **state)
{
    struct burst launch = {
        .start_ns = MS, .end_ns = MS + 5 * US, .busy_ns = 5 * US, .count = 1, .op = TR_cuda_act_launch};
    struct burst sync = {.start_ns = 2 * MS,
                         .end_ns = 2 * MS + BURST_SLOW_CUDA_NS,
                         .busy_ns = BURST_SLOW_CUDA_NS,
                         .count = 1,
                         .op = TR_cuda_act_sync};
    for (int i = 0; i < 10; i++) {
        burst_add(&thread, SLOT_CUDA, &launch);
        launch.start_ns += 20 * US;
        launch.end_ns += 20 * US;
    }
    assert_int_equal(nr_emitted, 0);
    burst_add(&thread, SLOT_CUDA, &sync);
    assert_int_equal(nr_emitted, 2);
    assert_int_equal(list[0].count, 10);
    assert_int_equal(list[0].busy_ns, 50 * US);
    assert_int_equal(list[1].op, TR_cuda_act_sync);
    assert_int_equal(list[1].dur_ns, BURST_SLOW_CUDA_NS);
}

static void bytes_beyond_32_bits_are_kept(void **state)
{
    uint64_t sum = 0, huge = 10000000000u;
    file_read(7, 1 * MS, 10 * US, huge);
    file_read(7, 1 * MS + 20 * US, 10 * US, 5);
    burst_flush(&thread);
    for (size_t i = 0; i < nr_emitted; i++)
        sum += list[i].bytes;
    assert_int_equal(sum, huge + 5);
}

static void the_tender_closes_what_is_stale(void **state)
{
    file_read(7, 1 * MS, 10 * US, 1);
    burst_flush_stale(&thread, 1 * MS - 1);
    assert_int_equal(nr_emitted, 0);
    burst_flush_stale(&thread, 1 * MS);
    assert_int_equal(nr_emitted, 1);
    burst_flush(&thread);
    assert_int_equal(nr_emitted, 1);
}

static void a_taken_slot_loses_nothing(void **state)
{
    file_read(7, 1 * MS, 10 * US, 1);
    atomic_store(&thread.slots[SLOT_FILE].taken, 1); /* a signal handler runs over us */
    file_read(7, 1 * MS + 20 * US, 10 * US, 2);
    assert_int_equal(nr_emitted, 1);
    assert_int_equal(list[0].bytes, 2);
    atomic_store(&thread.slots[SLOT_FILE].taken, 0);
    burst_flush(&thread);
    assert_int_equal(nr_emitted, 2);
    assert_int_equal(list[1].bytes, 1);
}

static void slices_are_one_wait(void **state)
{
    burst_wait(&thread, TR_wait_kind_cond, 9, 0, 0, 5 * MS);
    burst_wait(&thread, TR_wait_kind_cond, 9, 0, 5 * MS + 10 * US, 10 * MS);
    burst_wait(&thread, TR_wait_kind_cond, 9, 0, 11 * MS, 12 * MS);
    burst_flush(&thread);
    assert_int_equal(nr_emitted, 2);
    assert_int_equal(list[0].count, 2);
    assert_int_equal(list[0].dur_ns, 10 * MS);
    assert_int_equal(list[1].start_ns, 11 * MS);
}

static void short_waits_are_summed(void **state)
{
    for (unsigned i = 0; i < 10; i++)
        burst_wait(&thread, TR_wait_kind_sem, 9, 0, i * MS, i * MS + 50 * US);
    burst_flush(&thread);
    assert_int_equal(nr_emitted, 1);
    assert_string_equal(list[0].event, "wait_sum");
    assert_int_equal(list[0].count, 10);
    assert_int_equal(list[0].dur_ns, 500 * US);
    burst_flush(&thread);
    assert_int_equal(nr_emitted, 1);
}

static void call_at(enum slot_kind kind, uint64_t key, uint64_t start_ns)
{
    struct burst call = {
        .key = key, .start_ns = start_ns, .end_ns = start_ns + US, .busy_ns = US, .bytes = 100, .count = 1};
    burst_add(&thread, kind, &call);
}

static void a_launch_between_two_reads_keeps_them_apart(void **state)
{
    static const enum slot_kind kinds[] = {SLOT_PIPE, SLOT_PIPE, SLOT_CUDA, SLOT_CUDA, SLOT_PIPE, SLOT_CUDA};
    static const char *const events[] = {"pipe_io", "cuda_call", "pipe_io", "cuda_call"};
    static const uint64_t counts[] = {2, 2, 1, 1};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
        call_at(kinds[i], 7, 10 * US * i);
    burst_flush(&thread);
    assert_int_equal(nr_emitted, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(list[i].event, events[i]);
        assert_int_equal(list[i].count, counts[i]);
    }
}

static void a_file_between_two_reads_does_not(void **state)
{
    call_at(SLOT_PIPE, 7, 0);
    file_read(8, 2 * US, US, 10);
    call_at(SLOT_PIPE, 7, 4 * US);
    burst_flush(&thread);
    assert_int_equal(nr_emitted, 2);
    assert_string_equal(list[1].event, "pipe_io");
    assert_int_equal(list[1].count, 2);
}

static int tables(void **state)
{
    return name_init();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(neighbours_join, fresh),
        cmocka_unit_test_setup(another_file_ends_it, fresh),
        cmocka_unit_test_setup(a_gap_ends_it, fresh),
        cmocka_unit_test_setup(a_slow_call_stands_alone, fresh),
        cmocka_unit_test_setup(it_does_not_grow_for_ever, fresh),
        cmocka_unit_test_setup(launches_join_and_a_synchronisation_does_not, fresh),
        cmocka_unit_test_setup(bytes_beyond_32_bits_are_kept, fresh),
        cmocka_unit_test_setup(the_tender_closes_what_is_stale, fresh),
        cmocka_unit_test_setup(a_taken_slot_loses_nothing, fresh),
        cmocka_unit_test_setup(slices_are_one_wait, fresh),
        cmocka_unit_test_setup(short_waits_are_summed, fresh),
        cmocka_unit_test_setup(a_launch_between_two_reads_keeps_them_apart, fresh),
        cmocka_unit_test_setup(a_file_between_two_reads_does_not, fresh),
    };
    return cmocka_run_group_tests_name("burst", tests, tables, NULL);
}
