/* hook_cost.c - what one call of a few observed functions costs, in ns: best of several rounds, one line each.
 *
 * It knows nothing of trshim: bench/hooks.py runs it plain, with the preload alone, with the core, and recorded, and
 * compares. Each case is a loop over a call that is cheap by itself, since only there is a hook's cost to be seen. */
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 9, BIG_FILE = 64 << 20 };

struct files {
    char dir[2][64], path[2][80];
    int zero, big[2];
    FILE *buffered;
};

static struct files files;
static sem_t semaphore;
static volatile uint64_t sink;

static uint64_t now_ns(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void die(const char *what)
{
    perror(what);
    exit(1);
}

/* Two sparse files in folders of their own: reading them in turn closes a burst at every call. */
static void files_make(struct files *f, const char *scratch)
{
    for (int i = 0; i < 2; i++) {
        (void)snprintf(f->dir[i], sizeof(f->dir[i]), "%.40s/hook_cost_%d", scratch, i);
        (void)snprintf(f->path[i], sizeof(f->path[i]), "%s/big", f->dir[i]);
        if (mkdir(f->dir[i], 0700) != 0)
            die(f->dir[i]);
        f->big[i] = open(f->path[i], O_RDWR | O_CREAT, 0600);
        if (f->big[i] < 0 || ftruncate(f->big[i], BIG_FILE) != 0)
            die(f->path[i]);
    }
    f->zero = open("/dev/zero", O_RDONLY);
    f->buffered = fopen(f->path[0], "r");
    if (f->zero < 0 || !f->buffered)
        die("open");
}

static void files_remove(struct files *f)
{
    for (int i = 0; i < 2; i++) {
        (void)unlink(f->path[i]);
        (void)rmdir(f->dir[i]);
    }
}

static void case_clock(void)
{
    sink += now_ns();
}

static void case_sem(void)
{
    (void)sem_post(&semaphore);
    (void)sem_wait(&semaphore);
}

/* The size is volatile because libc's header turns a constant one into a loop without a call. */
static void case_fread(void)
{
    static volatile size_t one = 1;
    char byte = 0;

    if (fread_unlocked(&byte, one, one, files.buffered) != one)
        rewind(files.buffered);
    sink += byte;
}

static void case_read(void)
{
    char byte = 0;

    sink += (uint64_t)read(files.zero, &byte, 1);
}

static void case_pread_burst(void)
{
    char byte = 0;

    sink += (uint64_t)pread(files.big[0], &byte, 1, 0);
}

static void case_pread_alternating(void)
{
    static unsigned turn;
    char byte = 0;

    sink += (uint64_t)pread(files.big[turn++ & 1], &byte, 1, 0);
}

static void case_open_close(void)
{
    int fd = open(files.path[0], O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        die("open");
    (void)close(fd);
}

static const struct {
    const char *name;
    unsigned count, hooks; /* hooks: observed calls in one iteration */
    void (*once)(void);
} cases[] = {
    {"clock_gettime", 200000, 1, case_clock},        {"sem_post+sem_wait", 200000, 2, case_sem},
    {"fread_unlocked", 200000, 1, case_fread},       {"read", 50000, 1, case_read},
    {"pread, one file", 50000, 1, case_pread_burst}, {"pread, files in turn", 20000, 1, case_pread_alternating},
    {"open+close", 10000, 2, case_open_close},
};

static double best_ns(void (*once)(void), unsigned count)
{
    uint64_t best = UINT64_MAX;

    for (int round = 0; round < ROUNDS; round++) {
        uint64_t start = now_ns();
        for (unsigned i = 0; i < count; i++)
            once();
        uint64_t took = now_ns() - start;
        best = took < best ? took : best;
    }
    return (double)best / count;
}

/* A second thread, idle: libc and the kernel take shorter ways in a process that has one thread, and no real job has.
 */
static void *idle(void *arg)
{
    for (;;)
        (void)pause();
    return arg;
}

int main(int argc, char **argv)
{
    pthread_t thread;

    if (argc != 2) {
        fprintf(stderr, "usage: hook_cost SCRATCH-DIRECTORY\n");
        return 2;
    }
    files_make(&files, argv[1]);
    if (pthread_create(&thread, NULL, idle, NULL) != 0)
        die("pthread_create");
    if (sem_init(&semaphore, 0, 0) != 0)
        die("sem_init");
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        printf("%s\t%.2f\t%u\n", cases[i].name, best_ns(cases[i].once, cases[i].count), cases[i].hooks);
    files_remove(&files);
    return 0;
}
