/* session_identity.c - see session_identity.h. */
#include "traces/session_identity.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "traces/session_error.h"

#define UID_NOBODY 65534u /* where a container maps only 65536 ids */

const char *identity_name(enum identity_kind kind)
{
    static const char *const names[] = {"user", "userns", "setuid"};
    return names[kind];
}

/* A number that no other keeper of this machine uses at the same time. */
static uid_t own_number(void)
{
    return IDENTITY_OURS_FIRST + (uid_t)getpid() % 100000000u;
}

static int write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int rc = write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -errno;
    close(fd);
    return rc;
}

/* Moves this process into a user namespace where its uid and gid have the number `inside`. */
static int enter_userns(uid_t inside)
{
    uid_t uid = geteuid();
    gid_t gid = getegid();
    char map[64];

    if (unshare(CLONE_NEWUSER) < 0)
        return -errno;
    int rc = write_file("/proc/self/setgroups", "deny");
    if (rc < 0 && rc != -ENOENT)
        return rc;
    snprintf(map, sizeof(map), "%u %u 1", inside, uid);
    rc = write_file("/proc/self/uid_map", map);
    if (rc < 0)
        return rc;
    snprintf(map, sizeof(map), "%u %u 1", inside, gid);
    return write_file("/proc/self/gid_map", map);
}

/* Would it work? In a child, because a namespace that is entered but not mapped cannot be left. */
static int try_userns(void)
{
    pid_t pid = fork();
    if (pid < 0)
        return -errno;
    if (pid == 0)
        _exit(-enter_userns(own_number()));
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -errno;
    return WIFEXITED(status) ? -WEXITSTATUS(status) : -ECHILD;
}

static int become(uid_t uid, gid_t gid, uid_t saved_uid, gid_t saved_gid)
{
    if (setresgid(gid, gid, saved_gid) < 0 || setresuid(uid, uid, saved_uid) < 0)
        return -errno;
    return 0;
}

/* Same as try_userns, for the uid of our own. */
static int try_setuid(uid_t uid)
{
    pid_t pid = fork();
    if (pid < 0)
        return -errno;
    if (pid == 0)
        _exit(setgroups(0, NULL) < 0 ? errno : -become(uid, uid, 0, 0));
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -errno;
    return WIFEXITED(status) ? -WEXITSTATUS(status) : -ECHILD;
}

int identity_choose(struct session_identity *ret, const char *mode, char **ret_error)
{
    if (getuid() != 0) {
        *ret = (struct session_identity){IDENTITY_USER, getuid(), getgid(), getuid()};
        return 0;
    }
    if (mode && strcmp(mode, "userns") && strcmp(mode, "setuid"))
        return session_fail(ret_error, -EINVAL, "TRSHIM_SESSION_MODE is \"%s\": must be userns or setuid", mode);

    int ns_rc = -EPERM, uid_rc = -EPERM;
    if (!mode || !strcmp(mode, "userns")) {
        ns_rc = try_userns();
        if (ns_rc == 0) {
            uid_t inside = own_number();
            *ret = (struct session_identity){IDENTITY_USERNS, inside, inside, 0};
            ns_rc = enter_userns(inside);
            return ns_rc == 0 ? 0
                              : session_fail(ret_error, ns_rc, "cannot enter a user namespace: %s", strerror(-ns_rc));
        }
    }
    if (!mode || !strcmp(mode, "setuid")) {
        const uid_t numbers[] = {own_number(), UID_NOBODY};
        for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
            uid_rc = try_setuid(numbers[i]);
            if (uid_rc == 0) {
                *ret = (struct session_identity){IDENTITY_SETUID, numbers[i], numbers[i], numbers[i]};
                return 0;
            }
        }
    }
    return session_fail(ret_error, uid_rc,
                        "root may neither make a user namespace (%s) nor take another uid (%s) here, and LTTng gives "
                        "root no private daemon; allow one of the two in the container, or record as an ordinary user",
                        strerror(-ns_rc), strerror(-uid_rc));
}

int identity_enter(const struct session_identity *id)
{
    if (id->kind != IDENTITY_SETUID)
        return 0;
    if (setgroups(0, NULL) < 0)
        return -errno;
    return become(id->uid, id->gid, 0, 0);
}

int identity_leave(const struct session_identity *id)
{
    if (id->kind != IDENTITY_SETUID)
        return 0;
    if (seteuid(0) < 0 || setresuid(0, 0, 0) < 0 || setresgid(0, 0, 0) < 0)
        return -errno;
    return 0;
}

int identity_drop(const struct session_identity *id)
{
    return id->kind == IDENTITY_SETUID ? become(id->uid, id->gid, id->uid, id->gid) : 0;
}
