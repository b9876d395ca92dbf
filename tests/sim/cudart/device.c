/* device.c - devices as the runtime tells of them. */
#include <stdio.h>
#include <string.h>

#include "tests/sim/cudart/cudart.h"

static int count(int *ret)
{
    *ret = sim_device_count();
    return *ret ? SIM_OK : SIM_NO_DEVICE;
}

static int current(int *ret)
{
    *ret = sim_current();
    return SIM_OK;
}

static int number(int *ret, int value)
{
    if (!ret)
        return SIM_INVALID_VALUE;
    *ret = value;
    return SIM_OK;
}

static int attribute_of(int device, int attribute)
{
    int value = 0;
    sim_attribute(device, attribute, &value);
    return value;
}

int cudart_fill_properties(struct sim_properties_13 *p, int device)
{
    struct sim_device *d = sim_device_at(device);
    if (!d)
        return SIM_INVALID_DEVICE;
    memset(p, 0, sizeof(*p));
    snprintf(p->name, sizeof(p->name), "%s", sim_settings()->gpu_name);
    memcpy(&p->uuid, d->uuid, 16);
    p->totalGlobalMem = d->total;
    p->pciBusID = (int)d->pci_bus;
    p->pciDeviceID = (int)d->pci_device;
    p->pciDomainID = (int)d->pci_domain;
#define FROM(field, attribute) p->field = (__typeof__(p->field))attribute_of(device, attribute)
    FROM(sharedMemPerBlock, 8);
    FROM(regsPerBlock, 12);
    FROM(warpSize, 10);
    FROM(memPitch, 11);
    FROM(maxThreadsPerBlock, 1);
    FROM(totalConstMem, 9);
    FROM(major, 75);
    FROM(minor, 76);
    FROM(textureAlignment, 14);
    FROM(texturePitchAlignment, 51);
    FROM(multiProcessorCount, 16);
    FROM(canMapHostMemory, 19);
    FROM(concurrentKernels, 31);
    FROM(ECCEnabled, 32);
    FROM(asyncEngineCount, 40);
    FROM(unifiedAddressing, 41);
    FROM(memoryBusWidth, 37);
    FROM(l2CacheSize, 38);
    FROM(maxThreadsPerMultiProcessor, 39);
    FROM(streamPrioritiesSupported, 78);
    FROM(sharedMemPerMultiprocessor, 81);
    FROM(regsPerMultiprocessor, 82);
    FROM(managedMemory, 83);
    FROM(concurrentManagedAccess, 89);
    FROM(computePreemptionSupported, 90);
    FROM(canUseHostPointerForRegisteredMem, 91);
    FROM(cooperativeLaunch, 95);
    FROM(sharedMemPerBlockOptin, 97);
    FROM(maxBlocksPerMultiProcessor, 106);
    FROM(reservedSharedMemPerBlock, 111);
    FROM(hostRegisterSupported, 99);
    FROM(memoryPoolsSupported, 115);
    FROM(memoryPoolSupportedHandleTypes, 119);
    FROM(ipcEventSupported, 125);
    FROM(clusterLaunch, 120);
    for (int i = 0; i < 3; i++) {
        FROM(maxThreadsDim[i], 2 + i);
        FROM(maxGridSize[i], 5 + i);
    }
#undef FROM
    return SIM_OK;
}

static int pci_name(char *name, int size, int device)
{
    struct sim_device *d = sim_device_at(device);
    if (!d || !name)
        return d ? SIM_INVALID_VALUE : SIM_INVALID_DEVICE;
    int n = snprintf(name, (size_t)size, "%04x:%02x:%02x.0", d->pci_domain, d->pci_bus, d->pci_device);
    return n < size ? SIM_OK : SIM_INVALID_VALUE;
}

static int by_pci_name(int *ret, const char *name)
{
    char own[32];
    for (int i = 0; i < sim_device_count(); i++)
        if (!pci_name(own, sizeof(own), i) && name && (!strcasecmp(own, name) || !strcasecmp(own + 5, name)))
            return number(ret, i);
    return SIM_INVALID_DEVICE;
}

static bool peers[SIM_DEVICES_MAX][SIM_DEVICES_MAX];

