/* nvml.c - the part of NVML that a sampler and NCCL ask for; values come from the scenario. It sees all devices of the
 * node, whatever CUDA_VISIBLE_DEVICES says. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "tests/sim/engine/engine.h"
#include "tests/sim/nvml/scenario.h"

enum {
    NVML_OK,
    NVML_UNINITIALIZED,
    NVML_INVALID,
    NVML_NOT_SUPPORTED,
    NVML_NOT_FOUND = 6,
    NVML_SIZE = 7,
    NVML_NO_DRIVER = 9
};

struct board { /* what a handle points to */
    int index;
};
static struct board boards[SIM_DEVICES_MAX];
static int users;

struct pci_info { /* nvmlPciInfo_t */
    char legacy[16];
    unsigned domain, bus, device, id, subsystem;
    char name[32];
};

struct memory { /* nvmlMemory_t */
    unsigned long long total, available, used;
};

struct utilization {
    unsigned gpu, memory;
};

struct field { /* nvmlFieldValue_t */
    unsigned id, scope;
    long long timestamp, latency;
    int type, result;
    union {
        double d;
        unsigned ui;
        unsigned long long ull;
    } value;
};

struct violation {
    unsigned long long reference, time;
};

SIM_EXPORT int nvmlInit_v2(void);
SIM_EXPORT int nvmlInit(void);
SIM_EXPORT int nvmlInitWithFlags(unsigned flags);
SIM_EXPORT int nvmlShutdown(void);
SIM_EXPORT const char *nvmlErrorString(int error);
SIM_EXPORT int nvmlSystemGetDriverVersion(char *text, unsigned size);
SIM_EXPORT int nvmlSystemGetCudaDriverVersion(int *version);
SIM_EXPORT int nvmlSystemGetCudaDriverVersion_v2(int *version);
SIM_EXPORT int nvmlSystemGetNVMLVersion(char *text, unsigned size);
SIM_EXPORT int nvmlDeviceGetCount_v2(unsigned *count);
SIM_EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, struct board **ret);
SIM_EXPORT int nvmlDeviceGetHandleByIndex(unsigned index, struct board **ret);
SIM_EXPORT int nvmlDeviceGetHandleByUUID(const char *uuid, struct board **ret);
SIM_EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char *name, struct board **ret);
SIM_EXPORT int nvmlDeviceGetHandleByPciBusId(const char *name, struct board **ret);
SIM_EXPORT int nvmlDeviceGetIndex(struct board *b, unsigned *index);
SIM_EXPORT int nvmlDeviceGetName(struct board *b, char *text, unsigned size);
SIM_EXPORT int nvmlDeviceGetUUID(struct board *b, char *text, unsigned size);
SIM_EXPORT int nvmlDeviceGetPciInfo_v3(struct board *b, struct pci_info *ret);
SIM_EXPORT int nvmlDeviceGetCudaComputeCapability(struct board *b, int *major, int *minor);
SIM_EXPORT int nvmlDeviceGetMemoryInfo(struct board *b, struct memory *ret);
SIM_EXPORT int nvmlDeviceGetUtilizationRates(struct board *b, struct utilization *ret);
SIM_EXPORT int nvmlDeviceGetTemperature(struct board *b, int sensor, unsigned *ret);
SIM_EXPORT int nvmlDeviceGetPowerUsage(struct board *b, unsigned *ret);
SIM_EXPORT int nvmlDeviceGetEnforcedPowerLimit(struct board *b, unsigned *ret);
SIM_EXPORT int nvmlDeviceGetTotalEnergyConsumption(struct board *b, unsigned long long *ret);
SIM_EXPORT int nvmlDeviceGetClockInfo(struct board *b, int type, unsigned *ret);
SIM_EXPORT int nvmlDeviceGetMaxClockInfo(struct board *b, int type, unsigned *ret);
SIM_EXPORT int nvmlDeviceGetCurrentClocksEventReasons(struct board *b, unsigned long long *ret);
SIM_EXPORT int nvmlDeviceGetCurrentClocksThrottleReasons(struct board *b, unsigned long long *ret);
SIM_EXPORT int nvmlDeviceGetViolationStatus(struct board *b, int policy, struct violation *ret);
SIM_EXPORT int nvmlDeviceGetCurrPcieLinkGeneration(struct board *b, unsigned *ret);
SIM_EXPORT int nvmlDeviceGetCurrPcieLinkWidth(struct board *b, unsigned *ret);
SIM_EXPORT int nvmlDeviceGetMaxPcieLinkGeneration(struct board *b, unsigned *ret);
SIM_EXPORT int nvmlDeviceGetMaxPcieLinkWidth(struct board *b, unsigned *ret);
SIM_EXPORT int nvmlDeviceGetPcieReplayCounter(struct board *b, unsigned *ret);
SIM_EXPORT int nvmlDeviceGetNvLinkState(struct board *b, unsigned link, int *active);
SIM_EXPORT int nvmlDeviceGetNvLinkCapability(struct board *b, unsigned link, int capability, unsigned *ret);
SIM_EXPORT int nvmlDeviceGetNvLinkRemoteDeviceType(struct board *b, unsigned link, int *ret);
SIM_EXPORT int nvmlDeviceGetNvLinkRemotePciInfo_v2(struct board *b, unsigned link, struct pci_info *ret);
SIM_EXPORT int nvmlDeviceGetComputeRunningProcesses(struct board *b, unsigned *count, void *processes);
SIM_EXPORT int nvmlDeviceGetP2PStatus(struct board *b, struct board *other, int index, int *status);
SIM_EXPORT int nvmlDeviceGetTotalEccErrors(struct board *b, int type, int counter, unsigned long long *ret);
SIM_EXPORT int nvmlDeviceGetFieldValues(struct board *b, int n, struct field *fields);

