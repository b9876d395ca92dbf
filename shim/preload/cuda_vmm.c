/* cuda_vmm.c - see cuda_vmm.h. Told as segments: mapping gives memory an address, so a mapping is the segment; creating
 * is told where it fails, for that is where the device is full.
 *
 * There is one driver in a process, so one function behind each of ours; a second look-up finds the same. */
#include "shim/preload/cuda_vmm.h"

#include <string.h>

#include "shim/preload/hook.h"

typedef unsigned long long device_pointer;

static int (*real_create)(unsigned long long *handle, size_t size, const void *properties, unsigned long long flags);
static int (*real_map)(device_pointer at, size_t size, size_t offset, unsigned long long handle,
                       unsigned long long flags);
static int (*real_unmap)(device_pointer at, size_t size);

static int our_create(unsigned long long *handle, size_t size, const void *properties, unsigned long long flags)
{
    struct shim_call c;
    if (!gate_open(GATE_SEGMENT) || !hook_enter(&c))
        return real_create(handle, size, properties, flags);
    hook_out(&c);
    int rc = real_create(handle, size, properties, flags);
    hook_leave(&c);
    if (rc)
        core->segment(&c, TR_segment_act_failed, TR_segment_kind_vmm, NULL, size, rc, 0, __builtin_return_address(0));
    hook_done(&c);
    return rc;
}

static int our_map(device_pointer at, size_t size, size_t offset, unsigned long long handle, unsigned long long flags)
{
    struct shim_call c;
    if (!gate_open(GATE_SEGMENT) || !hook_enter(&c))
        return real_map(at, size, offset, handle, flags);
    hook_out(&c);
    int rc = real_map(at, size, offset, handle, flags);
    hook_leave(&c);
    core->segment(&c, rc ? TR_segment_act_failed : TR_segment_act_alloc, TR_segment_kind_vmm,
                  rc ? NULL : (void *)(uintptr_t)at, size, rc, 0, __builtin_return_address(0));
    hook_done(&c);
    return rc;
}

static int our_unmap(device_pointer at, size_t size)
{
    struct shim_call c;
    if (!gate_open(GATE_SEGMENT) || !hook_enter(&c))
        return real_unmap(at, size);
    hook_out(&c);
    int rc = real_unmap(at, size);
    hook_leave(&c);
    if (!rc)
        core->segment(&c, TR_segment_act_free, TR_segment_kind_vmm, (void *)(uintptr_t)at, size, rc, 0,
                      __builtin_return_address(0));
    hook_done(&c);
    return rc;
}

void vmm_stand_in(const char *symbol, void **fn)
{
    static const struct {
        const char *name;
        void **real, *ours;
    } calls[] = {
        {"cuMemCreate", (void **)&real_create, (void *)our_create},
        {"cuMemMap", (void **)&real_map, (void *)our_map},
        {"cuMemUnmap", (void **)&real_unmap, (void *)our_unmap},
    };
    for (size_t i = 0; symbol && fn && *fn && i < sizeof(calls) / sizeof(*calls); i++) {
        if (strcmp(symbol, calls[i].name) != 0 || *fn == calls[i].ours)
            continue;
        __atomic_store_n(calls[i].real, *fn, __ATOMIC_RELEASE);
        *fn = calls[i].ours;
    }
}
