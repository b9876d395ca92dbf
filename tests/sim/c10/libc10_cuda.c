/* libc10_cuda.c - the caching allocator; see c10.h. One lock, held while it reports, as in PyTorch. */
#include <pthread.h>
#include <stdlib.h>

#include "tests/sim/abi/cuda_abi.h"
#include "tests/sim/c10/c10.h"

cudaError_t cudaMalloc(void **p, size_t bytes);
cudaError_t cudaFree(void *p);
cudaError_t cudaGetDevice(int *device);
cudaError_t cudaGetLastError(void);

#define UNIT 512u
#define SMALL (1u << 20)          /* up to this a request is small */
#define SMALL_SEGMENT (2u << 20)  /* and comes from segments of this size */
#define LARGE_FROM (10u << 20)    /* from this on a request has a segment of its own */
#define LARGE_SEGMENT (20u << 20) /* below, segments have this size */
#define ROUND_LARGE (2u << 20)
#define DEVICES 16

struct block {
    char *p;
    size_t bytes;
    bool used;
    bool small;
    struct block *before, *after;          /* neighbours in the segment */
    struct block *list_next, *list_before; /* all blocks of the device */
};

static struct device {
    struct block *blocks;
    struct c10_stats stats;
} devices[DEVICES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards all above */

/* Live blocks are found by address. */
#define BUCKETS 4096
static struct used {
    struct block *block;
    int device;
    struct used *next;
} * used[BUCKETS];

static struct used **bucket(const void *p)
{
    return &used[((uintptr_t)p >> 9) % BUCKETS];
}

static size_t in_units(size_t bytes, size_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

static void list_add(struct device *d, struct block *b)
{
    b->list_next = d->blocks;
    b->list_before = NULL;
    if (d->blocks)
        d->blocks->list_before = b;
    d->blocks = b;
}

static void list_remove(struct device *d, struct block *b)
{
    if (b->list_before)
        b->list_before->list_next = b->list_next;
    else
        d->blocks = b->list_next;
    if (b->list_next)
        b->list_next->list_before = b->list_before;
    free(b);
}

static struct block *best_fit(struct device *d, size_t bytes, bool small)
{
    struct block *best = NULL;
    for (struct block *b = d->blocks; b; b = b->list_next)
        if (!b->used && b->small == small && b->bytes >= bytes && (!best || b->bytes < best->bytes))
            best = b;
    return best;
}

static void give_back_whole(struct device *d)
{
    for (struct block *b = d->blocks, *next; b; b = next) {
        next = b->list_next;
        if (b->used || b->before || b->after)
            continue;
        cudaFree(b->p);
        d->stats.reserved -= b->bytes;
        list_remove(d, b);
    }
}

static struct block *new_segment(struct device *d, size_t bytes, bool small)
{
    size_t segment = small ? SMALL_SEGMENT : bytes < LARGE_FROM ? LARGE_SEGMENT : in_units(bytes, ROUND_LARGE);
    void *p = NULL;
    if (cudaMalloc(&p, segment)) {
        cudaGetLastError();
        give_back_whole(d);
        d->stats.retries++;
        if (cudaMalloc(&p, segment)) {
            cudaGetLastError();
            return NULL;
        }
    }
    struct block *b = calloc(1, sizeof(*b));
    if (!b)
        abort();
    b->p = p;
    b->bytes = segment;
    b->small = small;
    list_add(d, b);
    d->stats.reserved += segment;
    if (d->stats.reserved > d->stats.reserved_peak)
        d->stats.reserved_peak = d->stats.reserved;
    return b;
}

static void split(struct device *d, struct block *b, size_t bytes)
{
    size_t rest = b->bytes - bytes;
    if (b->small ? rest < UNIT : rest <= SMALL)
        return;
    struct block *r = calloc(1, sizeof(*r));
    if (!r)
        abort();
    *r = (struct block){.p = b->p + bytes, .bytes = rest, .small = b->small, .before = b, .after = b->after};
    if (r->after)
        r->after->before = r;
    b->after = r;
    b->bytes = bytes;
    list_add(d, r);
}

static void merge_after(struct device *d, struct block *b)
{
    struct block *n = b->after;
    if (!n || n->used)
        return;
    b->bytes += n->bytes;
    b->after = n->after;
    if (b->after)
        b->after->before = b;
    list_remove(d, n);
}

static int current(void)
{
    int device = 0;
    cudaGetDevice(&device);
    return device;
}

void *c10_cuda_malloc(size_t bytes)
{
    int index = current();
    struct device *d = &devices[index];
    struct c10_device where = {1, (int8_t)index};
    bytes = in_units(bytes ? bytes : 1, UNIT);
    bool small = bytes <= SMALL;
    pthread_mutex_lock(&lock);
    struct block *b = best_fit(d, bytes, small);
    if (!b)
        b = new_segment(d, bytes, small);
    if (!b) {
        report_out_of_memory((int64_t)bytes, d->stats.allocated, d->stats.reserved, where);
        pthread_mutex_unlock(&lock);
        return NULL;
    }
    split(d, b, bytes);
    b->used = true;
    struct used *u = malloc(sizeof(*u));
    if (!u)
        abort();
    *u = (struct used){b, index, *bucket(b->p)};
    *bucket(b->p) = u;
    d->stats.allocated += b->bytes;
    report_memory_usage(b->p, (int64_t)b->bytes, d->stats.allocated, d->stats.reserved, where);
    void *p = b->p;
    pthread_mutex_unlock(&lock);
    return p;
}

void c10_cuda_free(void *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&lock);
    struct used **at = bucket(p);
    while (*at && (*at)->block->p != p)
        at = &(*at)->next;
    if (!*at)
        abort(); /* PyTorch: "invalid device pointer" */
    struct used *u = *at;
    struct device *d = &devices[u->device];
    struct block *b = u->block;
    *at = u->next;
    d->stats.allocated -= b->bytes;
    report_memory_usage(b->p, -(int64_t)b->bytes, d->stats.allocated, d->stats.reserved,
                        (struct c10_device){1, (int8_t)u->device});
    free(u);
    b->used = false;
    merge_after(d, b);
    if (b->before && !b->before->used)
        merge_after(d, b->before);
    pthread_mutex_unlock(&lock);
}

void c10_cuda_empty_cache(void)
{
    pthread_mutex_lock(&lock);
    give_back_whole(&devices[current()]);
    pthread_mutex_unlock(&lock);
}

void c10_cuda_stats(int device, struct c10_stats *ret)
{
    pthread_mutex_lock(&lock);
    *ret = devices[device].stats;
    ret->split_free = 0;
    for (struct block *b = devices[device].blocks; b; b = b->list_next)
        if (!b->used && (b->before || b->after))
            ret->split_free += b->bytes;
    pthread_mutex_unlock(&lock);
}