static int ready(void)
{
    return !sim_settings()->driver ? NVML_NO_DRIVER : users ? NVML_OK : NVML_UNINITIALIZED;
}

static int put(unsigned *ret, const struct board *b, enum nvml_value value)
{
    int error = ready();
    if (!error)
        *ret = (unsigned)scenario_value(b->index, value);
    return error;
}

static int put64(unsigned long long *ret, const struct board *b, enum nvml_value value)
{
    int error = ready();
    if (!error)
        *ret = scenario_value(b->index, value);
    return error;
}

static int text_of(char *ret, unsigned size, const char *text)
{
    int error = ready();
    if (!error && snprintf(ret, size, "%s", text) >= (int)size)
        error = NVML_SIZE;
    return error;
}

int nvmlInit_v2(void)
{
    if (!sim_settings()->driver)
        return NVML_NO_DRIVER;
    __atomic_add_fetch(&users, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < SIM_DEVICES_MAX; i++)
        boards[i].index = i;
    return NVML_OK;
}

int nvmlInit(void)
{
    return nvmlInit_v2();
}

int nvmlInitWithFlags(unsigned flags)
{
    return nvmlInit_v2();
}

int nvmlShutdown(void)
{
    int error = ready();
    if (!error)
        __atomic_sub_fetch(&users, 1, __ATOMIC_RELAXED);
    return error;
}

const char *nvmlErrorString(int error)
{
    return error == NVML_OK ? "Success" : error == NVML_NOT_SUPPORTED ? "Not Supported" : "Unknown Error";
}

int nvmlSystemGetDriverVersion(char *text, unsigned size)
{
    return text_of(text, size, "580.65.06");
}

int nvmlSystemGetNVMLVersion(char *text, unsigned size)
{
    return text_of(text, size, "13.580.65.06");
}

int nvmlSystemGetCudaDriverVersion(int *version)
{
    *version = 13000;
    return ready();
}

int nvmlSystemGetCudaDriverVersion_v2(int *version)
{
    return nvmlSystemGetCudaDriverVersion(version);
}

/* ---- Which board
 * ---------------------------------------------------------------------------------------------------------- */
static void uuid_of(int index, char *text, size_t size)
{
    unsigned char u[16];
    for (int i = 0; i < 16; i++)
        u[i] = (unsigned char)(0x5a ^ (index * 31 + i * 17)); /* the engine's own (device.c) */
    u[15] = (unsigned char)index;
    snprintf(text, size, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", u[0], u[1], u[2],
             u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14], u[15]);
}

static void pci_name(int index, char *text, size_t size)
{
    snprintf(text, size, "00000000:%02X:00.0", 0x1b + 0x10 * index);
}

