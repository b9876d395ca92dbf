/* session_daemon.c - see session_daemon.h. */
#include "traces/session_daemon.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "traces/session_error.h"

#define START_TIMEOUT_S 10
#define OUTPUT_FD 3 /* of the daemon */

const char *daemon_program(void)
{
    static char found[PATH_MAX];
    const char *asked = getenv("LTTNG_SESSIOND_PATH");
    if (asked && *asked)
        return access(asked, X_OK) == 0 ? asked : NULL;

    char dirs[PATH_MAX];
    const char *path = getenv("PATH");
    snprintf(dirs, sizeof(dirs), "%s:/usr/bin:/usr/local/bin", path ? path : "");
    char *save = NULL;
    for (char *dir = strtok_r(dirs, ":", &save); dir; dir = strtok_r(NULL, ":", &save))
        if (snprintf(found, sizeof(found), "%s/lttng-sessiond", dir) < (int)sizeof(found) && access(found, X_OK) == 0)
            return found;
    return NULL;
}

/* In the child. Only what the daemon needs is handed down: stderr to the log, the output directory, a small
 * environment without the job's preloads. */
static void exec_daemon(const char *program, const struct session_identity *id, const struct session_home *home,
                        int output_fd, pid_t parent)
{
    char lttng_home[HOME_PATH_MAX + 16], load[HOME_PATH_MAX + 16];
    const char *libs = getenv("LD_LIBRARY_PATH");
    char libs_env[PATH_MAX];
    snprintf(lttng_home, sizeof(lttng_home), "LTTNG_HOME=%s", home->path);
    snprintf(load, sizeof(load), "--load=%s/load", home->path);
    snprintf(libs_env, sizeof(libs_env), "LD_LIBRARY_PATH=%s", libs ? libs : "");
    char *env[] = {lttng_home, "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                   libs ? libs_env : NULL, NULL};
    char *argv[] = {(char *)"lttng-sessiond", (char *)"--no-kernel", (char *)"--sig-parent", load, NULL};

    if (identity_drop(id) < 0)
        _exit(126);
    /* More descriptors for more processes: each takes two per CPU and channel on some versions. */
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
    /* After the last change of ids, which would clear it. */
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(0);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    umask(0077);
    int null_fd = open("/dev/null", O_RDWR);
    if (null_fd < 0 || dup2(null_fd, 0) < 0 || dup2(home->log_fd, 1) < 0 || dup2(home->log_fd, 2) < 0)
        _exit(126);
    if (output_fd == OUTPUT_FD ? fcntl(output_fd, F_SETFD, 0) < 0 : dup2(output_fd, OUTPUT_FD) < 0)
        _exit(126);
    execve(program, argv, env);
    _exit(127);
}

/* The last line that says "Error" or "PERROR" in the log, or "". */
static void last_complaint(int log_fd, char *line, size_t size)
{
    char text[8192];
    ssize_t n = pread(log_fd, text, sizeof(text) - 1, 0);
    line[0] = '\0';
    if (n <= 0)
        return;
    text[n] = '\0';
    char *save = NULL;
    for (char *at = strtok_r(text, "\n", &save); at; at = strtok_r(NULL, "\n", &save))
        if (strstr(at, "rror"))
            snprintf(line, size, ": %s", at);
}

/* Waits for the daemon's SIGUSR1. */
static int wait_ready(struct session_daemon *daemon)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGCHLD);
    struct timespec timeout = {.tv_sec = START_TIMEOUT_S};

    for (;;) {
        int sig = sigtimedwait(&set, NULL, &timeout);
        if (sig == SIGUSR1)
            return 0;
        if (sig == SIGCHLD && waitpid(daemon->pid, &daemon->status, WNOHANG) == daemon->pid) {
            daemon->pid = 0;
            return -ECHILD;
        }
        if (sig < 0 && errno != EINTR)
            return errno == EAGAIN ? -ETIMEDOUT : -errno;
    }
}

int daemon_start(struct session_daemon *ret, const struct session_identity *id, const struct session_home *home,
                 int output_fd, char **ret_error)
{
    const char *program = daemon_program();
    if (!program)
        return session_fail(ret_error, -ENOENT,
                            "lttng-sessiond is not installed; on Debian and Ubuntu: apt-get install "
                            "lttng-tools");
    struct session_daemon daemon = {0};
    pid_t parent = getpid();
    daemon.pid = fork();
    if (daemon.pid < 0)
        return session_fail(ret_error, -errno, "cannot start %s: %s", program, strerror(errno));
    if (daemon.pid == 0)
        exec_daemon(program, id, home, output_fd, parent);

    int rc = wait_ready(&daemon);
    if (rc < 0) {
        char why[512];
        daemon_stop(&daemon, 0);
        last_complaint(home->log_fd, why, sizeof(why));
        return session_fail(ret_error, rc, "%s %s%s; see: trshim doctor", program,
                            rc == -ETIMEDOUT ? "is not ready after 10 s" : "ended at once", why);
    }
    /* Not /proc/self: a helper process of the daemon, which closes this descriptor, makes the directories. */
    snprintf(daemon.output, sizeof(daemon.output), "/proc/%d/fd/%d", daemon.pid, OUTPUT_FD);
    *ret = daemon;
    return 0;
}

