/* test_session_prune.c - the oldest detail goes, whatever CPU it is of; small channels and open files stay. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "traces/session_home.h"
#include "traces/session_metadata.h"
#include "traces/session_prune.h"

static char base[64];
static int base_fd = -1;

/* A file of 1000 bytes below ust/uid/0/64-bit, last written at `when`. */
static void put(const char *name, long when)
{
    char path[256], bytes[1000] = {0};
    snprintf(path, sizeof(path), "%s/ust/uid/0/64-bit/%s", base, name);
    int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, sizeof(bytes)), sizeof(bytes));
    const struct timespec times[2] = {{.tv_sec = when}, {.tv_sec = when}};
    assert_int_equal(futimens(fd, times), 0);
    close(fd);
}

static int there(const char *name)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/ust/uid/0/64-bit/%s", base, name);
    return access(path, F_OK) == 0;
}

static int setup(void **state)
{
    static const char *const dirs[] = {"ust", "ust/uid", "ust/uid/0", "ust/uid/0/64-bit", "ust/uid/0/64-bit/index"};
    char path[256];
    strcpy(base, "/tmp/trshim-unit.XXXXXX");
    if (!mkdtemp(base))
        return -1;
    for (size_t i = 0; i < sizeof(dirs) / sizeof(*dirs); i++) {
        snprintf(path, sizeof(path), "%s/%s", base, dirs[i]);
        if (mkdir(path, 0700) < 0)
            return -1;
    }
    base_fd = open(base, O_RDONLY | O_DIRECTORY);
    return base_fd < 0 ? -1 : 0;
}

static int teardown(void **state)
{
    close(base_fd);
    tree_remove(AT_FDCWD, base);
    return 0;
}

static void the_oldest_of_all_cpus_goes_first(void **state)
{
    uint64_t left;
    put("state_0", 1);
    put("data_0_0", 10);
    put("data_0_1", 50);
    put("data_1_9", 20); /* by age, not by number */
    put("data_1_10", 30);
    put("data_1_11", 60);
    put("index/data_0_0.idx", 10);
    assert_int_equal(prune_trace(base_fd, 5500, &left), 0);
    assert_int_equal(left, 5000);
    assert_false(there("data_0_0"));
    assert_false(there("index/data_0_0.idx"));
    assert_true(there("data_1_9"));
    assert_int_equal(prune_trace(base_fd, 4500, &left), 0);
    assert_false(there("data_1_9"));
    assert_true(there("data_1_10"));
}

static void what_is_being_written_and_what_must_stay_stays(void **state)
{
    uint64_t left;
    put("state_0", 1);
    put("steps_0", 1);
    put("data_0", 1); /* LTTng without a file size: not one of many */
    put("data_0_4", 2);
    put("data_1_7", 3);
    assert_int_equal(prune_trace(base_fd, 0, &left), 0);
    assert_int_equal(left, 5000);
    assert_true(there("state_0") && there("steps_0") && there("data_0") && there("data_0_4") && there("data_1_7"));
}

static void a_trace_without_streams_is_nothing(void **state)
{
    uint64_t left = 1;
    char empty[] = "/tmp/trshim-unit.XXXXXX";
    assert_non_null(mkdtemp(empty));
    int empty_fd = open(empty, O_RDONLY | O_DIRECTORY);
    assert_int_equal(prune_trace(empty_fd, 0, &left), 0);
    assert_int_equal(left, 0);
    close(empty_fd);
    rmdir(empty);
}

/* One metadata packet of text. */
static void put_metadata(const char *text)
{
    struct {
        uint32_t magic;
        uint8_t uuid[16];
        uint32_t checksum, content_bits, packet_bits;
        uint8_t rest[5];
    } __attribute__((packed)) header = {.magic = 0x75d11d57};
    char path[256], bytes[4096] = {0};
    size_t len = strlen(text);
    header.content_bits = (uint32_t)((sizeof(header) + len) * 8);
    header.packet_bits = sizeof(bytes) * 8;
    memcpy(bytes, &header, sizeof(header));
    memcpy(bytes + sizeof(header), text, len);
    snprintf(path, sizeof(path), "%s/ust/uid/0/64-bit/metadata", base);
    int fd = open(path, O_CREAT | O_WRONLY | O_APPEND, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, sizeof(bytes)), sizeof(bytes));
    close(fd);
}

static void metadata_is_complete_when_it_describes_every_event(void **state)
{
    assert_int_equal(metadata_wait(base_fd, 2, 0), 0); /* no process registered: nothing to wait for */
    put_metadata("/* CTF 1.8 */\nevent {\n};\n\neve");
    assert_true(metadata_wait(base_fd, 2, 20) < 0);
    put_metadata("nt {\n};\n"); /* a word lies across two packets */
    assert_int_equal(metadata_wait(base_fd, 2, 20), 0);
    assert_true(metadata_wait(base_fd, 3, 20) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_oldest_of_all_cpus_goes_first, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_being_written_and_what_must_stay_stays, setup, teardown),
        cmocka_unit_test_setup_teardown(a_trace_without_streams_is_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(metadata_is_complete_when_it_describes_every_event, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
