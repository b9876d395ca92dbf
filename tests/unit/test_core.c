/* test_core.c - the core driven through its table by many threads at once, without a preload and without a session:
 * for ThreadSanitizer, and for what can be asked of its tables. */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "shim/core/burst.h"
#include "shim/core/fd.h"
#include "shim/core/name.h"
#include "shim/core/options.h"
#include "shim/core/thread.h"

const struct shim_core *trshim_core_start(int late, const struct shim_preload *preload);

static __thread struct shim_tls own;
static const struct shim_core *core;

static struct shim_tls *own_tls(void)
{
    return &own;
}

static void set_gate(enum shim_gate gate, const int *to)
{
}

static int start(void **state)
{
    static const struct shim_preload preload = {own_tls, set_gate};
    core = trshim_core_start(0, &preload);
    return core ? 0 : -1;
}

static struct shim_call call_now(void)
{
    struct shim_call c = {.tls = &own, .start_ns = now_ns()};
    c.end_ns = c.start_ns + 1000;
    return c;
}

static void names_are_stable(void **state)
{
    uint32_t a = name_of(TR_name_kind_file, "/data/a", 7), b = name_of(TR_name_kind_file, "/data/b", 7);
    assert_true(a && b && a != b);
    assert_int_equal(a, name_of(TR_name_kind_file, "/data/a", 7));
    assert_int_not_equal(a, name_of(TR_name_kind_dir, "/data/a", 7));
    assert_string_equal(name_text(a), "/data/a");
    assert_int_equal(name_of_dir("/data/x"), name_of(TR_name_kind_dir, "/data", 5));
    assert_string_equal(name_text(name_of_dir("/x")), "/");
    assert_null(name_text(0));
}

static void lists_of_ranks(void **state)
{
    assert_true(options_list_has("", 3));
    assert_true(options_list_has("all", 3));
    assert_true(options_list_has("0,2,8-15", 8));
    assert_true(options_list_has("0,2,8-15", 15));
    assert_true(options_list_has("0,2,8-15", 0));
    assert_false(options_list_has("0,2,8-15", 3));
    assert_false(options_list_has("0,2,8-15", 16));
    assert_false(options_list_has("5", 0));
}

static void a_file_gets_its_name_when_it_is_large(void **state)
{
    struct shim_call c = call_now();
    assert_true(core->enter(&own));
    int fd = open("/etc/passwd", O_RDONLY);
    core->opened(&c, AT_FDCWD, "/etc/passwd", O_RDONLY, fd);
    struct fd_entry *e = fd_lookup(fd);
    assert_string_equal(name_text(fd_file_name(e, fd, 100)), "/etc");
    assert_string_equal(name_text(fd_file_name(e, fd, FD_LARGE_BYTES)), "/etc/passwd");
    core->closing(&c, fd);
    core->closed(&c);
    close(fd);
    int again = open("/etc/group", O_RDONLY); /* the same number, another file, its open unseen */
    assert_int_equal(again, fd);
    assert_string_equal(name_text(fd_file_name(fd_lookup(fd), fd, FD_LARGE_BYTES)), "/etc/group");
    fd_forget(fd);
    close(fd);
}

static void relative_and_dull_paths(void **state)
{
    char buf[4096], want[4200], cwd[4096];
    assert_non_null(getcwd(cwd, sizeof(cwd)));
    snprintf(want, sizeof(want), "%s/x/y", cwd);
    assert_string_equal(fd_absolute(AT_FDCWD, "./x/y", buf, sizeof(buf)), want);
    int dir = open("/etc", O_RDONLY | O_DIRECTORY);
    assert_string_equal(fd_absolute(dir, "group", buf, sizeof(buf)), "/etc/group");
    assert_null(fd_absolute(dir, "group", buf, 8));
    close(dir);
    assert_true(path_is_dull("/proc/self/maps"));
    assert_true(path_is_dull("/dev/urandom"));
    assert_false(path_is_dull("/dev/shm/data/0"));
    assert_false(path_is_dull("/process/x"));
}

enum { NR_THREADS = 8, NR_CALLS = 20000 };

static void *hammer(void *arg)
{
    long id = (long)arg;
    char path[64];
    for (int i = 0; i < NR_CALLS; i++) {
        if (!core->enter(&own))
            return (void *)1;
        struct shim_call c = call_now();
        snprintf(path, sizeof(path), "/data/%d/%ld", i % 100, id % 2);
        int fd = 100 + i % 50; /* the same descriptors from all threads */
        switch (i % 5) {
        case 0:
            core->opened(&c, AT_FDCWD, path, O_RDONLY, fd);
            break;
        case 1:
            core->io(&c, TR_io_op_read, fd, 4096, -1);
            break;
        case 2:
            core->meta(&c, AT_FDCWD, path, false);
            break;
        case 3:
            core->blocking(&own, TR_wait_kind_sem, (uintptr_t)&own, c.start_ns);
            core->wait(&c, TR_wait_kind_sem, (uintptr_t)&own);
            core->posted(&own, &own);
            break;
        case 4:
            core->fd_forget(fd);
            break;
        }
    }
    return NULL;
}

static void close_all(struct thread *t, void *unused)
{
    burst_flush_stale(t, UINT64_MAX);
}

/* Threads come and go, use the same descriptors and names, while a tender closes their bursts. */
static void many_threads_and_a_tender(void **state)
{
    for (int round = 0; round < 3; round++) {
        pthread_t threads[NR_THREADS];
        for (long i = 0; i < NR_THREADS; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, hammer, (void *)i), 0);
        for (int i = 0; i < 200; i++)
            threads_each(close_all, NULL);
        for (int i = 0; i < NR_THREADS; i++) {
            void *result;
            pthread_join(threads[i], &result);
            assert_null(result);
        }
    }
    assert_true(threads_calls() >= 3ull * NR_THREADS * NR_CALLS / 5 * 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_stable),
        cmocka_unit_test(lists_of_ranks),
        cmocka_unit_test(a_file_gets_its_name_when_it_is_large),
        cmocka_unit_test(relative_and_dull_paths),
        cmocka_unit_test(many_threads_and_a_tender),
    };
    return cmocka_run_group_tests_name("core", tests, start, NULL);
}
