/* keeper.c - see keeper.h: the keeper's own side. The clients' is keeper_client.c. */
#include "analysis/cmd/keeper.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "analysis/cmd/keeper_message.h"
#include "analysis/cmd/session_file.h"
#include "traces/session_daemon.h"
#include "traces/session_error.h"
#include "traces/session_metadata.h"
#include "traces/session_prune.h"
#include "traces/session_wake.h"

#define NS_PER_S 1000000000ull
#define CHECK_NS (NS_PER_S / 2) /* how often we look whether the daemons live */
#define PRUNE_MIN_NS (NS_PER_S / 50)
#define PRUNE_RESERVE(max) ((max) / 8)
#define GRACE_NS (5 * NS_PER_S) /* from SIGTERM to the end: whoever sent it may send SIGKILL after 10 s */
#define SETUP_ALARM_S 20        /* a daemon that hangs is killed, which ends the call that waits for it */
#define END_ALARM_S 6
#define DRAIN_MS 3000 /* to write out what the buffers hold */
#define METADATA_MS 1500
#define DAEMON_GRACE_MS 2000

enum { FD_SIGNAL, FD_LISTEN, FD_CLIENTS, MAX_CLIENTS = 1024, MAX_FDS = FD_CLIENTS + MAX_CLIENTS };

struct keeper {
    const struct keeper_options *options;
    struct session_identity identity;
    struct session_home home;
    struct session_daemon daemon;
    struct session *session;
    struct buffer_plan buffers;
    struct keeper_summary summary;
    enum tr_level level;
    int wake_fd; /* word of the job's uid: the daemon knows only its own, and a killed one leaves it set */
    bool recording, over;
    uint64_t start_at_ns, end_at_ns, term_at_ns, prune_at_ns; /* 0: never */
    uint64_t pruned_at_ns;
    uint64_t size; /* of the trace, when it was last looked at */
    struct pollfd fds[MAX_FDS];
    bool recorder[MAX_FDS]; /* the client is a `record` with a job, not a visitor */
    int nr_fds;
};

/* For the alarm's handler: a call into liblttng-ctl cannot be interrupted, but ends when its daemon does. */
static volatile pid_t hanging_daemon;

static void on_alarm(int sig)
{
    if (hanging_daemon > 0)
        kill(hanging_daemon, SIGKILL);
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* ---- the process ---- */

/* Holds nothing of the job's: a pipe that stays open here would never end for its reader. */
static void close_others(const int *keep, int nr_keep)
{
    DIR *dir = opendir("/proc/self/fd");
    struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        int fd = atoi(entry->d_name);
        bool kept = entry->d_name[0] == '.' || fd == dirfd(dir);
        for (int i = 0; i < nr_keep; i++)
            kept |= keep[i] == fd;
        if (!kept)
            close(fd);
    }
    if (dir)
        closedir(dir);
    int null_fd;
    do
        null_fd = open("/dev/null", O_RDWR);
    while (null_fd >= 0 && null_fd < STDERR_FILENO);
    if (null_fd > STDERR_FILENO)
        close(null_fd);
}

static int detach(struct keeper *k, int client_fd)
{
    const struct output *out = k->options->output;
    const int keep[] = {client_fd, out->node_fd, out->session_fd};

    (void)setsid();
    close_others(keep, 3);
    (void)!chdir("/");
    umask(0077);
    /* A consumer whose daemon was killed becomes our child, and so is reaped. */
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    signal(SIGALRM, on_alarm);
    signal(SIGCHLD, SIG_DFL);

    sigset_t set;
    sigemptyset(&set);
    for (int sig = 1; sig < SIGRTMIN; sig++)
        if (sig != SIGALRM && sig != SIGSEGV && sig != SIGABRT && sig != SIGBUS && sig != SIGFPE && sig != SIGILL)
            sigaddset(&set, sig);
    sigprocmask(SIG_SETMASK, &set, NULL);
    int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0)
        return -errno;
    k->fds[FD_SIGNAL] = (struct pollfd){.fd = fd, .events = POLLIN};
    k->fds[FD_LISTEN] = (struct pollfd){.fd = -1, .events = POLLIN};
    k->fds[FD_CLIENTS] = (struct pollfd){.fd = client_fd, .events = POLLIN};
    k->nr_fds = FD_CLIENTS + 1;
    k->recorder[FD_CLIENTS] = !k->options->stays;
    return 0;
}

