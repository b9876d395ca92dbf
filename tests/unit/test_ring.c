/* test_ring.c - records through shared memory, from another process: all, in order, intact, with either side slow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analysis/input/child.h"
#include "analysis/input/ring.h"

enum { SIZE = 4096, RINGS = 3, RECORDS = 20000 };

struct shared {
    struct ring_group group;
    struct ring rings[RINGS];
    _Alignas(8) char data[RINGS][SIZE];
};

/* A record of a length and bytes that its number gives; it points to itself. */
struct record {
    struct record *self;
    uint64_t number;
    uint8_t bytes[];
};

static size_t length_of(uint64_t number)
{
    return number * 7919 % (SIZE / RING_RECORD_SHARE - 8 - sizeof(struct record));
}

static struct shared *map_shared(void)
{
    struct shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    assert_true(shared != MAP_FAILED);
    for (size_t i = 0; i < RINGS; i++)
        ring_init(&shared->rings[i], &shared->group, shared->data[i], SIZE);
    return shared;
}

static int put(struct ring *ring, uint64_t number)
{
    struct record *record = ring_reserve(ring, sizeof(*record) + length_of(number));

    if (!record)
        return 0;
    record->self = record;
    record->number = number;
    memset(record->bytes, (int)number, length_of(number));
    ring_commit(ring);
    return 1;
}

static void expect(const struct record *record, uint64_t number)
{
    assert_ptr_equal(record->self, record);
    assert_int_equal(record->number, number);
    for (size_t i = 0; i < length_of(number); i++)
        assert_int_equal(record->bytes[i], (uint8_t)number);
}

/* Fills the rings evenly, as a reader process does. */
static void write_all(void *arg)
{
    struct shared *shared = arg;
    struct ring *open[RINGS];
    uint64_t next[RINGS] = {0};
    size_t nr_open = RINGS;

    for (size_t i = 0; i < RINGS; i++)
        open[i] = &shared->rings[i];
    while (nr_open > 0) {
        int done = 0;
        for (size_t i = 0; i < RINGS; i++) {
            if (!open[i])
                continue;
            for (int n = 0; n < 10 && next[i] < RECORDS && put(open[i], next[i]); n++, done++)
                next[i]++;
            ring_publish(open[i], false);
            if (next[i] == RECORDS) {
                ring_end(open[i]);
                open[i] = NULL;
                nr_open--;
            }
        }
        if (done == 0 && nr_open > 0) {
            for (size_t i = 0; i < RINGS; i++)
                if (open[i])
                    ring_publish(open[i], true);
            ring_wait_room(&shared->group, open, RINGS);
        }
    }
}

static const struct record *take(struct ring *ring)
{
    for (;;) {
        const struct record *record = ring_peek(ring);
        if (record || ring_ended(ring))
            return record;
        ring_wait_record(ring);
    }
}

static void between_processes(void **state)
{
    struct shared *shared = map_shared();
    pid_t pid = child_start(write_all, shared);
    char how[64];

    assert_true(pid > 0);
    for (uint64_t number = 0; number < RECORDS; number++)
        for (size_t i = 0; i < RINGS; i++) {
            const struct record *record = take(&shared->rings[i]);
            assert_non_null(record);
            expect(record, number);
            ring_release(&shared->rings[i]);
        }
    for (size_t i = 0; i < RINGS; i++)
        assert_null(take(&shared->rings[i]));
    while (!child_has_ended(pid))
        usleep(1000);
    assert_null(child_stop(pid, how, sizeof(how)));
    munmap(shared, sizeof(*shared));
}

/* One ring after the other: the writer must go on with a ring that is waited for while others are full. */
static void one_ring_at_a_time(void **state)
{
    struct shared *shared = map_shared();
    pid_t pid = child_start(write_all, shared);
    char how[64];

    for (size_t i = RINGS; i-- > 0;) {
        uint64_t number = 0;
        for (const struct record *record; (record = take(&shared->rings[i])); number++) {
            expect(record, number);
            ring_release(&shared->rings[i]);
        }
        assert_int_equal(number, RECORDS);
    }
    (void)child_stop(pid, how, sizeof(how));
    munmap(shared, sizeof(*shared));
}

static void full_and_empty(void **state)
{
    struct shared *shared = map_shared();
    struct ring *ring = &shared->rings[0];
    uint64_t nr = 0, got = 0;

    assert_null(ring_peek(ring));
    assert_false(ring_ended(ring));
    while (put(ring, nr))
        nr++;
    assert_null(ring_peek(ring)); /* nothing is published yet */
    ring_end(ring);
    assert_false(ring_ended(ring));
    for (const struct record *record; (record = ring_peek(ring)); got++) {
        expect(record, got);
        ring_release(ring);
    }
    assert_int_equal(got, nr);
    assert_true(ring_ended(ring));
    munmap(shared, sizeof(*shared));
}

static void die(void *arg)
{
    abort();
}

static void hang(void *arg)
{
    for (;;)
        pause();
}

static void fail_with_3(void *arg)
{
    _exit(3);
}

static void how_children_end(void **state)
{
    char how[64];
    pid_t pid = child_start(die, NULL);

    while (!child_has_ended(pid))
        usleep(1000);
    assert_string_equal(child_stop(pid, how, sizeof(how)), "killed by signal 6 (Aborted)");
    pid = child_start(fail_with_3, NULL);
    while (!child_has_ended(pid))
        usleep(1000);
    assert_string_equal(child_stop(pid, how, sizeof(how)), "ended with status 3");
    pid = child_start(hang, NULL);
    assert_false(child_has_ended(pid));
    assert_non_null(child_stop(pid, how, sizeof(how)));
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(full_and_empty),
        cmocka_unit_test(between_processes),
        cmocka_unit_test(one_ring_at_a_time),
        cmocka_unit_test(how_children_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
