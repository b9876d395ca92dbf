/* other.c - somebody else's preload: counts reads of $OTHER_FILE's descriptors, wraps malloc with a counter of its own,
 * and writes "READS CHILD-READS" to $OTHER_COUNT at the end (libother.so of preloads.t). */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int (*counts)[2]; /* shared with forked children: [0] ours, [1] theirs */
static pid_t first;

__attribute__((constructor)) static void begin(void)
{
    counts = mmap(NULL, sizeof(*counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    first = getpid();
}

__attribute__((destructor)) static void end(void)
{
    const char *path = getenv("OTHER_COUNT"), *preload = getenv("LD_PRELOAD");
    if (!path || !preload || getpid() != first || !(*counts)[0])
        return;
    FILE *f = fopen(path, "w");
    if (f) {
        fprintf(f, "%d %d\n", (*counts)[0], (*counts)[1]);
        fclose(f);
    }
}

ssize_t read(int fd, void *buf, size_t n);
ssize_t read(int fd, void *buf, size_t n)
{
    static ssize_t (*real)(int, void *, size_t);
    char link[64], target[4096] = "";
    if (!real)
        real = (ssize_t(*)(int, void *, size_t))dlsym(RTLD_NEXT, "read");
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    const char *file = getenv("OTHER_FILE");
    if (file && readlink(link, target, sizeof(target) - 1) > 0 && strcmp(target, file) == 0)
        __atomic_add_fetch(&(*counts)[getpid() != first], 1, __ATOMIC_RELAXED);
    return real(fd, buf, n);
}

void *malloc(size_t n);
void *malloc(size_t n)
{
    static void *(*real)(size_t);
    if (!real)
        real = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
    return real(n);
}
