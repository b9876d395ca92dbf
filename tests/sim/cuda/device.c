/* device.c - devices and contexts of the driver API. One context per device, the primary one; cuCtxCreate hands out the
 * same, as far as anything here can tell. */
#include <stdio.h>
#include <string.h>

#include "tests/sim/cuda/driver.h"

#define CONTEXT(device) ((CUcontext)sim_device_at(device))

static __thread CUcontext stack[16];
static __thread int depth;

static int device_of(CUcontext c)
{
    return ((struct sim_device *)c)->index;
}

static int make_current(CUcontext c)
{
    if (!depth)
        depth = 1;
    stack[depth - 1] = c;
    return c ? sim_set_current(device_of(c)) : SIM_OK;
}

/* A thread that only used the runtime has its device's primary context. */
static CUcontext current(void)
{
    return depth && stack[depth - 1] ? stack[depth - 1] : CONTEXT(sim_current());
}

static int get(CUcontext *ret)
{
    *ret = current();
    return SIM_OK;
}

static int push(CUcontext c)
{
    if (depth == 16)
        return SIM_INVALID_VALUE;
    depth++;
    return make_current(c);
}

static int pop(CUcontext *ret)
{
    if (!depth)
        return SIM_INVALID_CONTEXT;
    if (ret)
        *ret = stack[depth - 1];
    depth--;
    return depth && stack[depth - 1] ? sim_set_current(device_of(stack[depth - 1])) : SIM_OK;
}

static int retain(CUcontext *ret, int device)
{
    *ret = CONTEXT(device);
    return *ret ? SIM_OK : SIM_INVALID_DEVICE;
}

static int create(CUcontext *ret, int device)
{
    int error = retain(ret, device);
    return error ? error : push(*ret);
}

static int number(int *ret, int value)
{
    *ret = value;
    return SIM_OK;
}

static int name_of(char *name, int size, int device)
{
    if (!sim_device_at(device))
        return SIM_INVALID_DEVICE;
    snprintf(name, (size_t)size, "%s", sim_settings()->gpu_name);
    return SIM_OK;
}

static int uuid_of(CUuuid *ret, int device)
{
    struct sim_device *d = sim_device_at(device);
    if (d)
        memcpy(ret, d->uuid, 16);
    return d ? SIM_OK : SIM_INVALID_DEVICE;
}

static int pci_name(char *name, int size, int device)
{
    struct sim_device *d = sim_device_at(device);
    if (!d)
        return SIM_INVALID_DEVICE;
    snprintf(name, (size_t)size, "%04x:%02x:%02x.0", d->pci_domain, d->pci_bus, d->pci_device);
    return SIM_OK;
}

static int total(size_t *ret, int device)
{
    size_t unused;
    return sim_memory_info(device, &unused, ret);
}

static int primary_state(unsigned *flags, int *active)
{
    *flags = 0;
    *active = 1;
    return SIM_OK;
}

static int version(unsigned *ret)
{
    *ret = 3020;
    return SIM_OK;
}

static int priorities(int *least, int *greatest)
{
    *least = 0;
    *greatest = -5;
    return SIM_OK;
}

DRIVER(cuDeviceGet, 3, (CUdevice * d, int ordinal), P2(d, ordinal),
       sim_device_at(ordinal) ? number(d, ordinal) : SIM_INVALID_DEVICE)
DRIVER(cuDeviceGetCount, 4, (int *n), P1(n), number(n, sim_device_count()))
DRIVER(cuDeviceGetName, 5, (char *name, int size, CUdevice d), P3(name, size, d), name_of(name, size, d))
DRIVER(cuDeviceGetUuid, 482, (CUuuid * id, CUdevice d), P2(id, d), uuid_of(id, d))
DRIVER(cuDeviceGetUuid_v2, 647, (CUuuid * id, CUdevice d), P2(id, d), uuid_of(id, d))
DRIVER(cuDeviceGetAttribute, 9, (int *value, CUdevice_attribute a, CUdevice d), P3(value, a, d),
       sim_attribute(d, (int)a, value))
DRIVER(cuDeviceGetPCIBusId, 332, (char *name, int size, CUdevice d), P3(name, size, d), pci_name(name, size, d))
DRIVER(cuDeviceTotalMem_v2, 259, (size_t * bytes, CUdevice d), P2(bytes, d), total(bytes, d))
DRIVER(cuDeviceCanAccessPeer, 312, (int *can, CUdevice d, CUdevice other), P3(can, d, other), number(can, d != other))
DRIVER(cuDevicePrimaryCtxRetain, 386, (CUcontext * c, CUdevice d), P2(c, d), retain(c, d))
DRIVER(cuDevicePrimaryCtxRelease_v2, 544, (CUdevice d), P1(d), SIM_OK)
DRIVER(cuDevicePrimaryCtxGetState, 392, (CUdevice d, unsigned *flags, int *active), P3(d, flags, active),
       primary_state(flags, active))
DRIVER(cuDevicePrimaryCtxSetFlags_v2, 546, (CUdevice d, unsigned flags), P2(d, flags), SIM_OK)
DRIVER(cuCtxCreate_v2, 235, (CUcontext * c, unsigned flags, CUdevice d), P3(c, flags, d), create(c, d))
DRIVER(cuCtxDestroy_v2, 322, (CUcontext c), P1(c), depth &&stack[depth - 1] == c ? pop(NULL) : SIM_OK)
DRIVER(cuCtxGetCurrent, 304, (CUcontext * c), P1(c), get(c))
DRIVER(cuCtxSetCurrent, 303, (CUcontext c), P1(c), make_current(c))
DRIVER(cuCtxPushCurrent_v2, 323, (CUcontext c), P1(c), push(c))
DRIVER(cuCtxPopCurrent_v2, 324, (CUcontext * c), P1(c), pop(c))
DRIVER(cuCtxGetDevice, 16, (CUdevice * d), P1(d), number(d, sim_current()))
DRIVER(cuCtxGetApiVersion, 296, (CUcontext c, unsigned *v), P2(c, v), version(v))
DRIVER(cuCtxGetStreamPriorityRange, 370, (int *least, int *greatest), P2(least, greatest), priorities(least, greatest))
DRIVER(cuCtxSynchronize, 17, (void), P0(), sim_device_sync(sim_current()))
DRIVER(cuCtxEnablePeerAccess, 313, (CUcontext c, unsigned flags), P2(c, flags), SIM_OK)
