/* settings.c - the node that is simulated, from SIM_* variables, read once. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/engine/engine.h"

static struct sim_settings settings;

static double number(const char *name, double otherwise)
{
    const char *text = getenv(name);
    if (!text || !*text)
        return otherwise;
    char *end;
    double value = strtod(text, &end);
    const char *units = "KMGT", *unit = *end ? strchr(units, *end) : NULL;
    for (int i = 0; unit && i <= unit - units; i++)
        value *= 1024;
    return value;
}

static const char *text_of(const char *name, const char *otherwise)
{
    const char *text = getenv(name);
    return text && *text ? text : otherwise;
}

static void read_settings(void)
{
    settings.driver = strcmp(text_of("SIM_DRIVER", "yes"), "none") != 0;
    settings.nr_devices = (int)number("SIM_GPUS", 8);
    if (settings.nr_devices > SIM_DEVICES_MAX)
        settings.nr_devices = SIM_DEVICES_MAX;
    settings.memory = (uint64_t)number("SIM_GPU_MEMORY", 80.0 * 1024 * 1024 * 1024);
    settings.gpu_name = text_of("SIM_GPU_NAME", "NVIDIA H100 80GB HBM3");
    settings.pinned_rate = number("SIM_PINNED_GBS", 50) * 1e9;
    settings.pageable_rate = number("SIM_PAGEABLE_GBS", 9) * 1e9;
    settings.device_rate = number("SIM_DEVICE_GBS", 2400) * 1e9;
    settings.peer_rate = number("SIM_PEER_GBS", 300) * 1e9;
    settings.peak_flops = number("SIM_PEAK_TFLOPS", 989) * 1e12;
    settings.gemm_reached = number("SIM_GEMM_REACHED", 0.7);
    settings.blocking = number("CUDA_LAUNCH_BLOCKING", 0) != 0;
    settings.launch_ns = (uint64_t)number("SIM_LAUNCH_NS", 3000);
    settings.queue_depth = (unsigned)number("SIM_QUEUE_DEPTH", 1024);
    settings.dir = text_of("SIM_DIR", NULL);
    settings.compute = number("SIM_COMPUTE", 0);
    settings.kernels = text_of("SIM_KERNELS", NULL);
}

const struct sim_settings *sim_settings(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_settings);
    return &settings;
}
