/* The table by address of the wrapping network plugin: what is put is found, the older of two of one address goes
 * first, a full neighbourhood takes no more, flags are no addresses; and threads that share it lose nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>

#include "plugin/net/table.h"

static struct table_entry entries[256];
static const struct table table = {entries, 256};

static const void *address(uintptr_t n)
{
    return (const void *)(0x10000 + 64 * n);
}

static void found_and_gone(void **state)
{
    struct table_found found;
    assert_true(table_put(&table, address(1), (struct table_found){5, 6, 7}));
    assert_true(table_get(&table, address(1), &found));
    assert_int_equal(found.what, 6);
    assert_false(table_get(&table, address(2), &found));
    assert_true(table_take(&table, address(1), &found));
    assert_int_equal(found.amount, 7);
    assert_false(table_take(&table, address(1), &found));
}

static void the_older_goes_first(void **state)
{
    struct table_found found;
    assert_true(table_put(&table, address(1), (struct table_found){20, 2, 0}));
    assert_true(table_put(&table, address(1), (struct table_found){10, 1, 0}));
    assert_true(table_take(&table, address(1), &found));
    assert_int_equal(found.what, 1);
    assert_true(table_take(&table, address(1), &found));
    assert_int_equal(found.what, 2);
}

static void no_addresses(void **state)
{
    assert_false(table_put(&table, NULL, (struct table_found){0}));
    assert_false(table_put(&table, (void *)1, (struct table_found){0})); /* what NCCL puts into a request as a flag */
}

static void full(void **state)
{
    unsigned kept = 0;
    struct table_found found;
    for (uintptr_t i = 0; i < 1000; i++)
        kept += table_put(&table, address(i), (struct table_found){i, i, i});
    assert_true(kept > 128 && kept <= 256);
    for (uintptr_t i = 0; i < 1000; i++)
        if (table_take(&table, address(i), &found)) {
            assert_int_equal(found.what, i);
            kept--;
        }
    assert_int_equal(kept, 0);
}

static void forgotten(void **state)
{
    struct table_found found;
    for (uintptr_t i = 0; i < 20; i++)
        assert_true(table_put(&table, address(i), (struct table_found){i, i % 2 | i << 32, 0}));
    table_forget(&table, 0xffffffff, 1);
    for (uintptr_t i = 0; i < 20; i++)
        assert_int_equal(table_take(&table, address(i), &found), i % 2 == 0);
}

static void *puts_and_takes(void *arg)
{
    uintptr_t mine = (uintptr_t)arg, wrong = 0;
    struct table_found found;
    for (uintptr_t i = 0; i < 20000; i++) {
        const void *key = address(mine * 8 + i % 8);
        if (!table_put(&table, key, (struct table_found){i, mine, i}))
            wrong++;
        else if (!table_take(&table, key, &found) || found.what != mine || found.amount != i)
            wrong++;
    }
    return (void *)wrong;
}

static void threads(void **state)
{
    pthread_t thread[4];
    for (uintptr_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, puts_and_takes, (void *)i), 0);
    for (int i = 0; i < 4; i++) {
        void *wrong;
        pthread_join(thread[i], &wrong);
        assert_ptr_equal(wrong, NULL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(found_and_gone), cmocka_unit_test(the_older_goes_first),
        cmocka_unit_test(no_addresses),   cmocka_unit_test(full),
        cmocka_unit_test(forgotten),      cmocka_unit_test(threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
