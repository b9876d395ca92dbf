/* wrapped.c - finds the network plugin of the job, and answers NCCL's search for symbols as that one would.
 *
 * NCCL asks a plugin's library for ncclNetPlugin_vN, newest first, and takes the first there is. A library cannot
 * export what it will find out only in the job; but where a symbol is an indirect function (STT_GNU_IFUNC), dlsym
 * returns what its resolver returns: an address of data as well, or NULL, which is what NCCL sees of a missing symbol.
 * So each version is there exactly if the job's plugin has it, and NCCL goes the same way as without us. (Adapting
 * versions ourselves would be a second NCCL in the way; a name without devices would stop NCCL at a version.)
 *
 * What is not wrapped - versions before 6 and after 12, collective networks, tuner, profiler, GIN, RMA - is answered
 * with the plugin's own symbol: those calls do not pass here.
 *
 * The plugin is opened when NCCL first asks for a symbol, not when we are loaded: that may be in a process without
 * NCCL. dlsym runs resolvers under the loader's lock, one thread at a time. We stay when NCCL closes us (-z nodelete),
 * and so does the plugin. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "plugin/net/net.h"
#include "shim/preload/old_libc.h"

BIND_OLDEST(dlopen);

#define EXPORT __attribute__((visibility("default")))

static void *library;

/* Says that a library is this one: another copy must not be wrapped. */
EXPORT const char trshim_net_wrapper = 1;

static void *open_library(const char *name)
{
    char path[4096];
    void *lib = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (lib || strchr(name, '/'))
        return lib;
    int n = snprintf(path, sizeof(path), "libnccl-net-%s.so", name);
    return n > 0 && n < (int)sizeof(path) ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
}

/* As NCCL finds it: the file of that name, else libnccl-net-NAME.so; without a name libnccl-net.so. */
static void find_library(void)
{
    const char *name = getenv("TRSHIM_NCCL_NET");
    int error = errno;
    if (!name || !*name)
        name = "libnccl-net.so";
    if (strcasecmp(name, "none") != 0)
        library = open_library(name);
    if (library && dlsym(library, "trshim_net_wrapper"))
        library = NULL;
    (void)dlerror(); /* NCCL asked for us, and has us */
    errno = error;
}

static void *symbol_of(const char *name)
{
    static bool looked;
    if (!looked) {
        looked = true;
        find_library();
    }
    void *symbol = library ? dlsym(library, name) : NULL;
    if (!symbol)
        (void)dlerror();
    return symbol;
}

typedef void (*any_function)(void);

#define SYMBOL(name, answer)                                                                                           \
    static any_function find_##name(void)                                                                              \
    {                                                                                                                  \
        void *real = symbol_of(#name);                                                                                 \
        return (any_function)(real ? answer : NULL);                                                                   \
    }                                                                                                                  \
    EXPORT void name(void) __attribute__((ifunc("find_" #name)));
#define WRAPPED(v) SYMBOL(ncclNetPlugin_v##v, net_v##v(real))
#define ITS_OWN(name) SYMBOL(name, real)

/* clang-format off */
WRAPPED(6)
WRAPPED(7) WRAPPED(8) WRAPPED(9) WRAPPED(10) WRAPPED(11) WRAPPED(12)

#define VERSIONS_3_TO_5(name) ITS_OWN(name##3) ITS_OWN(name##4) ITS_OWN(name##5)
#define VERSIONS_6_TO_12(name)                                                                                         \
    ITS_OWN(name##6)                                                                                                   \
    ITS_OWN(name##7) ITS_OWN(name##8) ITS_OWN(name##9) ITS_OWN(name##10) ITS_OWN(name##11) ITS_OWN(name##12)
#define VERSIONS_13_TO_20(name)                                                                                        \
    ITS_OWN(name##13)                                                                                                  \
    ITS_OWN(name##14) ITS_OWN(name##15) ITS_OWN(name##16) ITS_OWN(name##17) ITS_OWN(name##18) ITS_OWN(name##19)        \
        ITS_OWN(name##20)

    VERSIONS_3_TO_5(ncclNetPlugin_v) VERSIONS_13_TO_20(ncclNetPlugin_v) VERSIONS_3_TO_5(ncclCollNetPlugin_v)
        VERSIONS_6_TO_12(ncclCollNetPlugin_v) VERSIONS_13_TO_20(ncclCollNetPlugin_v) ITS_OWN(ncclTunerPlugin_v1)
            ITS_OWN(ncclTunerPlugin_v2) VERSIONS_3_TO_5(ncclTunerPlugin_v) VERSIONS_6_TO_12(ncclTunerPlugin_v)
                ITS_OWN(ncclProfiler_v1) ITS_OWN(ncclProfiler_v2) VERSIONS_3_TO_5(ncclProfiler_v)
                    VERSIONS_6_TO_12(ncclProfiler_v) ITS_OWN(ncclEnvPlugin_v1) ITS_OWN(ncclEnvPlugin_v2)
                        VERSIONS_3_TO_5(ncclEnvPlugin_v) ITS_OWN(ncclGinPlugin_v11) ITS_OWN(ncclGinPlugin_v12)
                            VERSIONS_13_TO_20(ncclGinPlugin_v) ITS_OWN(ncclRmaPlugin_v12)
                                VERSIONS_13_TO_20(ncclRmaPlugin_v)
    /* clang-format on */
