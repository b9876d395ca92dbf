/* memory.c - allocations: device memory is host memory of a set size, mapped when asked for and never touched by us, so
 * that gigabytes of it cost nothing. Every allocation is found again by any address inside it. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/sim/engine/inside.h"

static struct sim_range *ranges; /* sorted by base; guarded by sim_lock */
static size_t nr_ranges, max_ranges;
static uint64_t last_range;

/* Index of the first range that begins after p. */
static size_t after(uintptr_t p)
{
    size_t low = 0, high = nr_ranges;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (ranges[middle].base <= p)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct sim_range *range_at(const void *p)
{
    size_t i = after((uintptr_t)p);
    return i && (uintptr_t)p - ranges[i - 1].base < ranges[i - 1].mapped ? &ranges[i - 1] : NULL;
}

static int range_insert(const struct sim_range *r)
{
    if (nr_ranges == max_ranges) {
        size_t max = max_ranges ? 2 * max_ranges : 256;
        struct sim_range *larger = realloc(ranges, max * sizeof(*ranges));
        if (!larger)
            return SIM_OUT_OF_MEMORY;
        ranges = larger;
        max_ranges = max;
    }
    size_t i = after(r->base);
    memmove(&ranges[i + 1], &ranges[i], (nr_ranges - i) * sizeof(*ranges));
    ranges[i] = *r;
    ranges[i].id = ++last_range;
    nr_ranges++;
    return SIM_OK;
}

bool sim_find_range(const void *p, struct sim_range *ret)
{
    sim_lock_engine();
    struct sim_range *r = range_at(p);
    if (r)
        *ret = *r;
    sim_unlock_engine();
    return r != NULL;
}

/* ---- What of a device is in use: by this process, and with SIM_DIR by all that share the folder
 * ---------------------- */
static int64_t *shared_use(int device)
{
    static int64_t *counters;
    static bool tried;
    if (!tried) {
        tried = true;
        char path[4096];
        const char *dir = sim_settings()->dir;
        int fd = -1;
        if (dir && snprintf(path, sizeof(path), "%s/memory", dir) < (int)sizeof(path))
            fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (fd >= 0 && ftruncate(fd, 4096) == 0) {
            void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
            counters = p == MAP_FAILED ? NULL : p;
        }
        if (fd >= 0)
            close(fd);
    }
    return counters ? &counters[sim_device_at(device)->uuid[15]] : NULL;
}

int sim_account(struct sim_device *d, int64_t bytes)
{
    int64_t *all = shared_use(d->index);
    if (all) {
        int64_t sum = __atomic_add_fetch(all, bytes, __ATOMIC_ACQ_REL);
        if (bytes > 0 && (uint64_t)sum > d->total) {
            __atomic_sub_fetch(all, bytes, __ATOMIC_ACQ_REL);
            return SIM_OUT_OF_MEMORY;
        }
    } else if (bytes > 0 && d->used + (uint64_t)bytes > d->total) {
        return SIM_OUT_OF_MEMORY;
    }
    d->used += (uint64_t)bytes;
    return SIM_OK;
}

int sim_memory_info(int device, size_t *ret_free, size_t *ret_total)
{
    struct sim_device *d = sim_device_at(device);
    if (!d)
        return SIM_INVALID_DEVICE;
    sim_lock_engine();
    int64_t *all = shared_use(device);
    uint64_t used = all ? (uint64_t)*all : d->used;
    sim_unlock_engine();
    *ret_free = used < d->total ? d->total - used : 0;
    *ret_total = d->total;
    return SIM_OK;
}

void sim_tell_memory(bool release, const struct sim_range *r, struct sim_stream *stream)
{
    const struct sim_observer *o = sim_observer();
    struct sim_call *call = sim_call_current();
    if (!o)
        return;
    struct sim_memory m = {.release = release,
                           .async = stream != NULL,
                           .place = r->place,
                           .address = r->base,
                           .bytes = r->size,
                           .ns = sim_now(),
                           .device = (uint32_t)r->device,
                           .stream_id = stream ? stream->id : 0,
                           .correlation = call ? call->correlation : 0,
                           .pool = r->pool};
    o->memory(&m);
}

int sim_range_new(size_t size, size_t mapped, enum sim_place place, int device, int fd, void **ret)
{
    void *p = mmap(NULL, mapped, PROT_READ | PROT_WRITE,
                   fd >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, fd, 0);
    if (p == MAP_FAILED)
        return SIM_OUT_OF_MEMORY;
    if (place == SIM_PINNED) /* pinning is what takes time in a real allocation, too; then copies do not fault */
        madvise(p, mapped, MADV_POPULATE_WRITE);
    else if (mapped >= SIM_GRANULARITY)
        madvise(p, mapped, MADV_HUGEPAGE);
    madvise(p, mapped, MADV_DONTFORK); /* as the driver's: no child of fork has it, and forking makes nothing slower */
    struct sim_range r = {(uintptr_t)p, size, mapped, place, device, .fd = fd};
    sim_lock_engine();
    int error = range_insert(&r);
    sim_unlock_engine();
    if (error)
        munmap(p, mapped);
    else
        *ret = p;
    return error;
}

/* Puts back a range taken off the list: its memory was kept. */
int sim_range_again(const struct sim_range *r)
{
    sim_lock_engine();
    int error = range_insert(r);
    sim_unlock_engine();
    return error;
}

/* Takes the range that begins at p off the list. */
int sim_range_remove(void *p, struct sim_range *ret)
{
    sim_lock_engine();
    struct sim_range *r = range_at(p);
    if (!r || r->base != (uintptr_t)p) {
        sim_unlock_engine();
        return SIM_INVALID_VALUE;
    }
    *ret = *r;
    memmove(r, r + 1, (size_t)(ranges + nr_ranges - (r + 1)) * sizeof(*r));
    nr_ranges--;
    sim_unlock_engine();
    return SIM_OK;
}

int sim_range_drop(const struct sim_range *r)
{
    munmap((void *)r->base, r->mapped);
    if (r->fd >= 0)
        close(r->fd);
    return SIM_OK;
}

/* The driver hands out large allocations in whole pages of 2 MiB, small ones from shared pages. */
size_t sim_device_size(size_t size)
{
    size_t unit = size >= (1u << 20) ? 2u << 20 : 512;
    return (size + unit - 1) / unit * unit;
}

static size_t pages(size_t size)
{
    return (size + 4095) & ~(size_t)4095;
}

int sim_device_range(int device, size_t size, enum sim_place place, struct sim_pool *pool, void **ret)
{
    struct sim_device *d = sim_device_at(device);
    if (!d)
        return SIM_INVALID_DEVICE;
    if (!size) {
        *ret = NULL;
        return SIM_OK;
    }
    sim_lock_engine();
    int error = size > d->total ? SIM_OUT_OF_MEMORY : sim_account(d, (int64_t)sim_device_size(size));
    sim_unlock_engine();
    if (error)
        return error;
    /* A shared file behind it only where another process may ask for it, so that plain runs leave nothing open. */
    error = sim_range_new(size, pages(sim_device_size(size)), place, device, -1, ret);
    sim_lock_engine();
    if (error)
        sim_account(d, -(int64_t)sim_device_size(size));
    else
        range_at(*ret)->pool = pool;
    sim_unlock_engine();
    return error;
}

static int told(int error, void **p)
{
    struct sim_range r;
    if (!error && *p && sim_find_range(*p, &r))
        sim_tell_memory(false, &r, NULL);
    return error;
}

/* Gives a range that is off the list back to its device. */
int sim_device_range_drop(const struct sim_range *r)
{
    sim_lock_engine();
    sim_account(sim_device_at(r->device), -(int64_t)sim_device_size(r->size));
    sim_unlock_engine();
    return sim_range_drop(r);
}

int sim_malloc(int device, size_t size, void **ret)
{
    return ret ? told(sim_device_range(device, size, SIM_DEVICE, NULL, ret), ret) : SIM_INVALID_VALUE;
}

int sim_malloc_managed(int device, size_t size, void **ret)
{
    return ret && size ? told(sim_device_range(device, size, SIM_MANAGED, NULL, ret), ret) : SIM_INVALID_VALUE;
}

/* As cudaFree: waits for the device, because what is queued may still use the memory. */
int sim_free(void *p)
{
    if (!p)
        return SIM_OK;
    struct sim_range r;
    if (!sim_find_range(p, &r) || r.base != (uintptr_t)p || r.place == SIM_PINNED)
        return SIM_INVALID_VALUE;
    if (r.pool)
        return sim_free_async(p, sim_stream_of(NULL));
    sim_device_wait(r.device);
    if (sim_range_remove(p, &r))
        return SIM_INVALID_VALUE;
    sim_tell_memory(true, &r, NULL);
    return sim_device_range_drop(&r);
}

int sim_host_alloc(size_t size, unsigned flags, void **ret)
{
    int error = sim_init();
    if (error || !size) {
        if (ret)
            *ret = NULL;
        return error;
    }
    return told(sim_range_new(size, pages(size), SIM_PINNED, sim_current(), -1, ret), ret);
}

int sim_host_free(void *p)
{
    if (!p)
        return SIM_OK;
    struct sim_range r;
    if (!sim_find_range(p, &r) || r.place != SIM_PINNED || r.registered || sim_range_remove(p, &r))
        return SIM_INVALID_VALUE;
    sim_tell_memory(true, &r, NULL);
    return sim_range_drop(&r);
}

int sim_host_register(void *p, size_t size, unsigned flags)
{
    struct sim_range r = {(uintptr_t)p, size, size, SIM_PINNED, sim_current(), flags, .registered = true, .fd = -1};
    if (!p || !size)
        return SIM_INVALID_VALUE;
    sim_lock_engine();
    int error = range_at(p) ? SIM_ALREADY_REGISTERED : range_insert(&r);
    sim_unlock_engine();
    return error;
}

int sim_host_unregister(void *p)
{
    struct sim_range r;
    if (!sim_find_range(p, &r) || !r.registered || r.base != (uintptr_t)p)
        return SIM_NOT_REGISTERED;
    return sim_range_remove(p, &r);
}

/* ---- Memory shared between processes: the handle names a file of the owner that the other process opens
 * -------------- */
struct ipc_handle {
    uint32_t magic;
    int32_t pid, fd, device;
    uint64_t size, mapped, offset;
};

/* Private memory becomes a shared file with the same content, at the same address. */
static int make_shared(struct sim_range *r)
{
    if (r->fd >= 0)
        return SIM_OK;
    int fd = memfd_create("device-memory", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, (off_t)r->mapped) || write(fd, (void *)r->base, r->size) != (ssize_t)r->size ||
        mmap((void *)r->base, r->mapped, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED) {
        if (fd >= 0)
            close(fd);
        return SIM_OUT_OF_MEMORY;
    }
    r->fd = fd;
    return SIM_OK;
}

int sim_ipc_handle(void *p, void *ret_handle64)
{
    sim_lock_engine();
    struct sim_range *r = range_at(p);
    int error = r && r->place == SIM_DEVICE && !r->pool ? make_shared(r) : SIM_INVALID_VALUE;
    if (!error) {
        struct ipc_handle h = {0x49504348, getpid(), r->fd, r->device, r->size, r->mapped, (uintptr_t)p - r->base};
        memset(ret_handle64, 0, 64);
        memcpy(ret_handle64, &h, sizeof(h));
    }
    sim_unlock_engine();
    return error;
}

int sim_ipc_open(const void *handle64, int device, void **ret)
{
    struct ipc_handle h;
    memcpy(&h, handle64, sizeof(h));
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", h.pid, h.fd);
    if (h.magic != 0x49504348 || h.pid == getpid())
        return SIM_INVALID_CONTEXT; /* as CUDA: not in the process that made it */
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return SIM_INVALID_VALUE;
    void *base;
    int error = sim_range_new(h.size, h.mapped, SIM_DEVICE, device, fd, &base);
    if (error) {
        close(fd);
        return error;
    }
    sim_lock_engine();
    range_at(base)->foreign = true;
    sim_unlock_engine();
    *ret = (char *)base + h.offset;
    return SIM_OK;
}

int sim_ipc_close(void *p)
{
    struct sim_range r;
    if (!sim_find_range(p, &r) || !r.foreign || sim_range_remove((void *)r.base, &r))
        return SIM_INVALID_VALUE;
    return sim_range_drop(&r);
}
