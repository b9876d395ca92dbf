/* lives.c - what processes and threads do that a preload can get wrong. One scenario per run: lives SCENARIO DIR.
 *
 * A scenario reads DIR/SCENARIO/f wherever its point is (in a child, a thread, a handler); tests/shim/lives.t says
 * which process must show the read. Exit status 0: the scenario itself went as it should. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "include/trshim.h"

static char path[4096];

static void prepare(const char *top, const char *scenario)
{
    snprintf(path, sizeof(path), "%s/%s", top, scenario);
    mkdir(path, 0700);
    strcat(path, "/f");
    FILE *f = fopen(path, "w");
    fprintf(f, "%0640d", 0);
    fclose(f);
}

static int read_it(void)
{
    char buf[1000];
    int fd = open(path, O_RDONLY);
    int good = fd >= 0 && read(fd, buf, sizeof(buf)) == 640;
    close(fd);
    return good ? 0 : 1;
}

static int status_of(pid_t pid)
{
    int status;
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return 99;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int in_fork(void)
{
    pid_t pid = fork();
    if (pid == 0)
        exit(read_it());
    return status_of(pid);
}

static int in_fork_quick(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        read_it();
        _exit(7);
    }
    return status_of(pid) == 7 ? 0 : 1;
}

/* fork twice, as daemons do: the child in between does nothing. */
static int in_grandchild(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        pid_t second = fork();
        if (second == 0)
            _exit(read_it());
        _exit(status_of(second));
    }
    return status_of(pid);
}

static void *reader(void *unused)
{
    return (void *)(long)read_it();
}

static int in_thread(void)
{
    pthread_t t;
    void *result = (void *)1;
    pthread_create(&t, NULL, reader, NULL);
    pthread_join(t, &result);
    return result != NULL;
}

/* A child forked while other threads are in the middle of hooked calls. */
static volatile int stop;
static void *busy(void *unused)
{
    while (!stop)
        read_it();
    return NULL;
}

static int in_fork_of_threads(void)
{
    pthread_t t[4];
    int bad = 0;
    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, busy, NULL);
    for (int i = 0; i < 20; i++)
        bad |= in_fork();
    stop = 1;
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    return bad;
}

/* OpenBLAS does this: before a fork it ends its threads, which have been in hooks, and waits for them. */
static pthread_mutex_t idle_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t idle_changed = PTHREAD_COND_INITIALIZER;
static pthread_t idle;
static enum { STARTING, IDLE, ENDING, ENDED } idle_state;

static void idle_set(int state)
{
    pthread_mutex_lock(&idle_lock);
    idle_state = state;
    pthread_cond_broadcast(&idle_changed);
    pthread_mutex_unlock(&idle_lock);
}

static void idle_wait(int state)
{
    pthread_mutex_lock(&idle_lock);
    while ((int)idle_state < state)
        pthread_cond_wait(&idle_changed, &idle_lock);
    pthread_mutex_unlock(&idle_lock);
}

static void *idler(void *unused)
{
    void *bad = reader(NULL);
    idle_set(IDLE);
    idle_wait(ENDING);
    return bad;
}

static void end_idler(void)
{
    if (idle_state == ENDED)
        return;
    idle_set(ENDING);
    pthread_join(idle, NULL);
    idle_state = ENDED;
}

static int in_fork_ends_threads(void)
{
    pid_t killer = fork(); /* a deadlock is a failure; an alarm would find all signals blocked */
    if (killer == 0) {
        sleep(30);
        kill(getppid(), SIGKILL);
        _exit(0);
    }
    int bad = pthread_atfork(end_idler, NULL, NULL) || pthread_create(&idle, NULL, idler, NULL);
    if (!bad) {
        idle_wait(IDLE);
        bad = in_fork();
    }
    kill(killer, SIGKILL);
    waitpid(killer, NULL, 0);
    return bad;
}

/* The child borrows our memory: what it closes must stay open for us, what it does must not be ours. */
static int after_vfork(void)
{
    char buf[1000];
    int fd = open(path, O_RDONLY);
    pid_t pid = vfork();
    if (pid == 0) {
        close(fd);
        _exit(5);
    }
    return !(status_of(pid) == 5 && read(fd, buf, sizeof(buf)) == 640);
}

static int after_spawn(void)
{
    extern char **environ;
    char *argv[] = {"true", NULL};
    pid_t pid;
    return posix_spawnp(&pid, "true", NULL, NULL, argv, environ) != 0 || status_of(pid) != 0 || read_it();
}

static int before_exec(void)
{
    read_it();
    execlp("true", "true", NULL);
    return 1;
}

static int before_execv(void)
{
    char *argv[] = {"/bin/true", NULL};
    read_it();
    execv("/bin/true", argv);
    return 1;
}

/* Killed without warning: what happened more than a second ago is in the trace. */
static int before_kill(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        read_it();
        struct timespec t = {1, 500000000};
        nanosleep(&t, NULL);
        kill(getpid(), SIGKILL);
    }
    return status_of(pid) == 128 + SIGKILL ? 0 : 1;
}

