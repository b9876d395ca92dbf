/* program.c - see program.h. */
#include "analysis/cmd/program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define TIMEOUT_MS 20000

static _Noreturn void become(char *const argv[], void (*set_environment)(void *arg), void *arg, int out_fd)
{
    int null_fd = open("/dev/null", O_RDONLY);
    (void)dup2(null_fd, 0);
    (void)dup2(out_fd, 1);
    (void)dup2(out_fd, 2);
    if (set_environment)
        set_environment(arg);
    execvp(argv[0], argv);
    _exit(127);
}

/* Reads to the end or until time is up; what does not fit is thrown away. False: time is up. */
static int collect(int fd, char *said, size_t size)
{
    size_t len = 0;
    char rest[512];
    struct pollfd pollfd = {.fd = fd, .events = POLLIN};
    for (;;) {
        if (poll(&pollfd, 1, TIMEOUT_MS) <= 0)
            return -ETIMEDOUT;
        ssize_t n = len + 1 < size ? read(fd, said + len, size - 1 - len) : read(fd, rest, sizeof(rest));
        if (n <= 0)
            break;
        if (len + 1 < size)
            len += (size_t)n;
    }
    said[len] = '\0';
    return 0;
}

int program_run(char *const argv[], void (*set_environment)(void *arg), void *arg, char *said, size_t size)
{
    int fds[2], status;
    said[0] = '\0';
    if (pipe2(fds, O_CLOEXEC) < 0)
        return -errno;
    pid_t pid = fork();
    if (pid == 0)
        become(argv, set_environment, arg, fds[1]);
    close(fds[1]);
    int rc = pid < 0 ? -errno : collect(fds[0], said, size);
    close(fds[0]);
    if (pid < 0)
        return rc;
    if (rc < 0)
        kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -errno;
    if (rc < 0)
        return rc;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
