/* waits.c - waits once in each way that is hooked, a known time long, and prints what it expects of the trace:
 *
 *     KIND LOWEST_MS HIGHEST_MS OBJ WAKER      the wait; OBJ and WAKER may be "any"
 *     io EVENT OP BYTES KEY VALUE              what went through the pipe or socket
 *
 * Run by tests/shim/waits.t. The times have wide bounds: the machine may be busy, a wait is never too short. */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MS 30

static struct timespec after_ms(clockid_t clock, long ms)
{
    struct timespec t;
    clock_gettime(clock, &t);
    t.tv_nsec += ms * 1000000;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return t;
}

static void nap(void)
{
    struct timespec t = {0, MS * 1000000};
    nanosleep(&t, NULL);
}

static unsigned long inode_of(int fd)
{
    struct stat st;
    fstat(fd, &st);
    return (unsigned long)st.st_ino;
}

static void expect(const char *kind, const char *obj, const char *waker)
{
    printf("%s %d %d %s %s\n", kind, MS - 1, MS + 3000, obj, waker);
}

static char number[32];
static const char *text(unsigned long n)
{
    snprintf(number, sizeof(number), "%lu", n);
    return number;
}

static void *write_later(void *fd)
{
    nap();
    return (void *)(long)write(*(int *)fd, "0123456789", 10);
}

static sem_t sem;
static atomic_uint poster;
static void *post_later(void *unused)
{
    poster = (unsigned)syscall(SYS_gettid);
    nap();
    sem_post(&sem);
    return NULL;
}

static void on_pipe(const char *kind, void (*wait_for)(int fd))
{
    int fds[2];
    char buf[16];
    pthread_t t;
    if (pipe(fds) != 0)
        exit(1);
    pthread_create(&t, NULL, write_later, &fds[1]);
    if (wait_for)
        wait_for(fds[0]);
    if (read(fds[0], buf, sizeof(buf)) != 10)
        exit(1);
    pthread_join(t, NULL);
    expect(kind, strcmp(kind, "epoll") == 0 ? "any" : text(inode_of(fds[0])), "0");
    printf("io pipe_io read 10 inode %lu\nio pipe_io write 10 inode %lu\n", inode_of(fds[0]), inode_of(fds[1]));
    close(fds[0]);
    close(fds[1]);
}

static void by_poll(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    if (poll(&p, 1, 10000) != 1)
        exit(1);
}

static void by_ppoll(int fd)
{
    struct pollfd p[2] = {{.fd = -1}, {.fd = fd, .events = POLLIN}};
    if (ppoll(p, 2, NULL, NULL) != 1)
        exit(1);
}

static void by_select(int fd)
{
    fd_set r;
    FD_ZERO(&r);
    FD_SET(fd, &r);
    if (select(fd + 1, &r, NULL, NULL, NULL) != 1)
        exit(1);
}

static void by_epoll(int fd)
{
    struct epoll_event e = {.events = EPOLLIN};
    int ep = epoll_create1(0);
    epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e);
    if (epoll_wait(ep, &e, 1, 10000) != 1)
        exit(1);
    close(ep);
}

static void on_semaphore(int how)
{
    pthread_t t;
    struct timespec mono = after_ms(CLOCK_MONOTONIC, 10000), real = after_ms(CLOCK_REALTIME, 10000);
    sem_init(&sem, 0, 0);
    pthread_create(&t, NULL, post_later, NULL);
    int rc = how == 0   ? sem_wait(&sem)
             : how == 1 ? sem_timedwait(&sem, &real)
                        : sem_clockwait(&sem, CLOCK_MONOTONIC, &mono);
    if (rc != 0)
        exit(1);
    pthread_join(t, NULL);
    char obj[32];
    snprintf(obj, sizeof(obj), "%lu", (unsigned long)&sem);
    expect("sem", obj, text(poster));
}

/* In slices of 5 ms, as the GIL is waited for: one wait in the trace. */
static void on_condition(void)
{
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t c = PTHREAD_COND_INITIALIZER;
    pthread_mutex_lock(&m);
    for (int i = 0; i < MS / 5; i++) {
        struct timespec t = after_ms(CLOCK_REALTIME, 5);
        if (pthread_cond_timedwait(&c, &m, &t) != ETIMEDOUT)
            exit(1);
    }
    pthread_mutex_unlock(&m);
}

static void on_child(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        nap();
        _exit(0);
    }
    if (waitpid(pid, NULL, 0) != pid)
        exit(1);
    expect("child", text((unsigned long)pid), "0");
}

static void *serve_later(void *fd)
{
    int s = accept(*(int *)fd, NULL, NULL);
    nap();
    long sent = send(s, "0123456789", 10, 0);
    return (void *)sent; /* left open: more is sent to it */
}

static void on_socket(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(a);
    int l = socket(AF_INET, SOCK_STREAM, 0), c = socket(AF_INET, SOCK_STREAM, 0);
    char buf[16];
    pthread_t t;
    if (bind(l, (void *)&a, len) != 0 || listen(l, 1) != 0 || getsockname(l, (void *)&a, &len) != 0)
        exit(1);
    pthread_create(&t, NULL, serve_later, &l);
    if (connect(c, (void *)&a, len) != 0 || recv(c, buf, sizeof(buf), 0) != 10)
        exit(1);
    pthread_join(t, NULL);
    expect("sock", text(inode_of(c)), "0");
    printf("io sock_io read 10 name 127.0.0.1:%u\n", ntohs(a.sin_port));
    struct iovec iov = {"01234567890123456789", 20};
    struct mmsghdr two[2] = {{.msg_hdr = {.msg_iov = &iov, .msg_iovlen = 1}},
                             {.msg_hdr = {.msg_iov = &iov, .msg_iovlen = 1}}};
    if (sendmmsg(c, two, 2, MSG_NOSIGNAL) == 2)
        printf("io sock_io write 40 name 127.0.0.1:%u\n", ntohs(a.sin_port));
    close(c);
    close(l);
}

int main(void)
{
    setvbuf(stdout, NULL, _IOFBF, 1 << 16);
    on_pipe("pipe", NULL);
    on_pipe("poll", by_poll);
    on_pipe("poll", by_ppoll);
    on_pipe("select", by_select);
    on_pipe("epoll", by_epoll);
    for (int how = 0; how < 3; how++)
        on_semaphore(how);
    on_condition();
    printf("cond %d %d any 0\n", MS - 6, MS + 3000);
    on_child();
    on_socket();
    nap();
    expect("sleep", "0", "0");
    return 0;
}
