/* profiler_load.c - NCCL_PROFILER_PLUGIN: a path, a name (lib*.so or the end of libnccl-profiler-*.so), "none", or
 * STATIC_PLUGIN for what the process itself has; unset: libnccl-profiler.so if there is one. A failure is for good;
 * with its last communicator the plugin is unloaded, and loaded again for the next. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "tests/sim/nccl/log.h"
#include "tests/sim/nccl/net_plugin.h"
#include "tests/sim/nccl/profiler.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *library;
static const struct profiler_plugin *plugin;
static int version, users;
static bool failed, borrowed; /* borrowed: in the network plugin */

/* The newest interface of the NCCL claimed; 0: it has none. */
int profiler_native_version(void)
{
    static const struct {
        int nccl, interface;
    } since[] = {{23100, 7}, {22900, 6}, {22800, 5}, {22700, 4}, {22600, 3}, {22400, 2}, {22300, 1}};
    for (size_t i = 0; i < sizeof(since) / sizeof(since[0]); i++)
        if (nccl_version() >= since[i].nccl)
            return since[i].interface;
    return 0;
}

static bool is_static(const char *value)
{
    return strncasecmp(value, "STATIC_PLUGIN", strlen(value)) == 0;
}

static bool is_file_name(const char *value)
{
    size_t len = strlen(value);
    return strncmp(value, "lib", 3) == 0 && len > 3 && strcmp(value + len - 3, ".so") == 0;
}

static void *open_library(const char **ret_name)
{
    static char name[4096];
    const char *value = nccl_variable("NCCL_PROFILER_PLUGIN");
    snprintf(name, sizeof(name), "%s", value ? value : "libnccl-profiler.so");
    *ret_name = name;
    if (value && strcasecmp(value, "none") == 0 && nccl_version() >= 22800)
        return NULL;
    if (value && is_static(value))
        return dlopen(NULL, RTLD_NOW | RTLD_LOCAL);
    void *lib = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (lib || !value || nccl_version() < 22600 || strchr(value, '/') || is_file_name(value))
        return lib;
    snprintf(name, sizeof(name), "libnccl-profiler-%s.so", value);
    return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

/* From 2.28 on the network plugin may carry one. */
static bool find_symbol(void *in);

static bool in_net_plugin(void)
{
    library = nccl_version() >= 22800 ? net_plugin_library() : NULL;
    borrowed = library && find_symbol(library);
    if (!borrowed)
        library = NULL;
    return borrowed;
}

static bool find_symbol(void *in)
{
    for (version = profiler_native_version(); version > 0; version--) {
        char symbol[32];
        snprintf(symbol, sizeof(symbol), "ncclProfiler_v%d", version);
        plugin = dlsym(in, symbol);
        if (plugin)
            return true;
    }
    return false;
}

static bool load(void)
{
    const char *name;
    if (failed || profiler_native_version() == 0)
        return false;
    library = open_library(&name);
    if (!library && !in_net_plugin()) {
        log_info(LOG_INIT, "PROFILER/Plugin: Could not find: %s%s", name, nccl_version() < 22800 ? "." : "");
        failed = true;
        return false;
    }
    if (!borrowed && !find_symbol(library)) {
        log_info(LOG_INIT, "External profiler plugin %s is unsupported", name);
        dlclose(library);
        failed = true;
        return false;
    }
    log_info(LOG_INIT, "PROFILER/Plugin: Loaded %s (v%d)", plugin->name, version);
    if (nccl_version() >= 22800)
        log_info(LOG_INIT, "Successfully loaded external profiler plugin %s", name);
    return true;
}

const struct profiler_plugin *profiler_open(int *ret_version)
{
    pthread_mutex_lock(&lock);
    bool there = users > 0 || load();
    users += there;
    *ret_version = version;
    pthread_mutex_unlock(&lock);
    return there ? plugin : NULL;
}

void profiler_close(void)
{
    pthread_mutex_lock(&lock);
    if (--users == 0) {
        log_info(LOG_INIT, "PROFILER/Plugin: Closing profiler plugin %s", plugin->name);
        plugin = NULL;
        if (!borrowed)
            dlclose(library);
        borrowed = false;
    }
    pthread_mutex_unlock(&lock);
}