/* ---- beginning ---- */

static int make_home(struct keeper *k, char **ret_error)
{
    if (k->options->meeting)
        return home_make_at(&k->home, &k->identity, k->options->meeting, ret_error);
    return home_make(&k->home, &k->identity, k->options->output->dir, ret_error);
}

static int plan_buffers(struct keeper *k, char **ret_error)
{
    struct buffer_limits limits;
    int rc = buffers_measure(&limits);
    if (rc < 0)
        return session_fail(ret_error, rc, "cannot look at /dev/shm, where the ring buffers go: %s", strerror(-rc));
    limits.buffers = k->options->buffers;
    limits.max_size = k->options->max_size;
    buffers_plan(&limits, &k->buffers);
    if (k->buffers.total > limits.shm_free)
        return session_fail(ret_error, -ENOSPC,
                            "/dev/shm has %llu KiB free, the smallest ring buffers need %llu KiB; "
                            "free some, or mount it larger (docker run --shm-size)",
                            (unsigned long long)limits.shm_free >> 10, (unsigned long long)k->buffers.total >> 10);
    return 0;
}

static int begin_recording(struct keeper *k, char **ret_error)
{
    int rc = session_start(k->session, ret_error);
    if (rc < 0)
        return rc;
    k->recording = true;
    k->start_at_ns = 0;
    k->summary.began_ns = now_ns();
    k->pruned_at_ns = k->summary.began_ns;
    k->prune_at_ns = k->options->max_size ? k->summary.began_ns + PRUNE_MIN_NS : 0;
    if (k->options->duration_ns)
        k->end_at_ns = k->summary.began_ns + k->options->duration_ns;
    return 0;
}

/* What has to be done as the job's user, before the daemon's uid is taken on. */
static int prepare(struct keeper *k, char **ret_error)
{
    const struct output *out = k->options->output;
    int rc = plan_buffers(k, ret_error);
    if (rc < 0)
        return rc;
    rc = wake_check(getuid());
    if (rc < 0)
        return session_fail(
            ret_error, rc,
            "/dev/shm/lttng-ust-wait-8-%u cannot be opened (%s), and LTTng records no process of uid %u "
            "without it; remove it, or give the container a /dev/shm of its own",
            getuid(), strerror(-rc), getuid());
    k->wake_fd = wake_open(getuid());
    rc = identity_choose(&k->identity, getenv("TRSHIM_SESSION_MODE"), ret_error);
    if (rc < 0)
        return rc;
    rc = make_home(k, ret_error);
    if (rc < 0)
        return rc;
    rc = session_file_write(out, k->options, &k->buffers, identity_name(k->identity.kind), NULL);
    if (rc == 0)
        rc = output_set_keeper(out, k->home.path);
    if (rc == 0 && k->identity.kind == IDENTITY_SETUID && fchown(out->session_fd, k->identity.uid, k->identity.gid) < 0)
        rc = -errno;
    if (rc < 0)
        return session_fail(ret_error, rc, "cannot write in %s: %s", out->session, strerror(-rc));
    return 0;
}

