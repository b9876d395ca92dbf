/* child.c - see child.h. */
#include "analysis/input/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

/* A sanitizer's report must be seen. */
static void be_silent(void)
{
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    (void)dup2(null, STDOUT_FILENO);
    (void)dup2(null, STDERR_FILENO);
#endif
}

/* A trace has a file per CPU and channel: as many files as we may. */
static void set_limits(void)
{
    struct rlimit files;

    (void)setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
}

pid_t child_start(void (*main)(void *arg), void *arg)
{
    pid_t parent = getpid(), pid = fork();

    if (pid != 0)
        return pid < 0 ? -errno : pid;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) /* it ended before we asked to be told */
        _exit(1);
    set_limits();
    be_silent();
    child_got_on();
    main(arg);
    _exit(0);
}

void child_got_on(void)
{
    (void)setitimer(ITIMER_PROF, &(struct itimerval){.it_value.tv_sec = CHILD_PATIENCE_S}, NULL);
}

bool child_has_ended(pid_t pid)
{
    siginfo_t info = {0};

    return waitid(P_PID, pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid == pid;
}

const char *child_stop(pid_t pid, char *how, size_t size)
{
    bool by_itself = child_has_ended(pid);
    int status = 0;

    if (!by_itself)
        (void)kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (by_itself && status == 0)
        return NULL;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF)
        (void)snprintf(how, size, "stopped since it ran in circles");
    else if (WIFSIGNALED(status))
        (void)snprintf(how, size, "killed by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        (void)snprintf(how, size, "ended with status %d", WEXITSTATUS(status));
    return how;
}
