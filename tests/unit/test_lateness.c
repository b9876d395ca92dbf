/* Who the others waited for, and whether it is its GPU or its work. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/model/lateness.h"
#include "analysis/model/names.h"
#include "analysis/model/rank_kernels.h"

#define MS 1000000

/* A step of 100 ms in which the rank computes, is busy on the host, and waits for the rest. */
static void row(struct lateness *lateness, uint32_t step, int rank, int compute_ms, int host_ms)
{
    struct report_step row = {.step = step, .rank = rank, .start_ns = 0, .end_ns = 100 * MS};
    row.class_ns[BC_compute] = (int64_t)compute_ms * MS;
    row.class_ns[BC_host] = (int64_t)host_ms * MS;
    row.comm_wait_ns = (int64_t)(100 - compute_ms - host_ms) * MS;
    row.class_ns[BC_comm_exposed] = row.comm_wait_ns;
    assert_int_equal(lateness_row(lateness, &row), 0);
}

static void begin(struct lateness *lateness, size_t nr, int (*team)(int))
{
    int numbers[16], teams[16];
    for (size_t i = 0; i < nr; i++) {
        numbers[i] = (int)i;
        teams[i] = team ? team((int)i) : 0;
    }
    assert_int_equal(lateness_init(lateness, numbers, teams, nr), 0);
}

static uint64_t late_steps(const struct late_rank *rank)
{
    return rank->by[LATE_kernels].steps + rank->by[LATE_host].steps + rank->by[LATE_elsewhere].steps;
}

static void the_one_that_waits_least_is_late(void **state)
{
    struct lateness lateness;
    begin(&lateness, 4, NULL);
    for (uint32_t step = 0; step < 50; step++)
        for (int rank = 3; rank >= 0; rank--)
            row(&lateness, step, rank, rank == 2 ? 99 : 80, 0);
    assert_int_equal(lateness.steps, 50);
    assert_int_equal(lateness.ranks[2].by[LATE_kernels].steps, 50);
    assert_true(lateness.ranks[2].by[LATE_kernels].lost_ns == 50. * 19 * MS);
    assert_true(lateness.ranks[2].by[LATE_kernels].class_ns[BC_compute] == 50. * 19 * MS);
    assert_int_equal(late_steps(&lateness.ranks[0]) + late_steps(&lateness.ranks[1]) + late_steps(&lateness.ranks[3]),
                     0);
    lateness_done(&lateness);
}

static void a_little_later_is_not_late(void **state)
{
    struct lateness lateness;
    begin(&lateness, 3, NULL);
    for (int rank = 0; rank < 3; rank++)
        row(&lateness, 1, rank, 80 + 2 * (rank == 1), 0); /* 2 ms: less than 3 % */
    assert_int_equal(lateness.steps, 1);
    assert_int_equal(late_steps(&lateness.ranks[1]), 0);
    lateness_done(&lateness);
}

/* A fast one among many is nobody's fault. */
static void early_is_not_late(void **state)
{
    struct lateness lateness;
    begin(&lateness, 4, NULL);
    for (int rank = 0; rank < 4; rank++)
        row(&lateness, 1, rank, rank == 0 ? 40 : 90, 0);
    for (int rank = 0; rank < 4; rank++)
        assert_int_equal(late_steps(&lateness.ranks[rank]), 0);
    lateness_done(&lateness);
}

static int by_half(int rank)
{
    return rank / 2;
}

/* Stages of a pipeline have different work: only within one is anybody late. */
static void teams_are_not_compared(void **state)
{
    struct lateness lateness;
    begin(&lateness, 4, by_half);
    for (int rank = 0; rank < 4; rank++)
        row(&lateness, 1, rank, rank < 2 ? 90 : 50, rank == 3 ? 20 : 0);
    assert_int_equal(late_steps(&lateness.ranks[0]) + late_steps(&lateness.ranks[1]), 0);
    assert_int_equal(lateness.ranks[3].by[LATE_host].steps, 1);
    assert_true(lateness.ranks[3].by[LATE_host].class_ns[BC_host] == 20. * MS);
    lateness_done(&lateness);
}

/* Rows of one rank may be missing, or come thousands of steps later; memory stays what it is. */
static void what_misses_a_rank_is_not_judged(void **state)
{
    struct lateness lateness;
    begin(&lateness, 2, NULL);
    for (uint32_t step = 0; step < 20000; step++)
        row(&lateness, step, 0, 80, 0);
    assert_int_equal(lateness.steps, 0);
    assert_true(lateness.nr_pending <= 4096);
    for (uint32_t step = 19000; step < 20000; step++)
        row(&lateness, step, 1, 95, 0);
    assert_int_equal(lateness.steps, 1000);
    assert_int_equal(lateness.ranks[1].by[LATE_kernels].steps, 1000);
    row(&lateness, 5, 7, 80, 0); /* nobody's */
    lateness_done(&lateness);
}

/* ---- kernels -------------------------------------------------------------------------------- */

static struct name gemm = {.text = "gemm"}, attention = {.text = "attention"}, gemm_there = {.text = "gemm"};

static void add(struct rank_kernels *kernels, const struct name *name, size_t rank, unsigned nr, uint64_t dur_ns)
{
    for (unsigned i = 0; i < nr; i++)
        assert_int_equal(rank_kernels_add(kernels, name, rank, dur_ns), 0);
}

static struct kernel_excess compare(unsigned gemms, uint64_t gemm_ns, uint64_t attention_ns)
{
    static const size_t peers[] = {0, 1, 3};
    struct rank_kernels kernels = {.nr_ranks = 4};
    struct kernel_excess excess;
    for (size_t rank = 0; rank < 4; rank++) {
        /* Rank 3 is on another host, where the same name is another one. */
        add(&kernels, rank == 3 ? &gemm_there : &gemm, rank, rank == 2 ? gemms : 100, rank == 2 ? gemm_ns : 1000);
        add(&kernels, &attention, rank, 100, rank == 2 ? attention_ns : 500);
    }
    assert_true(rank_kernels_compare(&kernels, 2, peers, 3, &excess));
    rank_kernels_done(&kernels);
    return excess;
}

static void all_longer_is_the_gpu(void **state)
{
    struct kernel_excess excess = compare(100, 1300, 650);
    assert_true(excess.slow_share > 0.99);
    assert_true(excess.ratio > 1.29 && excess.ratio < 1.31);
    assert_true(excess.more_ns == 0);
}

static void some_longer_is_the_work(void **state)
{
    struct kernel_excess excess = compare(100, 1000, 900);
    assert_true(excess.slow_share < 0.5);
    assert_string_equal(excess.worst, "attention");
    assert_true(excess.slower_ns == 40000);
}

static void more_of_them_is_the_work(void **state)
{
    struct kernel_excess excess = compare(140, 1000, 500);
    assert_true(excess.slow_share == 0);
    assert_true(excess.more_ns == 40000);
    assert_string_equal(excess.worst, "gemm");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_one_that_waits_least_is_late),
        cmocka_unit_test(a_little_later_is_not_late),
        cmocka_unit_test(early_is_not_late),
        cmocka_unit_test(teams_are_not_compared),
        cmocka_unit_test(what_misses_a_rank_is_not_judged),
        cmocka_unit_test(all_longer_is_the_gpu),
        cmocka_unit_test(some_longer_is_the_work),
        cmocka_unit_test(more_of_them_is_the_work),
    };
    return cmocka_run_group_tests_name("lateness", tests, NULL, NULL);
}