int nvmlDeviceGetCount_v2(unsigned *count)
{
    *count = (unsigned)sim_settings()->nr_devices;
    return ready();
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, struct board **ret)
{
    if ((int)index >= sim_settings()->nr_devices)
        return NVML_INVALID;
    *ret = &boards[index];
    return ready();
}

int nvmlDeviceGetHandleByIndex(unsigned index, struct board **ret)
{
    return nvmlDeviceGetHandleByIndex_v2(index, ret);
}

int nvmlDeviceGetHandleByUUID(const char *uuid, struct board **ret)
{
    char own[48];
    for (int i = 0; i < sim_settings()->nr_devices; i++) {
        uuid_of(i, own, sizeof(own));
        if (strcasecmp(own, uuid) == 0)
            return nvmlDeviceGetHandleByIndex_v2((unsigned)i, ret);
    }
    return NVML_NOT_FOUND;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *name, struct board **ret)
{
    char own[32];
    for (int i = 0; i < sim_settings()->nr_devices; i++) {
        pci_name(i, own, sizeof(own));
        if (strcasecmp(own, name) == 0 || strcasecmp(own + 4, name) == 0)
            return nvmlDeviceGetHandleByIndex_v2((unsigned)i, ret);
    }
    return NVML_NOT_FOUND;
}

int nvmlDeviceGetHandleByPciBusId(const char *name, struct board **ret)
{
    return nvmlDeviceGetHandleByPciBusId_v2(name, ret);
}

int nvmlDeviceGetIndex(struct board *b, unsigned *index)
{
    *index = (unsigned)b->index;
    return ready();
}

int nvmlDeviceGetName(struct board *b, char *text, unsigned size)
{
    return text_of(text, size, sim_settings()->gpu_name);
}

int nvmlDeviceGetUUID(struct board *b, char *text, unsigned size)
{
    char own[48];
    uuid_of(b->index, own, sizeof(own));
    return text_of(text, size, own);
}

int nvmlDeviceGetPciInfo_v3(struct board *b, struct pci_info *ret)
{
    memset(ret, 0, sizeof(*ret));
    ret->bus = 0x1b + 0x10 * (unsigned)b->index;
    ret->id = 0x233010de;
    pci_name(b->index, ret->name, sizeof(ret->name));
    snprintf(ret->legacy, sizeof(ret->legacy), "%s", ret->name + 4);
    return ready();
}

int nvmlDeviceGetCudaComputeCapability(struct board *b, int *major, int *minor)
{
    *major = 9;
    *minor = 0;
    return ready();
}

/* ---- Values
 * ----------------------------------------------------------------------------------------------------------------- */
int nvmlDeviceGetMemoryInfo(struct board *b, struct memory *ret)
{
    size_t available = 0, total = sim_settings()->memory;
    sim_memory_info(b->index, &available, &total);
    *ret = (struct memory){total, available, total - available};
    return ready();
}

int nvmlDeviceGetUtilizationRates(struct board *b, struct utilization *ret)
{
    int error = put(&ret->gpu, b, V_utilization);
    return error ? error : put(&ret->memory, b, V_memory_utilization);
}

int nvmlDeviceGetTemperature(struct board *b, int sensor, unsigned *ret)
{
    return put(ret, b, V_temperature);
}

int nvmlDeviceGetPowerUsage(struct board *b, unsigned *ret)
{
    return put(ret, b, V_power);
}

int nvmlDeviceGetEnforcedPowerLimit(struct board *b, unsigned *ret)
{
    return put(ret, b, V_power_limit);
}

int nvmlDeviceGetTotalEnergyConsumption(struct board *b, unsigned long long *ret)
{
    int error = put64(ret, b, V_energy);
    if (!error && !*ret) /* mW times us since the machine started */
        *ret = scenario_value(b->index, V_power) * (sim_now() / 1000) / 1000000;
    return error;
}

int nvmlDeviceGetClockInfo(struct board *b, int type, unsigned *ret)
{
    return put(ret, b, type == 2 ? V_memory_clock : V_sm_clock);
}