static int peer(int other, bool enable)
{
    int own = sim_current();
    if (!sim_device_at(other) || other == own)
        return SIM_INVALID_DEVICE;
    if (peers[own][other] == enable)
        return enable ? SIM_PEER_ENABLED : 705;
    peers[own][other] = enable;
    return SIM_OK;
}

static size_t limits[16] = {1024, 1048576, 8388608, 2, 2048, 128};

static int limit(unsigned which, const size_t *set, size_t *get)
{
    if (which >= sizeof(limits) / sizeof(limits[0]))
        return SIM_INVALID_VALUE;
    if (set)
        limits[which] = *set;
    else
        *get = limits[which];
    return SIM_OK;
}

static int priorities(int *least, int *greatest)
{
    if (least)
        *least = 0;
    if (greatest)
        *greatest = -5;
    return SIM_OK;
}

static unsigned flags;

static int set_flags(unsigned f)
{
    flags = f;
    return SIM_OK;
}

static int get_flags(unsigned *f)
{
    *f = flags;
    return SIM_OK;
}

RUNTIME(cudaGetDeviceCount, 3, (int *n), P1(n), count(n))
RUNTIME(cudaGetDevice, 17, (int *device), P1(device), current(device))
RUNTIME(cudaSetDevice, 16, (int device), P1(device), sim_set_current(device))
RUNTIME(cudaInitDevice, 444, (int device, unsigned f, unsigned mask), P3(device, f, mask),
        sim_device_at(device) ? SIM_OK : SIM_INVALID_DEVICE)
RUNTIME(cudaSetDeviceFlags, 19, (unsigned f), P1(f), set_flags(f))
RUNTIME(cudaGetDeviceFlags, 212, (unsigned *f), P1(f), get_flags(f))
RUNTIME(cudaDeviceGetAttribute, 200, (int *value, enum cudaDeviceAttr attribute, int device),
        P3(value, attribute, device), sim_attribute(device, (int)attribute, value))
RUNTIME(cudaDeviceGetPCIBusId, 174, (char *name, int size, int device), P3(name, size, device),
        pci_name(name, size, device))
RUNTIME(cudaDeviceGetByPCIBusId, 173, (int *device, const char *name), P2(device, name), by_pci_name(device, name))
RUNTIME(cudaDeviceCanAccessPeer, 154, (int *can, int device, int other), P3(can, device, other),
        sim_device_at(device) && sim_device_at(other) ? number(can, device != other) : SIM_INVALID_DEVICE)
RUNTIME(cudaDeviceEnablePeerAccess, 155, (int other, unsigned f), P2(other, f), peer(other, true))
RUNTIME(cudaDeviceDisablePeerAccess, 156, (int other), P1(other), peer(other, false))
RUNTIME(cudaDeviceGetP2PAttribute, 255, (int *value, enum cudaDeviceP2PAttr attribute, int from, int to),
        P4(value, attribute, from, to), number(value, from != to))
RUNTIME(cudaDeviceSynchronize, 165, (void), P0(), sim_device_sync(sim_current()))
RUNTIME(cudaDeviceReset, 164, (void), P0(), sim_device_sync(sim_current()))
RUNTIME(cudaDeviceSetLimit, 167, (enum cudaLimit which, size_t value), P2(which, value),
        limit((unsigned)which, &value, NULL))
RUNTIME(cudaDeviceGetLimit, 166, (size_t * value, enum cudaLimit which), P2(value, which),
        limit((unsigned)which, NULL, value))
RUNTIME(cudaDeviceGetStreamPriorityRange, 205, (int *least, int *greatest), P2(least, greatest),
        priorities(least, greatest))
RUNTIME(cudaDeviceSetCacheConfig, 169, (enum cudaFuncCache config), P1(config), SIM_OK)
RUNTIME(cudaDriverGetVersion, 1, (int *version), P1(version), number(version, 13000))
RUNTIME(cudaRuntimeGetVersion, 2, (int *version), P1(version), number(version, cudart_version))
RUNTIME(cudaProfilerStart, 171, (void), P0(), SIM_OK)
RUNTIME(cudaProfilerStop, 172, (void), P0(), SIM_OK)
