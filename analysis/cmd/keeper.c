/* keeper.c - see keeper.h: the process, its clients, its loop. What it keeps: keeper_session.c; the clients' side:
 * keeper_client.c. */
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
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/cmd/keeper_message.h"
#include "analysis/cmd/keeper_session.h"
#include "traces/clock.h"

#define NS_PER_S 1000000000ull
#define GRACE_NS (5 * NS_PER_S) /* from SIGTERM to the end: whoever sent it may send SIGKILL after 10 s */

enum { FD_SIGNAL, FD_LISTEN, FD_CLIENTS, MAX_CLIENTS = 1024, MAX_FDS = FD_CLIENTS + MAX_CLIENTS };

struct keeper {
    struct keeper_session session;
    uint64_t term_at_ns; /* when the session ends because we were told to terminate, 0: never */
    struct pollfd fds[MAX_FDS];
    bool recorder[MAX_FDS]; /* the client is a `record` with a job, not a visitor */
    int nr_fds;
};

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

static int detach(struct keeper *k, const struct keeper_options *options, int client_fd)
{
    const struct output *out = options->output;
    const int keep[] = {client_fd, out->node_fd, out->session_fd};

    (void)setsid();
    close_others(keep, 3);
    (void)!chdir("/");
    umask(0077);
    /* A consumer whose daemon was killed becomes our child, and so is reaped. */
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
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
    k->recorder[FD_CLIENTS] = !options->stays;
    return 0;
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
    struct keeper_message m = {.type = KEEPER_SUMMARY, .u.summary = k->session.summary};
    reply(fd, &m);
}

static void reply_welcome(const struct keeper *k, int fd)
{
    struct keeper_message m = {.type = KEEPER_WELCOME};
    memcpy(m.u.welcome.home, k->session.home.path, sizeof(m.u.welcome.home));
    snprintf(m.u.welcome.trace, sizeof(m.u.welcome.trace), "%s", k->session.options->output->session);
    m.u.welcome.level = k->session.level;
    m.u.welcome.identity = k->session.identity.kind;
    reply(fd, &m);
}

/* Takes the error. */
static void reply_done(int fd, int rc, char *error)
{
    struct keeper_message m = {.type = rc == 0 ? KEEPER_DONE : KEEPER_FAILED};
    snprintf(m.u.text, sizeof(m.u.text), "%s", error ? error : "");
    free(error);
    reply(fd, &m);
}

static void change_level(struct keeper *k, int fd, uint32_t level)
{
    char *error = NULL;
    int rc = level < LEVEL_MAX ? keeper_session_set_level(&k->session, level, &error) : -EINVAL;
    reply_done(fd, rc, error);
}

static void take_snapshot(struct keeper *k, int fd)
{
    char *error = NULL;
    int rc = keeper_session_snapshot(&k->session, &error);
    reply_done(fd, rc, error);
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
    k->session.failed |= killed && k->recorder[i];
    if (k->recorder[i] && nr_recorders(k) == 1 && !k->session.options->stays)
        keeper_session_end(&k->session, killed ? "`trshim record` was killed" : KEEPER_WHY_JOB_ENDED);
    if (!killed && k->session.over)
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
        if (k->session.over) {
            remove_client(k, i);
        } else {
            k->recorder[i] = m.type == KEEPER_HELLO;
            reply_welcome(k, k->fds[i].fd);
        }
        break;
    case KEEPER_LEAVE:
        k->session.failed |= m.level != 0;
        client_leaves(k, i, false);
        break;
    case KEEPER_STOP:
        keeper_session_end(&k->session, "stopped by the user");
        reply_summary(k, k->fds[i].fd);
        break;
    case KEEPER_SNAPSHOT:
        take_snapshot(k, k->fds[i].fd);
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

static void read_signals(struct keeper *k)
{
    struct signalfd_siginfo info;
    while (read(k->fds[FD_SIGNAL].fd, &info, sizeof(info)) == sizeof(info))
        if (info.ssi_signo == SIGTERM && !k->term_at_ns)
            k->term_at_ns = now_ns() + (nr_recorders(k) ? GRACE_NS : 0);
}

static int poll_ms(const struct keeper *k)
{
    if (k->session.over)
        return -1;
    uint64_t now = now_ns(), next = keeper_session_next_ns(&k->session);
    if (k->term_at_ns && k->term_at_ns < next)
        next = k->term_at_ns;
    return next > now ? (int)((next - now + 999999) / 1000000) : 0;
}

static void serve(struct keeper *k)
{
    while (!k->session.over || k->nr_fds > FD_CLIENTS) {
        k->fds[FD_LISTEN].fd = k->session.over ? -1 : k->session.home.keeper_fd;
        int n = poll(k->fds, k->nr_fds, poll_ms(k));
        if (n > 0 && k->fds[FD_SIGNAL].revents)
            read_signals(k);
        /* Backwards: the place of one that leaves is taken by the last. */
        for (int i = k->nr_fds - 1; n > 0 && i >= FD_CLIENTS; i--)
            if (k->fds[i].revents)
                serve_client(k, i);
        if (n > 0 && !k->session.over && k->fds[FD_LISTEN].revents)
            accept_client(k);
        keeper_session_tick(&k->session);
        if (k->term_at_ns && now_ns() >= k->term_at_ns)
            keeper_session_end(&k->session, "the recorder was told to terminate");
    }
}

_Noreturn void keeper_main(const struct keeper_options *options, int client_fd)
{
    static struct keeper keeper; /* static: the pollfds alone are 8 KiB */
    struct keeper *k = &keeper;
    char *error = NULL;

    int rc = detach(k, options, client_fd);
    if (rc == 0)
        rc = keeper_session_begin(&k->session, options, &error);
    if (rc < 0) {
        struct keeper_message m = {.type = KEEPER_FAILED};
        snprintf(m.u.text, sizeof(m.u.text), "%s", error ? error : strerror(-rc));
        if (k->session.options)
            keeper_session_end(&k->session, m.u.text);
        (void)unlinkat(options->output->session_fd, "session.json", 0);
        reply(client_fd, &m);
        _exit(1);
    }
    reply_welcome(k, client_fd);
    serve(k);
    _exit(0);
}