/* A handler that reads, over a thread that reads: no deadlock, and errno as the handler's caller had it. */
static volatile int handled;
static void handler(int sig)
{
    int saved = errno;
    read_it();
    handled++;
    errno = saved;
}

static int in_handler(void)
{
    struct sigaction sa = {.sa_handler = handler, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &sa, NULL);
    struct timespec begin, now;
    timer_t timer;
    timer_create(CLOCK_MONOTONIC, NULL, &timer);
    struct itimerspec every = {{0, 200000}, {0, 200000}};
    timer_settime(timer, 0, &every, NULL);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        if (read_it())
            return 1;
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (handled < 1000 && now.tv_sec - begin.tv_sec < 20);
    return handled < 100 ? 3 : 0;
}

/* A handler that leaves a blocked call by longjmp: the thread is recorded afterwards as before. */
static sigjmp_buf out;
static void jumper(int sig)
{
    siglongjmp(out, 1);
}

static int after_longjmp(void)
{
    int fds[2];
    char c;
    if (pipe(fds) != 0)
        return 1;
    signal(SIGALRM, jumper);
    if (sigsetjmp(out, 1) == 0) {
        alarm(1);
        if (read(fds[0], &c, 1) >= 0)
            return 1;
    }
    return read_it();
}

static void *cancelled(void *fds)
{
    char c;
    return (void *)(long)read(*(int *)fds, &c, 1);
}

static int after_cancel(void)
{
    int fds[2];
    pthread_t t;
    void *result;
    struct timespec ms = {0, 50000000};
    if (pipe(fds) != 0)
        return 1;
    pthread_create(&t, NULL, cancelled, fds);
    nanosleep(&ms, NULL);
    pthread_cancel(t);
    pthread_join(t, &result);
    return result != PTHREAD_CANCELED || read_it();
}

/* A library loaded out of sight of everybody else, and one that insists on its own symbols. */
static int in_library(int flags)
{
    int (*reads)(const char *) = NULL;
    char library[4096];
    snprintf(library, sizeof(library), "%s/libreads.so", getenv("LIVES_LIBS"));
    void *lib = dlopen(library, flags);
    if (lib)
        reads = (int (*)(const char *))dlsym(lib, "library_reads");
    return !reads || reads(path) != 640;
}

static int in_local_library(void)
{
    return in_library(RTLD_NOW | RTLD_LOCAL);
}

static int in_deepbind_library(void)
{
    return in_library(RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
}

/* Errors of the job's own that must come through: errno, and what dlerror says. */
static int errors_kept(void)
{
    errno = 0;
    if (open("/nonexistent", O_RDONLY) != -1 || errno != ENOENT)
        return 1;
    if (dlopen("no-such-library.so", RTLD_NOW))
        return 2;
    read_it();
    const char *error = dlerror();
    if (!error || !strstr(error, "no-such-library.so"))
        return 3;
    if (dlerror())
        return 4;
    errno = EBADF;
    read_it();
    return errno != EBADF;
}

/* A path by its name and its RUNPATH: the loader must see the caller, not us. */
static int runpath_kept(void)
{
    int (*nested)(void) = NULL;
    char library[4096];
    snprintf(library, sizeof(library), "%s/libnested.so", getenv("LIVES_LIBS"));
    void *lib = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (lib)
        nested = (int (*)(void))dlsym(lib, "library_nested");
    return !nested || nested() != 0 || read_it();
}

/* A process that was none of ours until it loads CUDA, in the middle of its threads' work. */
static int after_late_load(void)
{
    pthread_t t[4];
    char library[4096];
    snprintf(library, sizeof(library), "%s/libcudart.so.13", getenv("LIVES_LIBS"));
    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, busy, NULL);
    void *lib = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    struct timespec ms = {0, 100000000};
    nanosleep(&ms, NULL);
    stop = 1;
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    return !lib || read_it();
}

static int marks(void)
{
    for (uint64_t i = 100; i < 110; i++) {
        TRSHIM_STEP(i);
        if (read_it())
            return 1;
    }
    return 0;
}

static const struct {
    const char *name;
    int (*run)(void);
} scenarios[] = {
    {"fork", in_fork},
    {"fork_quick", in_fork_quick},
    {"grandchild", in_grandchild},
    {"thread", in_thread},
    {"fork_of_threads", in_fork_of_threads},
    {"fork_ends_threads", in_fork_ends_threads},
    {"vfork", after_vfork},
    {"spawn", after_spawn},
    {"exec", before_exec},
    {"execv", before_execv},
    {"kill", before_kill},
    {"handler", in_handler},
    {"longjmp", after_longjmp},
    {"cancel", after_cancel},
    {"local_library", in_local_library},
    {"deepbind_library", in_deepbind_library},
    {"errors", errors_kept},
    {"runpath", runpath_kept},
    {"late", after_late_load},
    {"marks", marks},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc == 3 && i < sizeof(scenarios) / sizeof(*scenarios); i++) {
        if (strcmp(argv[1], scenarios[i].name) != 0)
            continue;
        prepare(argv[2], argv[1]);
        printf("%d\n", (int)getpid());
        fflush(stdout);
        return scenarios[i].run();
    }
    fprintf(stderr, "usage: lives SCENARIO DIR\n");
    return 2;
}
