/* init.c - cuInit and what it loads: the tool named by CUDA_INJECTION64_PATH, whose InitializeInjection is called once,
 * on the thread that initialises. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/sim/cuda/driver.h"

static int initialised; /* 1: cuInit has begun; what the injected library calls is served */
static int init_error;

static void inject(void)
{
    const char *path = getenv("CUDA_INJECTION64_PATH");
    if (!path || !*path)
        return;
    void *tool = dlopen(path, RTLD_NOW);
    int (*start)(void) = tool ? (int (*)(void))dlsym(tool, "InitializeInjection") : NULL;
    if (start)
        start();
}

static void init(void)
{
    init_error = sim_init();
    initialised = !init_error;
    if (initialised)
        inject();
}

static int always(void)
{
    return 0;
}

int driver_ready(void)
{
    return initialised ? 0 : SIM_NOT_INITIALIZED;
}

int driver_finish(int result)
{
    return result == SIM_INSUFFICIENT_DRIVER ? SIM_NO_DEVICE : result;
}

static int init_once(unsigned flags)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    static __thread bool inside; /* an injected library may well call cuInit itself */
    if (flags)
        return SIM_INVALID_VALUE;
    if (!inside) {
        inside = true;
        pthread_once(&once, init);
        inside = false;
    }
    return init_error;
}

SIM_ROW(CUresult, SIM_DRIVER_API, always, driver_finish, cuInit, 1, (unsigned flags), P1(flags), init_once(flags))

static int version(int *ret)
{
    *ret = 13000;
    return SIM_OK;
}

SIM_ROW(CUresult, SIM_DRIVER_API, always, driver_finish, cuDriverGetVersion, 2, (int *v), P1(v), version(v))

static const struct {
    int error;
    const char *name, *text;
} errors[] = {
    {0, "CUDA_SUCCESS", "no error"},
    {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {600, "CUDA_ERROR_NOT_READY", "device not ready"},
    {801, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {999, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

static int error_text(int error, const char **ret, bool name)
{
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
        if (errors[i].error == error) {
            *ret = name ? errors[i].name : errors[i].text;
            return SIM_OK;
        }
    *ret = NULL;
    return SIM_INVALID_VALUE;
}

SIM_ROW(CUresult, SIM_DRIVER_API, always, driver_finish, cuGetErrorString, 372, (CUresult e, const char **text),
        P2(e, text), error_text((int)e, text, false))
SIM_ROW(CUresult, SIM_DRIVER_API, always, driver_finish, cuGetErrorName, 373, (CUresult e, const char **text),
        P2(e, text), error_text((int)e, text, true))
