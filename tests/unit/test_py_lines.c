/* Lines from the tables of CPython's code objects; the tables are those of one small function by each version. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "shim/core/py_lines.h"

static void pairs_of_3_9(void **state)
{
    static const unsigned char table[] = {0, 1, 4, 2, 8, 255 /* -1 */};
    assert_int_equal(py_line_lnotab(table, sizeof(table), 10, 0), 11);
    assert_int_equal(py_line_lnotab(table, sizeof(table), 10, 4), 13);
    assert_int_equal(py_line_lnotab(table, sizeof(table), 10, 11), 13);
    assert_int_equal(py_line_lnotab(table, sizeof(table), 10, 12), 12);
    assert_int_equal(py_line_lnotab(table, 0, 10, 4), 10);
}

static void pairs_of_3_10(void **state)
{
    static const unsigned char table[] = {4, 1, 2, 128 /* no line */, 8, 255 /* -1 */};
    assert_int_equal(py_line_ranges(table, sizeof(table), 10, 2), 11);
    assert_int_equal(py_line_ranges(table, sizeof(table), 10, 4), 0);
    assert_int_equal(py_line_ranges(table, sizeof(table), 10, 6), 10);
    assert_int_equal(py_line_ranges(table, sizeof(table), 10, 14), 0);
}

static void locations(void **state)
{
    /* one unit +0 (short); two units +1 (one line, two columns); one unit, no columns, -3; one unit, none; one unit,
     * long, +40: a varint of two bytes */
    static const unsigned char table[] = {0x80, 0x10, 0xd9, 1, 2, 0xe8, 7, 0xf8, 0xf0, 0x50, 1, 0, 1, 1};
    assert_int_equal(py_line_locations(table, sizeof(table), 10, 0), 10);
    assert_int_equal(py_line_locations(table, sizeof(table), 10, 2), 11);
    assert_int_equal(py_line_locations(table, sizeof(table), 10, 5), 11);
    assert_int_equal(py_line_locations(table, sizeof(table), 10, 6), 8);
    assert_int_equal(py_line_locations(table, sizeof(table), 10, 8), 0);
    assert_int_equal(py_line_locations(table, sizeof(table), 10, 10), 48);
    assert_int_equal(py_line_locations(table, sizeof(table), 10, 12), 0);
}

/* Whatever the bytes: the sanitizers see a read beyond them. */
static void any_bytes(void **state)
{
    uint32_t seed = 1;

    for (int i = 0; i < 20000; i++) {
        size_t size = (seed >> 16) % 40;
        unsigned char *table = malloc(size + 1), *end = table + 1 + size;
        for (unsigned char *at = table; at < end; at++)
            *at = (unsigned char)((seed = seed * 1103515245u + 12345u) >> 16);
        (void)py_line_lnotab(table + 1, size, 1, i % 100);
        (void)py_line_ranges(table + 1, size, 1, i % 100);
        (void)py_line_locations(table + 1, size, 1, i % 100);
        free(table);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_of_3_9),
        cmocka_unit_test(pairs_of_3_10),
        cmocka_unit_test(locations),
        cmocka_unit_test(any_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
