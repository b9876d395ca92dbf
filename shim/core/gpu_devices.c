/* gpu_devices.c - what the driver says of the devices that ran something. By the tender alone, when CUDA is up. */
#include <dlfcn.h>
#include <stdio.h>

#include "shim/core/core.h"
#include "shim/core/gpu.h"
#include "shim/core/gpu_records.h"
#include "shim/core/pcie.h"

/* What the driver says of a device; called from the tender, by then CUDA is up. */
static void send_device(unsigned device)
{
    void *lib = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    int (*get)(int *, int) = lib ? (int (*)(int *, int))dlsym(lib, "cuDeviceGet") : NULL;
    int (*name)(char *, int, int) = lib ? (int (*)(char *, int, int))dlsym(lib, "cuDeviceGetName") : NULL;
    int (*total)(size_t *, int) = lib ? (int (*)(size_t *, int))dlsym(lib, "cuDeviceTotalMem_v2") : NULL;
    int (*attribute)(int *, int, int) = lib ? (int (*)(int *, int, int))dlsym(lib, "cuDeviceGetAttribute") : NULL;
    int (*bus)(char *, int, int) = lib ? (int (*)(char *, int, int))dlsym(lib, "cuDeviceGetPCIBusId") : NULL;
    int (*uuid)(unsigned char *, int) = lib ? (int (*)(unsigned char *, int))dlsym(lib, "cuDeviceGetUuid") : NULL;
    (void)dlerror();
    char model[128] = "", address[32] = "", id[48] = "", key[32], link[32];
    unsigned char raw[16];
    size_t bytes = 0;
    int handle, multiprocessors = 0;
    enum { MULTIPROCESSOR_COUNT = 16 };

    if (!get || get(&handle, (int)device) != 0)
        return;
    if (name)
        (void)name(model, sizeof(model), handle);
    if (total)
        (void)total(&bytes, handle);
    if (attribute)
        (void)attribute(&multiprocessors, MULTIPROCESSOR_COUNT, handle);
    if (bus)
        (void)bus(address, sizeof(address), handle);
    if (uuid && uuid(raw, handle) == 0)
        snprintf(id, sizeof(id), "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", raw[0],
                 raw[1], raw[2], raw[3], raw[4], raw[5], raw[6], raw[7], raw[8], raw[9], raw[10], raw[11], raw[12],
                 raw[13], raw[14], raw[15]);
    if (pcie_link("/sys/bus/pci/devices", address, link, sizeof(link))) {
        snprintf(key, sizeof(key), "gpu.%u.pcie", device);
        EMIT(attr, process.pid, .key = key, .value = link);
    }
    EMIT(gpu, process.pid, .device = device, .multiprocessors = (uint32_t)multiprocessors, .memory_bytes = bytes,
         .model = model, .uuid = id, .bus = address);
}

void gpu_devices_send(bool again)
{
    static _Atomic uint64_t sent;
    uint64_t seen = gpu_records_devices(), now = again ? seen : seen & ~atomic_load(&sent);
    for (unsigned device = 0; now >> device && device < 64; device++)
        if (now >> device & 1)
            send_device(device);
    atomic_store(&sent, seen);
}
