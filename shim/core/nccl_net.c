/* nccl_net.c - has our network plugin ready for NCCL, where `record --wrap-net` told NCCL to use it.
 *
 * NCCL looks for it by its short name: the only one that every version takes. The folder is in the job's
 * LD_LIBRARY_PATH, but jobs set that anew; a library that is mapped under that name is found in any case. Loading it
 * does nothing: it opens the job's plugin when NCCL asks. Once per process, when the core starts. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/core/core.h"
#include "shim/core/nccl.h"

void nccl_net_prepare(void)
{
    const char *wanted = getenv("NCCL_NET_PLUGIN");
    char path[4096];
    Dl_info us;
    if (!wanted || strcspn(wanted, ",") != strlen("trshim") || strncmp(wanted, "trshim", strlen("trshim")) != 0)
        return;
    const char *slash = dladdr((const void *)nccl_net_prepare, &us) && us.dli_fname ? strrchr(us.dli_fname, '/') : NULL;
    if (!slash || snprintf(path, sizeof(path), "%.*s/net/libnccl-net-trshim.so", (int)(slash - us.dli_fname),
                           us.dli_fname) >= (int)sizeof(path))
        return;
    if (!dlopen(path, RTLD_LAZY | RTLD_LOCAL))
        (void)dlerror();
}
