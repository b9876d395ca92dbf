/* torch.c - at::addGlobalCallback through its exported C++ symbols, from C.
 *
 * ABI (PyTorch 1.9 .. current, checked against the distribution's 1.13 by tests/shim): RecordFunctionCallback is a
 * trivially copyable struct {start, end, double probability, bool scopes[10], three bool} passed by value; `start`
 * returns a std::unique_ptr<ObserverContext>, that is: it fills a slot whose address is passed (x86_64: first argument;
 * aarch64: x8). Only USER_SCOPE is asked for, so operators do not get slower. PyTorch keeps the pointers: we are never
 * unloaded. */
#include "shim/core/torch.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include "shim/core/anchor.h"
#include "shim/core/attributes.h"
#include "shim/core/options.h"

#define NR_SCOPES 10
#define USER_SCOPE 7

struct record_function_callback {
    void *start, *end;
    double probability;
    bool scopes[NR_SCOPES];
    bool needs_inputs, needs_outputs, needs_ids;
};

_Static_assert(sizeof(struct record_function_callback) == 40, "at::RecordFunctionCallback");

static const char *(*record_function_name)(const void *record);

static void started(const void *record)
{
    struct shim_call call;
    if (!core_begin(&call))
        return;
    range_begin(call.tls->self, record, record_function_name(record), now_ns());
    core_end(&call);
}

static void on_end(const void *record, void *context)
{
    struct shim_call call;
    uint64_t now = now_ns();
    if (!core_begin(&call))
        return;
    range_end(call.tls->self, record, now, false);
    core_end(&call);
}

#if defined(__x86_64__)
static void *on_start(void **slot, const void *record)
{
    *slot = NULL;
    started(record);
    return slot;
}
#elif defined(__aarch64__)
/* The slot's address comes in x8, which C cannot name. */
void trshim_torch_started(const void *record) __attribute__((visibility("hidden")));
void trshim_torch_started(const void *record)
{
    started(record);
}
__attribute__((naked)) static void on_start(void)
{
    __asm__("str xzr, [x8]\n\tb trshim_torch_started");
}
#endif

struct found {
    char path[4096];
};

static int find_library(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct found *found = arg;
    const char *slash = strrchr(info->dlpi_name, '/');
    if (!slash || strncmp(slash + 1, "libtorch_cpu.so", 15) != 0 || strlen(info->dlpi_name) >= sizeof(found->path))
        return 0;
    strcpy(found->path, info->dlpi_name);
    return 1;
}

static void ask_for_ranges(const char *library)
{
    void *lib = dlopen(library, RTLD_NOW | RTLD_NOLOAD);
    if (!lib)
        return;
    uint64_t (*add)(struct record_function_callback) = (uint64_t(*)(struct record_function_callback))dlsym(
        lib, "_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE");
    record_function_name = (const char *(*)(const void *))dlsym(lib, "_ZNK2at14RecordFunction4nameEv");
    if (!add || !record_function_name) {
        say(1, "%s does not export addGlobalCallback and RecordFunction::name: no PyTorch ranges", library);
        return;
    }
    struct record_function_callback callback = {.start = (void *)on_start, .end = (void *)on_end, .probability = 1.0};
    callback.scopes[USER_SCOPE] = true;
    (void)add(callback);
    say(2, "PyTorch ranges from %s", library);
}

static bool is_python_file(const char *path)
{
    size_t n = path ? strlen(path) : 0;
    return (n > 3 && strcmp(path + n - 3, ".py") == 0) || (n > 4 && strcmp(path + n - 4, ".pyc") == 0);
}

void torch_look(struct shim_tls *tls, const char *path)
{
    static atomic_flag done = ATOMIC_FLAG_INIT;
    struct found found;
    if (!is_python_file(path))
        return;
    tls->after_dlopen = 0;
    if (!dl_iterate_phdr(find_library, &found) || atomic_flag_test_and_set(&done))
        return;
    attributes_send_torch(found.path);
    if (options.ranges)
        ask_for_ranges(found.path);
}