/* Reads parent and command of a process. */
static bool read_stat(pid_t pid, pid_t *ret_parent, char comm[32], char *ret_state)
{
    char path[64], text[512];
    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    FILE *f = fopen(path, "re");
    if (!f)
        return false;
    size_t n = fread(text, 1, sizeof(text) - 1, f);
    fclose(f);
    text[n] = '\0';
    char *open = strchr(text, '('), *close = strrchr(text, ')');
    if (!open || !close || close < open)
        return false;
    snprintf(comm, 32, "%.*s", (int)(close - open - 1), open + 1);
    int parent;
    if (sscanf(close + 1, " %c %d", ret_state, &parent) != 2)
        return false;
    *ret_parent = parent;
    return true;
}

static pid_t find_consumer(pid_t daemon)
{
    DIR *proc = opendir("/proc");
    if (!proc)
        return 0;
    pid_t found = 0;
    struct dirent *entry;
    while (!found && (entry = readdir(proc))) {
        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        pid_t parent;
        char comm[32], state;
        pid_t pid = (pid_t)atol(entry->d_name);
        if (read_stat(pid, &parent, comm, &state) && parent == daemon && !strncmp(comm, "lttng-consumerd", 15))
            found = pid;
    }
    closedir(proc);
    return found;
}

static bool is_gone(pid_t pid)
{
    pid_t parent;
    char comm[32], state;
    return !read_stat(pid, &parent, comm, &state) || state == 'Z' || strncmp(comm, "lttng-consumerd", 15);
}

static uint64_t cpu_ns(const struct rusage *usage)
{
    return (uint64_t)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000000000u +
           (uint64_t)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) * 1000u;
}

static void note_end(struct session_daemon *daemon, int status, const struct rusage *usage)
{
    daemon->status = status;
    daemon->cpu_ns = cpu_ns(usage);
    daemon->pid = 0;
}

int daemon_check(struct session_daemon *daemon, char **ret_error)
{
    int status;
    struct rusage usage;
    if (daemon->pid == 0 || wait4(daemon->pid, &status, WNOHANG, &usage) == daemon->pid) {
        if (daemon->pid != 0)
            note_end(daemon, status, &usage);
        return session_fail(ret_error, -ESRCH, "the session daemon (lttng-sessiond) was killed or ended by itself");
    }
    if (!daemon->consumer_pid)
        daemon->consumer_pid = find_consumer(daemon->pid);
    else if (is_gone(daemon->consumer_pid))
        return session_fail(ret_error, -ESRCH, "the consumer daemon (lttng-consumerd) was killed or ended by itself");
    return 0;
}

/* A consumer that outlived its daemon is our child (the keeper is a subreaper), and ends by itself. */
static void stop_consumer(struct session_daemon *daemon)
{
    int status;
    struct rusage usage;
    pid_t pid;
    for (unsigned waited_ms = 0; (pid = wait4(-1, &status, WNOHANG, &usage)) >= 0; waited_ms += 5) {
        if (pid > 0) {
            daemon->cpu_ns += cpu_ns(&usage);
            continue;
        }
        if (waited_ms == 500 && daemon->consumer_pid)
            kill(daemon->consumer_pid, SIGKILL);
        if (waited_ms >= 1000)
            break;
        usleep(5000);
    }
    daemon->consumer_pid = 0;
}

void daemon_stop(struct session_daemon *daemon, unsigned grace_ms)
{
    if (daemon->pid == 0) {
        stop_consumer(daemon);
        return;
    }
    int status = 0;
    struct rusage usage;
    kill(daemon->pid, grace_ms ? SIGTERM : SIGKILL);
    for (unsigned waited_ms = 0;; waited_ms += 5) {
        if (wait4(daemon->pid, &status, WNOHANG, &usage) == daemon->pid)
            break;
        if (waited_ms >= grace_ms) {
            kill(daemon->pid, SIGKILL);
            if (wait4(daemon->pid, &status, 0, &usage) < 0)
                usage = (struct rusage){0};
            break;
        }
        usleep(5000);
    }
    note_end(daemon, status, &usage);
    stop_consumer(daemon);
}

bool daemon_lives(const char *home)
{
    char path[HOME_PATH_MAX + 32], comm[32], state;
    int pid;
    pid_t parent;
    snprintf(path, sizeof(path), "%s/.lttng/lttng-sessiond.pid", home);
    FILE *f = fopen(path, "re");
    if (!f)
        return false;
    bool known = fscanf(f, "%d", &pid) == 1;
    fclose(f);
    return known && read_stat(pid, &parent, comm, &state) && state != 'Z' && !strncmp(comm, "lttng-sessiond", 14);
}
