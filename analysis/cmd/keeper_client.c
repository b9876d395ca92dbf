/* keeper_client.c - see keeper.h: what `record`, `start`, `stop` and `level` do to reach a keeper. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analysis/cmd/keeper_message.h"
#include "traces/session_error.h"

/* One question, one answer. */
static int ask(int fd, const struct keeper_message *question, struct keeper_message *ret)
{
    if (question && send(fd, question, sizeof(*question), MSG_NOSIGNAL) != sizeof(*question))
        return errno ? -errno : -EIO;
    ssize_t n;
    do
        n = recv(fd, ret, sizeof(*ret), 0);
    while (n < 0 && errno == EINTR);
    return n == sizeof(*ret) ? 0 : n < 0 ? -errno : -EPIPE;
}

static int ask_type(int fd, enum keeper_message_type type, struct keeper_message *ret)
{
    const struct keeper_message question = {.type = type};
    return ask(fd, &question, ret);
}

int keeper_spawn(const struct keeper_options *options, pid_t *ret_pid, int *ret_fd, struct keeper_welcome *ret,
                 char **ret_error)
{
    int fds[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
        return session_fail(ret_error, -errno, "cannot make a socket: %s", strerror(errno));
    pid_t pid = fork();
    if (pid < 0) {
        int rc = session_fail(ret_error, -errno, "cannot fork: %s", strerror(errno));
        close(fds[0]);
        close(fds[1]);
        return rc;
    }
    if (pid == 0)
        keeper_main(options, fds[1]);
    close(fds[1]);

    struct keeper_message m;
    int rc = ask(fds[0], NULL, &m);
    if (rc == 0 && m.type == KEEPER_WELCOME) {
        *ret_pid = pid;
        *ret_fd = fds[0];
        *ret = m.u.welcome;
        return 0;
    }
    if (rc == 0)
        rc = session_fail(ret_error, -EIO, "%s", m.u.text);
    else
        rc = session_fail(ret_error, rc, "the keeper of the session died; see: trshim doctor");
    close(fds[0]);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return rc;
}

static int connect_as(const char *home, enum keeper_message_type who, struct keeper_welcome *ret)
{
    int fd = home_connect(home);
    if (fd < 0)
        return fd;
    struct keeper_message m;
    int rc = ask_type(fd, who, &m);
    if (rc == 0 && m.type != KEEPER_WELCOME)
        rc = -EPIPE;
    if (rc < 0) {
        close(fd);
        return rc;
    }
    *ret = m.u.welcome;
    return fd;
}

int keeper_join(const char *home, struct keeper_welcome *ret)
{
    return connect_as(home, KEEPER_HELLO, ret);
}

int keeper_visit(const char *home, struct keeper_welcome *ret)
{
    return connect_as(home, KEEPER_VISIT, ret);
}

int keeper_say_leave(int fd, bool failed)
{
    const struct keeper_message m = {.type = KEEPER_LEAVE, .level = failed};
    return send(fd, &m, sizeof(m), MSG_NOSIGNAL) == sizeof(m) ? 0 : -errno;
}

int keeper_hear_summary(int fd, struct keeper_summary *ret)
{
    struct keeper_message m;
    int rc = ask(fd, NULL, &m);
    if (rc < 0)
        return rc;
    if (m.type != KEEPER_SUMMARY)
        return 0;
    *ret = m.u.summary;
    return 1;
}

int keeper_stop(int fd, struct keeper_summary *ret)
{
    struct keeper_message m;
    int rc = ask_type(fd, KEEPER_STOP, &m);
    if (rc == 0)
        *ret = m.u.summary;
    return rc;
}

static int order(int fd, const struct keeper_message *question, char **ret_error)
{
    struct keeper_message m;
    int rc = ask(fd, question, &m);
    if (rc < 0)
        return session_fail(ret_error, rc, "the keeper of the session died");
    return m.type == KEEPER_DONE ? 0 : session_fail(ret_error, -EIO, "%s", m.u.text);
}

int keeper_level(int fd, enum tr_level level, char **ret_error)
{
    return order(fd, &(struct keeper_message){.type = KEEPER_LEVEL, .level = level}, ret_error);
}

int keeper_snapshot(int fd, char **ret_error)
{
    return order(fd, &(struct keeper_message){.type = KEEPER_SNAPSHOT}, ret_error);
}
