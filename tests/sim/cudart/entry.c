/* entry.c - functions of the driver by name, as cudaGetDriverEntryPoint hands them out, and the private tables that
 * NVIDIA's own libraries ask for, which are refused. */
#include "tests/sim/cudart/cudart.h"

static int entry(const char *name, void **ret, unsigned version, unsigned long long flags,
                 enum cudaDriverEntryPointQueryResult *status)
{
    int (*find)(const char *, void **, int, uint64_t, int *) =
        (int (*)(const char *, void **, int, uint64_t, int *))cudart_driver("cuGetProcAddress_v2");
    int found = 1;
    int error = find ? find(name, ret, (int)version, flags, &found) : SIM_INSUFFICIENT_DRIVER;
    if (status)
        *status = (enum cudaDriverEntryPointQueryResult)found;
    return error == SIM_NOT_FOUND ? SIM_OK : error; /* told by the status alone */
}

RUNTIME(cudaGetDriverEntryPoint, 406,
        (const char *name, void **f, unsigned long long flags, enum cudaDriverEntryPointQueryResult *status),
        P4(name, f, flags, status), entry(name, f, (unsigned)cudart_version, flags, status))
RUNTIME(cudaGetDriverEntryPointByVersion, 468,
        (const char *name, void **f, unsigned version, unsigned long long flags,
         enum cudaDriverEntryPointQueryResult *status),
        P5(name, f, version, flags, status), entry(name, f, version, flags, status))

static int no_table(void)
{
    sim_say_missing("cudaGetExportTable");
    return SIM_NOT_SUPPORTED;
}

SIM_EXPORT cudaError_t cudaGetExportTable(const void **table, const cudaUUID_t *id);

cudaError_t cudaGetExportTable(const void **table, const cudaUUID_t *id)
{
    return (cudaError_t)cudart_finish(no_table());
}
