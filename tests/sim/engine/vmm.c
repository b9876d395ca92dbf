/* vmm.c - virtual memory management: addresses are reserved, physical memory is made, and the two are brought together
 * page-wise. PyTorch's expandable segments live on it. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/sim/engine/inside.h"

struct physical { /* guarded by sim_lock */
    uint64_t handle;
    int device, fd;
    size_t size;
    unsigned refs; /* handles held and mappings */
    struct physical *next;
};

struct mapping {
    void *p;
    size_t size;
    struct physical *physical;
    struct mapping *next;
};

static struct physical *physicals;
static struct mapping *mappings;
static uint64_t last_handle = 0x7000;

int sim_vmm_reserve(size_t size, size_t alignment, void **ret)
{
    if (!size || size % SIM_GRANULARITY)
        return SIM_INVALID_VALUE;
    alignment = alignment < SIM_GRANULARITY ? SIM_GRANULARITY : alignment;
    char *p = mmap(NULL, size + alignment, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return SIM_OUT_OF_MEMORY;
    size_t head = (alignment - (uintptr_t)p % alignment) % alignment;
    if (head)
        munmap(p, head);
    munmap(p + head + size, alignment - head);
    *ret = p + head;
    return SIM_OK;
}

int sim_vmm_unreserve(void *p, size_t size)
{
    return munmap(p, size) ? SIM_INVALID_VALUE : SIM_OK;
}

static struct physical *physical_of(uint64_t handle)
{
    struct physical *ph = physicals;
    while (ph && ph->handle != handle)
        ph = ph->next;
    return ph;
}

static void physical_unref(struct physical *ph)
{
    if (--ph->refs)
        return;
    struct physical **at = &physicals;
    while (*at != ph)
        at = &(*at)->next;
    *at = ph->next;
    sim_account(sim_device_at(ph->device), -(int64_t)ph->size);
    close(ph->fd);
    free(ph);
}

int sim_vmm_create(int device, size_t size, uint64_t *ret_handle)
{
    struct sim_device *d = sim_device_at(device);
    if (!d || !size || size % SIM_GRANULARITY)
        return SIM_INVALID_VALUE;
    struct physical *ph = calloc(1, sizeof(*ph));
    int fd = memfd_create("device-memory", MFD_CLOEXEC);
    sim_lock_engine();
    int error = !ph || fd < 0 || ftruncate(fd, (off_t)size) ? SIM_OUT_OF_MEMORY : sim_account(d, (int64_t)size);
    if (!error) {
        *ph = (struct physical){++last_handle, device, fd, size, 1, physicals};
        physicals = ph;
        *ret_handle = ph->handle;
    }
    sim_unlock_engine();
    if (error && fd >= 0)
        close(fd);
    if (error)
        free(ph);
    return error;
}

int sim_vmm_release(uint64_t handle)
{
    sim_lock_engine();
    struct physical *ph = physical_of(handle);
    if (ph)
        physical_unref(ph);
    sim_unlock_engine();
    return ph ? SIM_OK : SIM_INVALID_VALUE;
}

int sim_vmm_retain(void *p, uint64_t *ret_handle)
{
    int error = SIM_INVALID_VALUE;
    sim_lock_engine();
    for (struct mapping *m = mappings; m; m = m->next)
        if ((char *)p >= (char *)m->p && (char *)p < (char *)m->p + m->size) {
            m->physical->refs++;
            *ret_handle = m->physical->handle;
            error = SIM_OK;
        }
    sim_unlock_engine();
    return error;
}

int sim_vmm_map(void *p, size_t size, size_t offset, uint64_t handle)
{
    struct mapping *m = calloc(1, sizeof(*m));
    if (!m)
        return SIM_OUT_OF_MEMORY;
    struct sim_range r = {(uintptr_t)p, size, size, SIM_DEVICE, 0, .fd = -1};
    sim_lock_engine();
    struct physical *ph = physical_of(handle);
    int error = SIM_INVALID_VALUE;
    if (ph && offset + size <= ph->size &&
        mmap(p, size, PROT_NONE, MAP_SHARED | MAP_FIXED, ph->fd, (off_t)offset) != MAP_FAILED) {
        r.device = ph->device;
        *m = (struct mapping){p, size, ph, mappings};
        mappings = m;
        ph->refs++;
        error = SIM_OK;
    }
    sim_unlock_engine();
    if (error) {
        free(m);
        return error;
    }
    return sim_range_again(&r);
}

int sim_vmm_unmap(void *p, size_t size)
{
    struct sim_range r;
    sim_lock_engine();
    struct mapping **at = &mappings;
    while (*at) {
        struct mapping *m = *at;
        if ((char *)m->p < (char *)p || (char *)m->p + m->size > (char *)p + size) {
            at = &m->next;
            continue;
        }
        *at = m->next;
        void *address = m->p;
        mmap(address, m->size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
        physical_unref(m->physical);
        free(m);
        sim_unlock_engine();
        sim_range_remove(address, &r);
        sim_lock_engine();
        at = &mappings;
    }
    sim_unlock_engine();
    return SIM_OK;
}

int sim_vmm_access(void *p, size_t size, bool writable)
{
    return mprotect(p, size, writable ? PROT_READ | PROT_WRITE : PROT_READ) ? SIM_INVALID_VALUE : SIM_OK;
}
