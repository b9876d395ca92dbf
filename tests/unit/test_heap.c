/* A heap's sums against looking at every byte, with events that are missing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/model/heap.h"

#define BYTES 256

static uint32_t seed = 11;

static uint32_t random_below(uint32_t n)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % n;
}

/* Each byte: the address of its segment and of its block plus 1, 0 none. */
struct bytes {
    unsigned segment[BYTES], block[BYTES];
    bool framework[BYTES];
};

static void clear(unsigned *bytes, unsigned what)
{
    for (unsigned i = 0; i < BYTES && what; i++)
        if (bytes[i] == what)
            bytes[i] = 0;
}

/* Blocks vanish with any part of the segment they lie in. */
static void drop_segment(struct bytes *bytes, unsigned what)
{
    for (unsigned i = 0; i < BYTES; i++)
        if (bytes->segment[i] == what && bytes->block[i])
            clear(bytes->block, bytes->block[i]);
    clear(bytes->segment, what);
}

static void compare(const struct heap *heap, const struct bytes *bytes)
{
    uint64_t reserved = 0, others = 0, allocated = 0, split = 0, hole = 0, run = 0;
    for (unsigned i = 0; i < BYTES; i++) {
        bool mine = bytes->segment[i] && bytes->framework[i], live = false;
        reserved += mine;
        others += bytes->segment[i] && !mine;
        allocated += bytes->block[i] != 0;
        run = mine && !bytes->block[i] ? run + 1 : 0;
        hole = run > hole ? run : hole;
        for (unsigned j = 0; j < BYTES && mine; j++)
            live |= bytes->segment[j] == bytes->segment[i] && bytes->block[j];
        split += live && !bytes->block[i];
    }
    assert_int_equal(heap->reserved, reserved);
    assert_int_equal(heap->others, others);
    assert_int_equal(heap->allocated, allocated);
    assert_int_equal(heap->split_free, split);
    assert_int_equal(heap_largest_hole(heap), hole);
    assert_int_equal(heap_pool_free(heap, 0, false), reserved - allocated);
    assert_int_equal(heap_pool_free(heap, 20, false) + heap_pool_free(heap, 20, true), reserved - allocated);
}

static bool all_framework(const struct bytes *bytes, unsigned at, unsigned size)
{
    bool all = at + size <= BYTES;
    for (unsigned i = at; all && i < at + size; i++)
        all = bytes->segment[i] && bytes->framework[i];
    return all;
}

static void sums_agree_with_looking_at_every_byte(void **state)
{
    for (unsigned round = 0; round < 400; round++) {
        struct heap heap = {0};
        struct bytes bytes = {0};
        for (unsigned i = 0; i < 60; i++) {
            unsigned at = random_below(BYTES), size = 1 + random_below(40);
            struct heap_segment gone;
            switch (random_below(5)) {
            case 0:
            case 1: {
                bool framework = random_below(4) != 0;
                size = at + size > BYTES ? BYTES - at : size;
                for (unsigned b = at; b < at + size; b++)
                    drop_segment(&bytes, bytes.segment[b] ? bytes.segment[b] : BYTES + 1);
                for (unsigned b = at; b < at + size; b++) {
                    bytes.segment[b] = at + 1;
                    bytes.framework[b] = framework;
                }
                assert_int_equal(heap_take(&heap, at, size, NULL, framework), 0);
                break;
            }
            case 2:
                if (heap_give(&heap, at, &gone)) {
                    assert_int_equal(gone.address, at);
                    drop_segment(&bytes, at + 1);
                }
                break;
            case 3:
                if (!all_framework(&bytes, at, size))
                    break;
                for (unsigned b = at; b < at + size; b++)
                    clear(bytes.block, bytes.block[b]);
                for (unsigned b = at; b < at + size; b++)
                    bytes.block[b] = at + 1;
                assert_int_equal(heap_hand_out(&heap, at, size), 0);
                break;
            default:
                heap_take_back(&heap, at);
                clear(bytes.block, at + 1);
            }
            compare(&heap, &bytes);
        }
        heap_done(&heap);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_agree_with_looking_at_every_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
