/* cupti_find.c - which libcupti of the many that may be installed, and its functions. See cupti_find.h. */
#include "shim/core/cupti_find.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

struct cupti_functions cupti;

struct mapped {
    char cupti[4096], cudart[4096];
};

static int look_at_mapped(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct mapped *m = arg;
    const char *slash = strrchr(info->dlpi_name, '/');
    if (!slash || strlen(info->dlpi_name) >= sizeof(m->cupti))
        return 0;
    if (strncmp(slash + 1, "libcupti.so", 11) == 0 && !m->cupti[0])
        strcpy(m->cupti, info->dlpi_name);
    if (strncmp(slash + 1, "libcudart.so", 12) == 0 && !m->cudart[0])
        strcpy(m->cudart, info->dlpi_name);
    return 0;
}

static void *open_beside(const char *cudart)
{
    /* The runtime's directory; the layouts of PyPI's wheels; the toolkit's. */
    static const char *const places[] = {"%.*s/libcupti.so.%s", "%.*s/../../cuda_cupti/lib/libcupti.so.%s",
                                         "%.*s/../extras/CUPTI/lib64/libcupti.so.%s"};
    const char *slash = strrchr(cudart, '/'), *version = strstr(cudart, ".so.");
    char path[4200], major[16];
    void *lib = NULL;
    if (!slash || !version)
        return NULL;
    /* From 12 on the name holds the major version alone; before, the minor one too. */
    const char *v = version + 4;
    size_t n = strcspn(v, ".");
    if (strncmp(v, "11", 2) == 0 && v[n] == '.')
        n += 1 + strcspn(v + n + 1, ".");
    snprintf(major, sizeof(major), "%.*s", (int)n, v);
    for (size_t i = 0; i < sizeof(places) / sizeof(*places) && !lib; i++) {
        snprintf(path, sizeof(path), places[i], (int)(slash - cudart), cudart, major);
        lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    if (!lib) {
        snprintf(path, sizeof(path), "libcupti.so.%s", major);
        lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    return lib;
}

/* The copy the job has mapped, else the one that belongs to its CUDA runtime, else any. A second copy of another
 * version would be satisfied by ours later, so none is loaded without need. */
static void *open_cupti(void)
{
    static struct mapped m;
    static const char *const names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8"};
    dl_iterate_phdr(look_at_mapped, &m);
    void *lib = m.cupti[0] ? dlopen(m.cupti, RTLD_NOW | RTLD_NOLOAD) : NULL;
    if (!lib && m.cudart[0])
        lib = open_beside(m.cudart);
    for (size_t i = 0; i < sizeof(names) / sizeof(*names) && !lib && !m.cudart[0]; i++)
        lib = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    (void)dlerror();
    return lib;
}

static void find(void *lib, void *ret, const char *name)
{
    void *f = dlsym(lib, name);
    memcpy(ret, &f, sizeof(f));
}

bool cupti_find(void)
{
    void *lib = open_cupti();
    if (!lib)
        return false;
    find(lib, &cupti.get_version, "cuptiGetVersion");
    find(lib, &cupti.register_callbacks, "cuptiActivityRegisterCallbacks");
    find(lib, &cupti.enable, "cuptiActivityEnable");
    find(lib, &cupti.disable, "cuptiActivityDisable");
    find(lib, &cupti.flush_all, "cuptiActivityFlushAll");
    find(lib, &cupti.next_record, "cuptiActivityGetNextRecord");
    find(lib, &cupti.dropped, "cuptiActivityGetNumDroppedRecords");
    find(lib, &cupti.thread_id_type, "cuptiSetThreadIdType");
    find(lib, &cupti.enable_runtime_call, "cuptiActivityEnableRuntimeApi");
    find(lib, &cupti.enable_driver_call, "cuptiActivityEnableDriverApi");
    find(lib, &cupti.subscribe, "cuptiSubscribe");
    find(lib, &cupti.unsubscribe, "cuptiUnsubscribe");
    find(lib, &cupti.enable_callback, "cuptiEnableCallback");
    (void)dlerror();
    return cupti.get_version && cupti.register_callbacks && cupti.enable && cupti.flush_all && cupti.next_record;
}
