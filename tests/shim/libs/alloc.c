/* alloc.c - an allocator preloaded in front of everything, as jemalloc is: its first malloc maps memory and looks into
 * a file under a lock, and whoever mallocs meanwhile never returns. Here that ends the process (liballoc.so of
 * preloads.t). */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define ROOM (256ul << 20)

static char *heap;
static size_t used;
static int starting;

static void start(void)
{
    char buf[64];
    starting = 1;
    heap = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    int fd = open("/proc/sys/vm/overcommit_memory", O_RDONLY);
    if (fd >= 0 && read(fd, buf, sizeof(buf)) < 0)
        abort();
    close(fd);
    starting = 0;
}

void *malloc(size_t n);
void *malloc(size_t n)
{
    if (starting)
        _exit(77); /* a real one would wait for its own lock for ever */
    if (!heap)
        start();
    size_t at = __atomic_fetch_add(&used, (n + 16 + 15) & ~15ul, __ATOMIC_RELAXED);
    if (at + n + 16 > ROOM)
        return NULL;
    *(size_t *)(heap + at) = n;
    return heap + at + 16;
}

void free(void *p);
void free(void *p)
{
    (void)p;
}

void *calloc(size_t n, size_t m);
void *calloc(size_t n, size_t m)
{
    return malloc(n * m); /* fresh from mmap: zero */
}

void *realloc(void *p, size_t n);
void *realloc(void *p, size_t n)
{
    char *q = malloc(n);
    if (p && q) {
        size_t old = *(size_t *)((char *)p - 16);
        memcpy(q, p, old < n ? old : n);
    }
    return q;
}
