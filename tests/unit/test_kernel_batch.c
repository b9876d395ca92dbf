/* test_kernel_batch.c - what goes into a batch of kernels comes out of it, what does not fit is refused, and a batch
 * that a damaged trace made up is known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "traces/kernel_batch.h"

static struct kernel_batch batch;

static int start_empty(void **state)
{
    (void)state;
    memset(&batch, 0, sizeof(batch));
    return 0;
}

static struct tr_kernels sent(void)
{
    return (struct tr_kernels){.pid = 10,
                               .tid = 10,
                               .base_ns = batch.base_ns,
                               .groups = {batch.groups, batch.nr_groups * KERNEL_GROUP_WORDS},
                               .records = {batch.records, batch.nr * KERNEL_RECORD_WORDS}};
}

static struct tr_kernel usual(void)
{
    return (struct tr_kernel){.pid = 10,
                              .tid = 11,
                              .device = 3,
                              .stream = 7,
                              .name = 12,
                              .correlation = 4711,
                              .blocks = 256,
                              .queued_ns = 5000000000,
                              .start_ns = 5000012345,
                              .dur_ns = 6789};
}

static void assert_same(const struct tr_kernel *a, const struct tr_kernel *b)
{
    assert_int_equal(a->pid, b->pid);
    assert_int_equal(a->tid, b->tid);
    assert_int_equal(a->device, b->device);
    assert_int_equal(a->stream, b->stream);
    assert_int_equal(a->name, b->name);
    assert_int_equal(a->correlation, b->correlation);
    assert_int_equal(a->blocks, b->blocks);
    assert_int_equal(a->graph, b->graph);
    assert_int_equal(a->queued_ns, b->queued_ns);
    assert_int_equal(a->start_ns, b->start_ns);
    assert_int_equal(a->dur_ns, b->dur_ns);
}

/* Adds it behind one that sets the base; it must come back as it was. */
static void assert_comes_back(struct tr_kernel kernel)
{
    struct tr_kernel first = usual();
    first.start_ns = 5000000000;
    assert_int_equal(kernel_batch_add(&batch, &first), BATCH_ADDED);
    assert_int_equal(kernel_batch_add(&batch, &kernel), BATCH_ADDED);
    struct tr_kernels event = sent();
    assert_int_equal(kernel_batch_count(&event), 2);
    struct tr_kernel back = kernel_batch_get(&event, 1);
    assert_same(&back, &kernel);
    batch.nr = batch.nr_groups = 0;
}

static void test_extremes(void **state)
{
    struct tr_kernel k = usual();
    (void)state;
    assert_comes_back(k);
    k = usual(), k.queued_ns = 0; /* not known */
    assert_comes_back(k);
    k = usual(), k.queued_ns = k.start_ns + (1u << 30); /* clocks a second apart */
    assert_comes_back(k);
    k = usual(), k.start_ns = 5000000000 + INT32_MAX, k.queued_ns = 1;
    assert_comes_back(k);
    k = usual(), k.start_ns = 5000000000 - (1ull << 31), k.queued_ns = 1;
    assert_comes_back(k);
    k = usual(), k.dur_ns = UINT32_MAX, k.name = (1u << 28) - 1, k.blocks = (1u << 28) - 1;
    assert_comes_back(k);
    k = usual(), k.tid = k.device = k.stream = k.graph = k.correlation = UINT32_MAX;
    assert_comes_back(k);
}

static void test_what_does_not_fit(void **state)
{
    struct tr_kernel k = usual();
    (void)state;
    k.dur_ns = 1ull << 32;
    assert_int_equal(kernel_batch_add(&batch, &k), BATCH_NEVER);
    k = usual(), k.name = 1u << 28;
    assert_int_equal(kernel_batch_add(&batch, &k), BATCH_NEVER);
    k = usual(), k.blocks = 1u << 28;
    assert_int_equal(kernel_batch_add(&batch, &k), BATCH_NEVER);
    k = usual(), k.queued_ns = k.start_ns + (1u << 30) + 1;
    assert_int_equal(kernel_batch_add(&batch, &k), BATCH_NEVER);
    k = usual(), k.start_ns = 1ull << 40, k.queued_ns = 1; /* 18 minutes in the queue */
    assert_int_equal(kernel_batch_add(&batch, &k), BATCH_NEVER);
    k = usual(), k.start_ns = 5, k.queued_ns = UINT64_MAX / 2 + 1;
    assert_int_equal(kernel_batch_add(&batch, &k), BATCH_NEVER);
    assert_int_equal(batch.nr, 0);
}

static void test_full(void **state)
{
    struct tr_kernel k = usual();
    (void)state;
    for (uint32_t i = 0; i < KERNEL_BATCH_MAX; i++)
        assert_int_equal(kernel_batch_add(&batch, &k), BATCH_ADDED);
    assert_int_equal(kernel_batch_add(&batch, &k), BATCH_FULL);

    batch.nr = batch.nr_groups = 0;
    for (k.graph = 0; k.graph < KERNEL_BATCH_GROUPS; k.graph++)
        assert_int_equal(kernel_batch_add(&batch, &k), BATCH_ADDED);
    assert_int_equal(kernel_batch_add(&batch, &k), BATCH_FULL);

    batch.nr = batch.nr_groups = 0;
    k = usual();
    assert_int_equal(kernel_batch_add(&batch, &k), BATCH_ADDED);
    k.start_ns += 1ull << 31;
    assert_int_equal(kernel_batch_add(&batch, &k), BATCH_FULL);
    batch.nr = batch.nr_groups = 0;
    assert_int_equal(kernel_batch_add(&batch, &k), BATCH_ADDED);
}

static void test_damaged(void **state)
{
    struct tr_kernel k = usual();
    (void)state;
    assert_int_equal(kernel_batch_add(&batch, &k), BATCH_ADDED);
    struct tr_kernels good = sent(), bad = good;
    assert_int_equal(kernel_batch_count(&good), 1);
    bad.records.nr = 0;
    assert_true(kernel_batch_count(&bad) < 0);
    bad = good, bad.records.nr = 2;
    assert_true(kernel_batch_count(&bad) < 0);
    bad = good, bad.groups.nr = 1;
    assert_true(kernel_batch_count(&bad) < 0);
    bad = good, bad.groups.nr = 0;
    assert_true(kernel_batch_count(&bad) < 0);
    batch.records[2] |= 15; /* a group that is not there */
    assert_true(kernel_batch_count(&good) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_extremes, start_empty),
        cmocka_unit_test_setup(test_what_does_not_fit, start_empty),
        cmocka_unit_test_setup(test_full, start_empty),
        cmocka_unit_test_setup(test_damaged, start_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
