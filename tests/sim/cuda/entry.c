/* entry.c - functions by name and version. What a name means depends on the version asked for: the table has the names
 * whose form changed; all others are exported under the name they are asked for. */
#include <dlfcn.h>
#include <string.h>

#include "tests/sim/cuda/driver.h"

static const struct {
    const char *name;
    int version; /* from this one on */
    const char *symbol;
} forms[] = {
    {"cuMemAlloc", 3020, "cuMemAlloc_v2"},
    {"cuMemFree", 3020, "cuMemFree_v2"},
    {"cuMemGetInfo", 3020, "cuMemGetInfo_v2"},
    {"cuMemGetAddressRange", 3020, "cuMemGetAddressRange_v2"},
    {"cuMemAllocHost", 3020, "cuMemAllocHost_v2"},
    {"cuMemHostRegister", 6050, "cuMemHostRegister_v2"},
    {"cuDeviceTotalMem", 3020, "cuDeviceTotalMem_v2"},
    {"cuDeviceGetUuid", 11040, "cuDeviceGetUuid_v2"},
    {"cuDevicePrimaryCtxRelease", 11000, "cuDevicePrimaryCtxRelease_v2"},
    {"cuDevicePrimaryCtxSetFlags", 11000, "cuDevicePrimaryCtxSetFlags_v2"},
    {"cuCtxCreate", 3020, "cuCtxCreate_v2"},
    {"cuCtxDestroy", 4000, "cuCtxDestroy_v2"},
    {"cuCtxPushCurrent", 4000, "cuCtxPushCurrent_v2"},
    {"cuCtxPopCurrent", 4000, "cuCtxPopCurrent_v2"},
    {"cuStreamDestroy", 4000, "cuStreamDestroy_v2"},
    {"cuEventDestroy", 4000, "cuEventDestroy_v2"},
    {"cuStreamBeginCapture", 10010, "cuStreamBeginCapture_v2"},
    {"cuMemcpyHtoD", 3020, "cuMemcpyHtoD_v2"},
    {"cuMemcpyHtoDAsync", 3020, "cuMemcpyHtoDAsync_v2"},
    {"cuMemcpyDtoH", 3020, "cuMemcpyDtoH_v2"},
    {"cuMemcpyDtoHAsync", 3020, "cuMemcpyDtoHAsync_v2"},
    {"cuMemcpyDtoD", 3020, "cuMemcpyDtoD_v2"},
    {"cuMemcpyDtoDAsync", 3020, "cuMemcpyDtoDAsync_v2"},
    {"cuMemsetD8", 3020, "cuMemsetD8_v2"},
    {"cuMemsetD32", 3020, "cuMemsetD32_v2"},
    {"cuIpcOpenMemHandle", 11000, "cuIpcOpenMemHandle_v2"},
    {"cuGetProcAddress", 12000, "cuGetProcAddress_v2"},
    {"cuGraphInstantiate", 11040, "cuGraphInstantiateWithFlags"},
};

static void *own(const char *symbol)
{
    Dl_info here;
    static void *handle;
    if (!handle && dladdr((void *)own, &here))
        handle = dlopen(here.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    return handle ? dlsym(handle, symbol) : NULL;
}

/* CUdriverProcAddressQueryResult: 0 found, 1 no such name, 2 not in that version. */
static int find(const char *name, void **ret, int version, int *status)
{
    const char *symbol = name;
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
        if (strcmp(forms[i].name, name) == 0 && version >= forms[i].version)
            symbol = forms[i].symbol;
    *ret = strncmp(name, "cu", 2) == 0 ? own(symbol) : NULL;
    if (status)
        *status = *ret ? 0 : 1;
    return *ret ? SIM_OK : SIM_NOT_FOUND;
}

DRIVER(cuGetProcAddress_v2, 677,
       (const char *name, void **f, int version, cuuint64_t flags, CUdriverProcAddressQueryResult *status),
       P5(name, f, version, flags, status), find(name, f, version, (int *)status))
DRIVER(cuGetProcAddress, 626, (const char *name, void **f, int version, cuuint64_t flags), P4(name, f, version, flags),
       find(name, f, version, NULL))

/* Private tables of NVIDIA's own libraries: there is no way to offer those. */
static int no_table(const void **table)
{
    sim_say_missing("cuGetExportTable");
    *table = NULL;
    return SIM_NOT_SUPPORTED;
}

DRIVER(cuGetExportTable, 135, (const void **table, const CUuuid *id), P2(table, id), no_table(table))
