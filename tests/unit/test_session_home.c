/* test_session_home.c - the session's directory: made privately, refused when it is not ours, swept when stale. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "traces/session_home.h"

static char base[64];
static const struct session_identity as_user = {.kind = IDENTITY_USER};

static int make_base(void **state)
{
    strcpy(base, "/tmp/trshim-unit.XXXXXX");
    if (!mkdtemp(base))
        return -1;
    return setenv("TRSHIM_RUNTIME_DIR", base, 1);
}

static int remove_base(void **state)
{
    tree_remove(AT_FDCWD, base);
    return access(base, F_OK) == 0 ? -1 : 0;
}

static mode_t mode_of(const char *dir, const char *name)
{
    char path[256];
    struct stat st;
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    assert_int_equal(lstat(path, &st), 0);
    return st.st_mode & 0777;
}

static void a_home_is_private_and_goes_without_a_trace(void **state)
{
    struct session_home home;
    assert_int_equal(home_make(&home, &as_user, base, NULL), 0);
    assert_int_equal(strncmp(home.path, base, strlen(base)), 0);
    assert_int_equal(mode_of(home.path, "."), 0700);
    assert_int_equal(mode_of(home.path, "control"), 0600);
    assert_int_equal(home.control->magic, TR_CONTROL_MAGIC);
    int fd = home_connect(home.path);
    assert_true(fd >= 0);
    close(fd);
    char path[HOME_PATH_MAX];
    strcpy(path, home.path);
    home_remove(&home);
    assert_int_equal(access(path, F_OK), -1);
    assert_true(home_connect(path) < 0);
}

static void a_long_directory_is_passed_over(void **state)
{
    char deep[200];
    snprintf(deep, sizeof(deep), "%s/%0100d", base, 0);
    assert_int_equal(mkdir(deep, 0700), 0);
    setenv("TRSHIM_RUNTIME_DIR", deep, 1);
    setenv("XDG_RUNTIME_DIR", base, 1);
    struct session_home home;
    assert_int_equal(home_make(&home, &as_user, base, NULL), 0);
    assert_int_equal(strncmp(home.path, base, strlen(base)), 0);
    home_remove(&home);
    unsetenv("XDG_RUNTIME_DIR");
    setenv("TRSHIM_RUNTIME_DIR", base, 1);
}

static void a_home_whose_keeper_died_is_swept_and_a_living_one_stays(void **state)
{
    struct session_home living, dead, next;
    assert_int_equal(home_make(&living, &as_user, base, NULL), 0);
    assert_int_equal(home_make(&dead, &as_user, base, NULL), 0);
    close(dead.lock_fd); /* what the kernel does to a killed keeper */
    assert_int_equal(home_make(&next, &as_user, base, NULL), 0);
    assert_int_equal(access(dead.path, F_OK), -1);
    assert_int_equal(access(living.path, F_OK), 0);
    home_remove(&living);
    home_remove(&next);
}

static void what_others_put_in_our_way_is_not_removed(void **state)
{
    char victim[128], trap[128], lock[160];
    snprintf(victim, sizeof(victim), "%s/victim", base);
    snprintf(trap, sizeof(trap), "%s/trshim.AAAAAA", base);
    snprintf(lock, sizeof(lock), "%s/lock", victim);
    assert_int_equal(mkdir(victim, 0700), 0);
    close(open(lock, O_CREAT | O_WRONLY, 0600));
    assert_int_equal(symlink(victim, trap), 0);
    home_remove_stale(trap);
    assert_int_equal(access(lock, F_OK), 0);
    assert_int_equal(chmod(victim, 0777), 0); /* others can write it: not one that we made */
    home_remove_stale(victim);
    assert_int_equal(access(lock, F_OK), 0);
}

static void the_meeting_place_is_one_keepers_at_a_time(void **state)
{
    char place[128], *error = NULL;
    struct session_home first, second;
    snprintf(place, sizeof(place), "%s/meet", base);
    assert_int_equal(home_make_at(&first, &as_user, place, NULL), 0);
    assert_int_equal(home_make_at(&second, &as_user, place, &error), -EBUSY);
    assert_non_null(strstr(error, "trshim stop"));
    free(error);
    int fd = home_connect(place); /* the first one is not hurt */
    assert_true(fd >= 0);
    close(fd);
    home_remove(&first);
}

static void a_meeting_place_that_others_can_write_is_refused(void **state)
{
    char place[128], *error = NULL;
    struct session_home home;
    snprintf(place, sizeof(place), "%s/open", base);
    assert_int_equal(mkdir(place, 0700), 0);
    assert_int_equal(chmod(place, 0777), 0);
    assert_int_equal(home_make_at(&home, &as_user, place, &error), -EPERM);
    free(error);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_home_is_private_and_goes_without_a_trace),
        cmocka_unit_test(a_long_directory_is_passed_over),
        cmocka_unit_test(a_home_whose_keeper_died_is_swept_and_a_living_one_stays),
        cmocka_unit_test(what_others_put_in_our_way_is_not_removed),
        cmocka_unit_test(the_meeting_place_is_one_keepers_at_a_time),
        cmocka_unit_test(a_meeting_place_that_others_can_write_is_refused),
    };
    return cmocka_run_group_tests(tests, make_base, remove_base);
}