static int begin(struct keeper *k, char **ret_error)
{
    int rc = prepare(k, ret_error);
    if (rc < 0)
        return rc;
    rc = identity_enter(&k->identity);
    if (rc < 0)
        return session_fail(ret_error, rc, "cannot become uid %u: %s", k->identity.uid, strerror(-rc));
    setenv("LTTNG_HOME", k->home.path, 1); /* for liblttng-ctl */
    rc = daemon_start(&k->daemon, &k->identity, &k->home, k->options->output->session_fd, ret_error);
    if (rc < 0)
        return rc;
    hanging_daemon = k->daemon.pid;
    alarm(SETUP_ALARM_S);
    rc = session_create(&k->session, k->daemon.output, &k->buffers, k->level, ret_error);
    if (rc == 0 && !k->options->delay_ns)
        rc = begin_recording(k, ret_error);
    alarm(0);
    if (rc < 0)
        return rc;
    if (k->options->delay_ns)
        k->start_at_ns = now_ns() + k->options->delay_ns;
    k->home.control->level = k->level;
    k->fds[FD_LISTEN].fd = k->home.keeper_fd;
    /* Who records a job that it starts itself has nobody to wake. */
    if (k->wake_fd >= 0 && k->options->stays)
        (void)wake_set(k->wake_fd, true);
    return 0;
}

/* ---- the size of the trace ---- */

/* Down to max_size; while recording a little further, so that there is time until the next look: that is when, at the
 * speed at which it grew, half of what is free will be used. */
static void prune(struct keeper *k)
{
    uint64_t max = k->options->max_size, before = k->size, now = now_ns();
    uint64_t target = k->over ? max - PRUNE_RESERVE(max) / 4 : max - PRUNE_RESERVE(max);
    uint64_t since_ns = now - k->pruned_at_ns;

    if (!max || prune_trace(k->options->output->session_fd, UINT64_MAX, &k->size) < 0)
        return;
    uint64_t grown = k->size > before ? k->size - before : 0;
    if (k->size > target)
        (void)prune_trace(k->options->output->session_fd, target, &k->size);
    uint64_t room = k->size < max ? max - k->size : 0;
    uint64_t wait_ns = grown ? (uint64_t)((double)room / 2 / (double)grown * (double)since_ns) : CHECK_NS;
    k->pruned_at_ns = now;
    k->prune_at_ns = now + (wait_ns < PRUNE_MIN_NS ? PRUNE_MIN_NS : wait_ns > CHECK_NS ? CHECK_NS : wait_ns);
}

/* ---- ending ---- */

