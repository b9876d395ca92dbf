/* error.c - the runtime's start and its errors: the driver is looked for in the first call, the last error is kept per
 * thread. */
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "tests/sim/cudart/cudart.h"

static __thread int last_error;
static __thread bool starting; /* what an injected library calls from inside cuInit finds the runtime ready */
static int start_error;
static void *driver;

static void start(void)
{
    starting = true;
    driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    int (*init)(unsigned) = driver ? (int (*)(unsigned))dlsym(driver, "cuInit") : NULL;
    start_error = init ? init(0) : SIM_INSUFFICIENT_DRIVER;
    starting = false;
}

int cudart_ready(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (starting)
        return 0;
    pthread_once(&once, start);
    return start_error;
}

int cudart_finish(int result)
{
    if (result && result != SIM_NOT_READY)
        last_error = result;
    return result;
}

void *cudart_driver(const char *name)
{
    return cudart_ready() || !driver ? NULL : dlsym(driver, name);
}

static const struct {
    int error;
    const char *name, *text;
} errors[] = {
    {0, "cudaSuccess", "no error"},
    {1, "cudaErrorInvalidValue", "invalid argument"},
    {2, "cudaErrorMemoryAllocation", "out of memory"},
    {3, "cudaErrorInitializationError", "initialization error"},
    {35, "cudaErrorInsufficientDriver", "CUDA driver version is insufficient for CUDA runtime version"},
    {98, "cudaErrorInvalidDeviceFunction", "invalid device function"},
    {100, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {101, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {201, "cudaErrorDeviceUninitialized", "invalid device context"},
    {400, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {500, "cudaErrorSymbolNotFound", "named symbol not found"},
    {600, "cudaErrorNotReady", "device not ready"},
    {704, "cudaErrorPeerAccessAlreadyEnabled", "peer access is already enabled"},
    {712, "cudaErrorHostMemoryAlreadyRegistered", "part or all of the requested memory range is already mapped"},
    {713, "cudaErrorHostMemoryNotRegistered", "pointer does not correspond to a registered memory region"},
    {801, "cudaErrorNotSupported", "operation not supported"},
    {900, "cudaErrorStreamCaptureUnsupported", "operation not permitted when stream is capturing"},
    {901, "cudaErrorStreamCaptureInvalidated", "operation failed due to a previous error during capture"},
    {999, "cudaErrorUnknown", "unknown error"},
};

static int find(int error)
{
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
        if (errors[i].error == error)
            return (int)i;
    return -1;
}

SIM_EXPORT const char *cudaGetErrorName(cudaError_t error);
SIM_EXPORT const char *cudaGetErrorString(cudaError_t error);

const char *cudaGetErrorName(cudaError_t error)
{
    int i = find((int)error);
    return i < 0 ? "unrecognized error code" : errors[i].name;
}

const char *cudaGetErrorString(cudaError_t error)
{
    int i = find((int)error);
    return i < 0 ? "unrecognized error code" : errors[i].text;
}

static int take_last(void)
{
    int error = last_error;
    last_error = 0;
    return error;
}

static int always(void)
{
    return 0;
}

static int keep(int result)
{
    return result;
}

SIM_ROW(cudaError_t, SIM_RUNTIME_API, always, keep, cudaGetLastError, 10, (void), P0(), take_last())
SIM_ROW(cudaError_t, SIM_RUNTIME_API, always, keep, cudaPeekAtLastError, 11, (void), P0(), last_error)
