/* node_nvml.c - what NVML says of the GPUs. See node_sources.h. On the sampler's thread, never in a forked child. What
 * a board or an older driver does not know is left out. */
#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

#include "shim/core/node_sources.h"

struct violation {
    unsigned long long reference_us, time_ns;
};

static struct nvml {
    bool ready;
    int (*init)(void);
    int (*count)(unsigned *);
    int (*handle)(unsigned, void **);
    int (*clock)(void *, int, unsigned *);
    int (*clock_max)(void *, int, unsigned *);
    int (*temperature)(void *, int, unsigned *);
    int (*reasons)(void *, unsigned long long *);
    int (*violation)(void *, int, struct violation *);
    int (*ecc)(void *, int, int, unsigned long long *);
    unsigned nr;
    void *devices[NODE_DEVICES_MAX];
} nvml;

enum { CLOCK_SM = 1, POLICY_POWER = 0, POLICY_THERMAL = 1, ECC_UNCORRECTED = 1, ECC_VOLATILE = 0 };

/* Those that give one unsigned number and ask for nothing else. */
static struct {
    const char *name;
    enum tr_node_metric metric;
    int (*get)(void *, unsigned *);
} numbers[] = {
    {"nvmlDeviceGetPowerUsage", TR_node_metric_gpu_power_mw, NULL},
    {"nvmlDeviceGetEnforcedPowerLimit", TR_node_metric_gpu_power_limit_mw, NULL},
    {"nvmlDeviceGetCurrPcieLinkGeneration", TR_node_metric_gpu_pcie_gen, NULL},
    {"nvmlDeviceGetMaxPcieLinkGeneration", TR_node_metric_gpu_pcie_gen_max, NULL},
    {"nvmlDeviceGetCurrPcieLinkWidth", TR_node_metric_gpu_pcie_width, NULL},
    {"nvmlDeviceGetMaxPcieLinkWidth", TR_node_metric_gpu_pcie_width_max, NULL},
    {"nvmlDeviceGetPcieReplayCounter", TR_node_metric_gpu_pcie_replays, NULL},
};
#define NR_NUMBERS (sizeof(numbers) / sizeof(*numbers))

static void find_functions(void *lib)
{
    *(void **)&nvml.init = dlsym(lib, "nvmlInit_v2");
    *(void **)&nvml.count = dlsym(lib, "nvmlDeviceGetCount_v2");
    *(void **)&nvml.handle = dlsym(lib, "nvmlDeviceGetHandleByIndex_v2");
    *(void **)&nvml.clock = dlsym(lib, "nvmlDeviceGetClockInfo");
    *(void **)&nvml.clock_max = dlsym(lib, "nvmlDeviceGetMaxClockInfo");
    *(void **)&nvml.temperature = dlsym(lib, "nvmlDeviceGetTemperature");
    *(void **)&nvml.reasons = dlsym(lib, "nvmlDeviceGetCurrentClocksEventReasons");
    if (!nvml.reasons) /* its name before 535 */
        *(void **)&nvml.reasons = dlsym(lib, "nvmlDeviceGetCurrentClocksThrottleReasons");
    *(void **)&nvml.violation = dlsym(lib, "nvmlDeviceGetViolationStatus");
    *(void **)&nvml.ecc = dlsym(lib, "nvmlDeviceGetTotalEccErrors");
    for (size_t i = 0; i < NR_NUMBERS; i++)
        *(void **)&numbers[i].get = dlsym(lib, numbers[i].name);
}

/* The library stays initialised until the process ends: the job may use it too, and it counts its users. */
static bool ready(void)
{
    void *lib = nvml.ready ? NULL : dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (!lib)
        return nvml.ready;
    find_functions(lib);
    unsigned nr = 0;
    if (!nvml.init || !nvml.count || !nvml.handle || nvml.init() != 0 || nvml.count(&nr) != 0)
        return false;
    for (unsigned i = 0; i < nr && i < NODE_DEVICES_MAX; i++) {
        if (nvml.handle(i, &nvml.devices[i]) != 0)
            nvml.devices[i] = NULL;
        nvml.nr = i + 1;
    }
    nvml.ready = true;
    return true;
}

static void read_device(unsigned i, node_value_fn fn, void *arg)
{
    void *device = nvml.devices[i];
    unsigned number;
    unsigned long long wide;
    struct violation violation;
    for (size_t n = 0; n < NR_NUMBERS; n++)
        if (numbers[n].get && numbers[n].get(device, &number) == 0)
            fn(arg, numbers[n].metric, i, number);
    if (nvml.temperature && nvml.temperature(device, 0, &number) == 0)
        fn(arg, TR_node_metric_gpu_celsius, i, number);
    if (nvml.clock && nvml.clock(device, CLOCK_SM, &number) == 0)
        fn(arg, TR_node_metric_gpu_clock_mhz, i, number);
    if (nvml.clock_max && nvml.clock_max(device, CLOCK_SM, &number) == 0)
        fn(arg, TR_node_metric_gpu_clock_max_mhz, i, number);
    if (nvml.reasons && nvml.reasons(device, &wide) == 0)
        fn(arg, TR_node_metric_gpu_slowed_by, i, wide);
    if (nvml.violation && nvml.violation(device, POLICY_POWER, &violation) == 0)
        fn(arg, TR_node_metric_gpu_slowed_power_ns, i, violation.time_ns);
    if (nvml.violation && nvml.violation(device, POLICY_THERMAL, &violation) == 0)
        fn(arg, TR_node_metric_gpu_slowed_heat_ns, i, violation.time_ns);
    if (nvml.ecc && nvml.ecc(device, ECC_UNCORRECTED, ECC_VOLATILE, &wide) == 0)
        fn(arg, TR_node_metric_gpu_ecc_uncorrected, i, wide);
}

void node_read_nvml(node_value_fn fn, void *arg)
{
    if (!ready())
        return;
    for (unsigned i = 0; i < nvml.nr; i++)
        if (nvml.devices[i])
            read_device(i, fn, arg);
}