static uint64_t own_cpu_ns(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * NS_PER_S +
           (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000u;
}

static void stop_session(struct keeper *k)
{
    bool written = false;
    hanging_daemon = k->daemon.pid;
    alarm(END_ALARM_S);
    if (k->session && k->daemon.pid) {
        if (k->recording)
            k->summary.complete = session_stop(k->session, DRAIN_MS, &k->summary.lost) == 0;
        written = k->summary.complete &&
                  metadata_wait(k->options->output->session_fd, session_nr_events(k->session), METADATA_MS) == 0;
        session_destroy(k->session);
    }
    alarm(0);
    hanging_daemon = 0;
    /* Told to end it takes half a second, for nothing when all is written. */
    daemon_stop(&k->daemon, written ? 0 : DAEMON_GRACE_MS);
}

/* Ends everything but this process and removes all but the trace. Also after a beginning that failed half way. */
static void end(struct keeper *k, const char *why)
{
    const struct output *out = k->options->output;
    if (k->over)
        return;
    k->over = true;
    snprintf(k->summary.why, sizeof(k->summary.why), "%s", why);
    snprintf(k->summary.trace, sizeof(k->summary.trace), "%s", out->session);
    k->summary.level = k->level;
    k->summary.ended_ns = now_ns();
    stop_session(k);
    k->recording = false;
    prune(k);
    k->start_at_ns = k->end_at_ns = k->term_at_ns = k->prune_at_ns = 0;
    k->summary.recorder_cpu_ns = k->daemon.cpu_ns + own_cpu_ns();

    if (k->wake_fd >= 0 && (k->options->stays || k->identity.kind == IDENTITY_USER))
        (void)wake_set(k->wake_fd, false);
    (void)identity_leave(&k->identity);
    if (k->identity.kind == IDENTITY_SETUID)
        output_chown(out->session_fd, getuid(), getgid());
    if (k->identity.uid >= IDENTITY_OURS_FIRST)
        wake_forget(k->identity.uid);
    output_clear_keeper(out);
    (void)session_file_write(out, k->options, &k->buffers, identity_name(k->identity.kind), &k->summary);
    k->fds[FD_LISTEN].fd = -1;
    if (k->home.path[0])
        home_remove(&k->home);
}

/* ---- clients ---- */

static void reply(int fd, const struct keeper_message *message)
{
    (void)!send(fd, message, sizeof(*message), MSG_NOSIGNAL);
}

static void reply_type(int fd, enum keeper_message_type type)
{
    struct keeper_message m = {.type = type};
    reply(fd, &m);
}

static void reply_summary(const struct keeper *k, int fd)
{
    struct keeper_message m = {.type = KEEPER_SUMMARY, .u.summary = k->summary};
    reply(fd, &m);
}

static void reply_welcome(const struct keeper *k, int fd)
{
    struct keeper_message m = {.type = KEEPER_WELCOME};
    memcpy(m.u.welcome.home, k->home.path, sizeof(m.u.welcome.home));
    snprintf(m.u.welcome.trace, sizeof(m.u.welcome.trace), "%s", k->options->output->session);
    m.u.welcome.level = k->level;
    m.u.welcome.identity = k->identity.kind;
    reply(fd, &m);
}

static void change_level(struct keeper *k, int fd, uint32_t level)
{
    struct keeper_message m = {.type = KEEPER_FAILED};
    char *error = NULL;
    if (k->over) {
        snprintf(m.u.text, sizeof(m.u.text), "the session is over");
    } else if (level < LEVEL_MAX) {
        hanging_daemon = k->daemon.pid;
        alarm(END_ALARM_S);
        int rc = session_set_level(k->session, level, &error);
        alarm(0);
        if (rc == 0) {
            k->level = k->home.control->level = level;
            m.type = KEEPER_DONE;
        }
        snprintf(m.u.text, sizeof(m.u.text), "%s", error ? error : "");
        free(error);
    }
    reply(fd, &m);
}

static void remove_client(struct keeper *k, int i)
{
    close(k->fds[i].fd);
    k->nr_fds--;
    k->fds[i] = k->fds[k->nr_fds];
    k->recorder[i] = k->recorder[k->nr_fds];
}

static int nr_recorders(const struct keeper *k)
{
    int n = 0;
    for (int i = FD_CLIENTS; i < k->nr_fds; i++)
        n += k->recorder[i];
    return n;
}

/* A client goes: with a word because its job ended, without because it was killed. */
static void client_leaves(struct keeper *k, int i, bool killed)
{
    if (k->recorder[i] && nr_recorders(k) == 1 && !k->options->stays)
        end(k, killed ? "`trshim record` was killed" : KEEPER_WHY_JOB_ENDED);
    if (!killed && k->over)
        reply_summary(k, k->fds[i].fd);
    else if (!killed)
        reply_type(k->fds[i].fd, KEEPER_GOES_ON);
    remove_client(k, i);
}

static void serve_client(struct keeper *k, int i)
{
    struct keeper_message m;
    ssize_t n = recv(k->fds[i].fd, &m, sizeof(m), MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n != sizeof(m)) {
        client_leaves(k, i, true);
        return;
    }
    switch (m.type) {
    case KEEPER_HELLO:
    case KEEPER_VISIT:
        if (k->over) {
            remove_client(k, i);
        } else {
            k->recorder[i] = m.type == KEEPER_HELLO;
            reply_welcome(k, k->fds[i].fd);
        }
        break;
    case KEEPER_LEAVE:
        client_leaves(k, i, false);
        break;
    case KEEPER_STOP:
        end(k, "stopped by the user");
        reply_summary(k, k->fds[i].fd);
        break;
    case KEEPER_LEVEL:
        change_level(k, k->fds[i].fd, m.level);
        break;
    }
}

static void accept_client(struct keeper *k)
{
    int fd = accept4(k->fds[FD_LISTEN].fd, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0)
        return;
    if (k->nr_fds == MAX_FDS) {
        close(fd);
        return;
    }
    k->recorder[k->nr_fds] = false;
    k->fds[k->nr_fds++] = (struct pollfd){.fd = fd, .events = POLLIN};
}

/* ---- the loop ---- */

static void check_daemon(struct keeper *k)
{
    char *error = NULL;
    if (!k->over && daemon_check(&k->daemon, &error) < 0)
        end(k, error ? error : "the session daemon is gone");
    free(error);
}

static void read_signals(struct keeper *k)
{
    struct signalfd_siginfo info;
    while (read(k->fds[FD_SIGNAL].fd, &info, sizeof(info)) == sizeof(info)) {
        if (info.ssi_signo == SIGTERM && !k->over && !k->term_at_ns)
            k->term_at_ns = now_ns() + (nr_recorders(k) ? GRACE_NS : 0);
        if (info.ssi_signo == SIGCHLD)
            check_daemon(k);
    }
}

static void meet_deadlines(struct keeper *k)
{
    uint64_t now = now_ns();
    if (k->start_at_ns && now >= k->start_at_ns) {
        char *error = NULL;
        k->start_at_ns = 0;
        if (begin_recording(k, &error) < 0)
            end(k, error ? error : "recording could not start");
        free(error);
    }
    if (k->prune_at_ns && now >= k->prune_at_ns)
        prune(k);
    if (k->end_at_ns && now >= k->end_at_ns)
        end(k, "the time asked for was over");
    if (k->term_at_ns && now >= k->term_at_ns)
        end(k, "the recorder was told to terminate");
}

static int poll_ms(const struct keeper *k)
{
    if (k->over)
        return -1;
    uint64_t now = now_ns(), next = now + CHECK_NS;
    const uint64_t at[] = {k->start_at_ns, k->end_at_ns, k->term_at_ns, k->prune_at_ns};
    for (size_t i = 0; i < sizeof(at) / sizeof(*at); i++)
        if (at[i] && at[i] < next)
            next = at[i] > now ? at[i] : now;
    return (int)((next - now + 999999) / 1000000);
}

static void serve(struct keeper *k)
{
    while (!k->over || k->nr_fds > FD_CLIENTS) {
        int n = poll(k->fds, k->nr_fds, poll_ms(k));
        if (n > 0 && k->fds[FD_SIGNAL].revents)
            read_signals(k);
        for (int i = k->nr_fds - 1; n > 0 && i >= FD_CLIENTS;
             i--) /* backwards: a leaving one is replaced by the last */
            if (k->fds[i].revents)
                serve_client(k, i);
        if (n > 0 && k->fds[FD_LISTEN].fd >= 0 && k->fds[FD_LISTEN].revents)
            accept_client(k);
        check_daemon(k);
        meet_deadlines(k);
    }
}

_Noreturn void keeper_main(const struct keeper_options *options, int client_fd)
{
    static struct keeper keeper; /* static: the pollfds alone are 8 KiB */
    struct keeper *k = &keeper;
    char *error = NULL;

    *k = (struct keeper){.options = options, .level = options->level, .wake_fd = -1};
    int rc = detach(k, client_fd);
    if (rc == 0)
        rc = begin(k, &error);
    if (rc < 0) {
        struct keeper_message m = {.type = KEEPER_FAILED};
        snprintf(m.u.text, sizeof(m.u.text), "%s", error ? error : strerror(-rc));
        end(k, m.u.text);
        (void)unlinkat(options->output->session_fd, "session.json", 0);
        reply(client_fd, &m);
        _exit(1);
    }
    reply_welcome(k, client_fd);
    serve(k);
    _exit(0);
}
