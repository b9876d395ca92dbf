/* job.c - see job.h. */
#include "analysis/cmd/job.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "traces/clock.h"

static const int passed_on[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

void job_reserve_stdio(void)
{
    int fd;
    do
        fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd > STDERR_FILENO)
        close(fd);
}

int job_init(struct job *job)
{
    *job = (struct job){.signal_fd = -1};
    /* Blocked and read from a descriptor, not handled: dispositions stay as we found them, for the job to inherit, and
     * a signal that was ignored (nohup) stays ignored. Process 1 gets only signals that it blocks or handles. */
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    for (size_t i = 0; i < sizeof(passed_on) / sizeof(*passed_on); i++)
        sigaddset(&set, passed_on[i]);
    const struct sigaction dfl = {.sa_handler = SIG_DFL};
    if (sigaction(SIGCHLD, &dfl, &job->old_chld) < 0 || sigprocmask(SIG_BLOCK, &set, &job->old_mask) < 0)
        return -errno;
    job->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return job->signal_fd < 0 ? -errno : 0;
}

int job_start(struct job *job, char *const argv[], void (*set_environment)(void *arg), void *arg)
{
    int pipe_fds[2], err = 0;
    if (pipe2(pipe_fds, O_CLOEXEC) < 0)
        return -errno;
    job->pid = fork();
    if (job->pid == 0) {
        set_environment(arg);
        sigaction(SIGCHLD, &job->old_chld, NULL);
        sigprocmask(SIG_SETMASK, &job->old_mask, NULL);
        execvp(argv[0], argv);
        err = errno;
        (void)!write(pipe_fds[1], &err, sizeof(err));
        _exit(job_exec_status(err));
    }
    err = job->pid < 0 ? errno : 0;
    close(pipe_fds[1]);
    /* The pipe closes when exec succeeds. */
    if (!err && read(pipe_fds[0], &err, sizeof(err)) == sizeof(err))
        while (waitpid(job->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    close(pipe_fds[0]);
    return -err;
}

static void pass_on(struct job *job, const struct signalfd_siginfo *info)
{
    /* The terminal sends its signals to the whole process group: the job has it already. */
    bool from_kernel = info->ssi_code == SI_KERNEL;
    if (job->ended || job->pid <= 0)
        return;
    if (!from_kernel)
        kill(job->pid, (int)info->ssi_signo);
    if (info->ssi_signo == SIGTERM && !job->term_at_ns)
        job->term_at_ns = now_ns();
}

static void reap(struct job *job)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        if (pid == job->pid) {
            job->ended = true;
            job->status = status;
        }
}

void job_signals(struct job *job)
{
    struct signalfd_siginfo info;
    while (read(job->signal_fd, &info, sizeof(info)) == sizeof(info))
        if (info.ssi_signo == SIGCHLD)
            reap(job);
        else
            pass_on(job, &info);
}

int job_exec_status(int err)
{
    return err == ENOENT || err == ENOTDIR ? JOB_NOT_FOUND : JOB_NOT_EXECUTABLE;
}

void job_exit_like(const struct job *job)
{
    if (WIFEXITED(job->status))
        exit(WEXITSTATUS(job->status));
    int sig = WTERMSIG(job->status);
    fflush(NULL);
    /* Whoever waits for us sees what it would have seen of the job; the core file is the job's, not a second one. */
    const struct rlimit none = {0, 0};
    sigset_t set;
    (void)setrlimit(RLIMIT_CORE, &none);
    signal(sig, SIG_DFL);
    sigemptyset(&set);
    sigaddset(&set, sig);
    raise(sig);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    _exit(128 + sig); /* process 1 cannot be killed by its own signal */
}

static int check_file(const char *path)
{
    struct stat st;
    if (stat(path, &st) < 0)
        return -errno;
    return S_ISREG(st.st_mode) && access(path, X_OK) == 0 ? 0 : -EACCES;
}

int job_find(const char *name)
{
    if (!*name)
        return -ENOENT;
    if (strchr(name, '/'))
        return check_file(name);
    const char *env = getenv("PATH");
    char *dirs = strdup(env ? env : "/bin:/usr/bin"), *rest = dirs, *dir;
    int rc = -ENOENT;
    while (dirs && rc != 0 && (dir = strsep(&rest, ":"))) {
        char path[PATH_MAX];
        snprintf(path, sizeof(path), "%s/%s", *dir ? dir : ".", name);
        int found = check_file(path);
        if (found != -ENOENT && found != -ENOTDIR)
            rc = found;
    }
    free(dirs);
    return rc;
}
