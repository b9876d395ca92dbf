/* driver.c - NCCL brings a CUDA runtime of its own, so its calls go to the driver without passing the application's
 * libcudart: functions of libcuda.so.1 by cuGetProcAddress. */
#include <dlfcn.h>

#include "tests/sim/nccl/inside.h"

static struct nccl_driver driver;
static bool there;

static void load(void)
{
    void *lib = dlopen("libcuda.so.1", RTLD_NOW);
    CUresult (*get)(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *) = NULL;
    CUresult (*init)(unsigned) = NULL;
    if (lib) {
        *(void **)&init = dlsym(lib, "cuInit");
        *(void **)&get = dlsym(lib, "cuGetProcAddress_v2");
    }
    if (!init || init(0) != 0)
        return;
    const struct {
        const char *name;
        int version;
        void *to;
    } wanted[] = {
        {"cuLaunchKernelEx", 11060, &driver.launch_kernel_ex}, {"cuMemcpyDtoDAsync", 3020, &driver.memcpy_dtod_async},
        {"cuEventCreate", 2000, &driver.event_create},         {"cuEventRecord", 2000, &driver.event_record},
        {"cuEventDestroy", 4000, &driver.event_destroy},       {"cuStreamWaitEvent", 3020, &driver.stream_wait_event},
    };
    there = get != NULL;
    for (size_t i = 0; there && i < sizeof(wanted) / sizeof(wanted[0]); i++)
        there = get(wanted[i].name, wanted[i].to, wanted[i].version, 0, NULL) == 0;
}

const struct nccl_driver *nccl_driver(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return there ? &driver : NULL;
}
