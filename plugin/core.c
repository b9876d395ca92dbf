/* core.c - finds the core of this process, or loads it, from inside NCCL's first init: not under the loader's lock.
 *
 * One that the preload has loaded is used, wherever it lies. Else it is TRSHIM_CORE, or the one beside us. It is never
 * unloaded, and neither are we (-z nodelete): NCCL closes us with its last communicator and opens us again for the
 * next. */
#include <link.h>
#include <stdlib.h>

#include "plugin/plugin.h"
#include "shim/preload/environment.h"
#include "shim/preload/old_libc.h"

BIND_OLDEST(dlopen);

static int is_core(struct dl_phdr_info *info, size_t size, void *ret_path)
{
    const char *slash = strrchr(info->dlpi_name, '/');
    if (strcmp(slash ? slash + 1 : info->dlpi_name, "libtrshim-core.so") != 0)
        return 0;
    *(const char **)ret_path = info->dlpi_name;
    return 1;
}

const struct nccl_sink *core_find(void)
{
    static char beside[4096];
    const char *path = NULL;
    if (!dl_iterate_phdr(is_core, &path)) {
        environment_find_core(beside, sizeof(beside), (const void *)core_find);
        if (!beside[0])
            return NULL;
        path = beside;
        environment_set_up(path);
    }
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    trshim_nccl_sink_fn sink = lib ? (trshim_nccl_sink_fn)dlsym(lib, "trshim_nccl_sink") : NULL;
    if (!sink) {
        (void)dlerror();
        return NULL;
    }
    return sink(NCCL_SINK_VERSION);
}