int nvmlDeviceGetMaxClockInfo(struct board *b, int type, unsigned *ret)
{
    return put(ret, b, type == 2 ? V_memory_clock : V_sm_clock_max);
}

int nvmlDeviceGetCurrentClocksEventReasons(struct board *b, unsigned long long *ret)
{
    return put64(ret, b, V_throttle_reasons);
}

int nvmlDeviceGetCurrentClocksThrottleReasons(struct board *b, unsigned long long *ret)
{
    return put64(ret, b, V_throttle_reasons);
}

int nvmlDeviceGetViolationStatus(struct board *b, int policy, struct violation *ret)
{
    ret->reference = sim_now();
    return put64(&ret->time, b, policy == 0 ? V_violation_power_ns : V_violation_thermal_ns);
}

int nvmlDeviceGetCurrPcieLinkGeneration(struct board *b, unsigned *ret)
{
    return put(ret, b, V_pcie_generation);
}

int nvmlDeviceGetCurrPcieLinkWidth(struct board *b, unsigned *ret)
{
    return put(ret, b, V_pcie_width);
}

int nvmlDeviceGetMaxPcieLinkGeneration(struct board *b, unsigned *ret)
{
    return put(ret, b, V_pcie_generation_max);
}

int nvmlDeviceGetMaxPcieLinkWidth(struct board *b, unsigned *ret)
{
    return put(ret, b, V_pcie_width_max);
}

int nvmlDeviceGetPcieReplayCounter(struct board *b, unsigned *ret)
{
    return put(ret, b, V_pcie_replays);
}

int nvmlDeviceGetNvLinkState(struct board *b, unsigned link, int *active)
{
    if (link >= 18)
        return NVML_INVALID;
    *active = link < scenario_value(b->index, V_nvlinks);
    return ready();
}

int nvmlDeviceGetNvLinkCapability(struct board *b, unsigned link, int capability, unsigned *ret)
{
    *ret = link < scenario_value(b->index, V_nvlinks);
    return ready();
}

/* PyTorch's allocator wants to find these before it says that memory is out. */
int nvmlDeviceGetNvLinkRemoteDeviceType(struct board *b, unsigned link, int *ret)
{
    return NVML_NOT_FOUND;
}

int nvmlDeviceGetNvLinkRemotePciInfo_v2(struct board *b, unsigned link, struct pci_info *ret)
{
    return NVML_NOT_FOUND;
}

/* Nobody: as in a container, where NVML does not see the processes. */
int nvmlDeviceGetComputeRunningProcesses(struct board *b, unsigned *count, void *processes)
{
    *count = 0;
    return ready();
}

int nvmlDeviceGetP2PStatus(struct board *b, struct board *other, int index, int *status)
{
    *status = 0;
    return ready();
}

int nvmlDeviceGetTotalEccErrors(struct board *b, int type, int counter, unsigned long long *ret)
{
    return put64(ret, b, type == 0 ? V_ecc_corrected : V_ecc_uncorrected);
}

static const struct {
    unsigned id;
    enum nvml_value value;
} fields_known[] = {{3, V_ecc_corrected},
                    {4, V_ecc_uncorrected},
                    {5, V_ecc_corrected},
                    {6, V_ecc_uncorrected},
                    {74, V_violation_power_ns},
                    {75, V_violation_thermal_ns},
                    {82, V_memory_temperature},
                    {91, V_nvlinks},
                    {94, V_pcie_replays},
                    {138, V_nvlink_kib},
                    {139, V_nvlink_kib},
                    {161, V_nvlink_errors},
                    {185, V_power},
                    {186, V_power},
                    {190, V_power_limit}};

#define TYPE_ULL 3

int nvmlDeviceGetFieldValues(struct board *b, int n, struct field *fields)
{
    for (int i = 0; i < n; i++) {
        fields[i].result = NVML_NOT_SUPPORTED;
        for (size_t k = 0; k < sizeof(fields_known) / sizeof(fields_known[0]); k++)
            if (fields_known[k].id == fields[i].id) {
                fields[i].result = NVML_OK;
                fields[i].type = TYPE_ULL;
                fields[i].timestamp = (long long)(sim_realtime(sim_now()) / 1000);
                fields[i].value.ull = scenario_value(b->index, fields_known[k].value);
            }
    }
    return ready();
}
