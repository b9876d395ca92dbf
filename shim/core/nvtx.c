/* nvtx.c - ranges and marks of jobs that use NVTX, by its own injection: no NVIDIA library is needed.
 *
 * The first NVTX call of each library that contains the NVTX 3 headers loads the file named by NVTX_INJECTION64_PATH
 * (the preload sets it to us unless somebody else has) and calls InitializeInjectionNvtx2 with a way to its table of
 * functions, which we fill. So this may run several times, in any thread, inside anybody's first range.
 * ABI: nvToolsExt.h and nvtxDetail/nvtxTypes.h, checked against the real headers by tests/shim/nvtx.t. */
#include <string.h>

#include "shim/core/anchor.h"
#include "shim/core/name.h"

typedef void (*nvtx_function)(void);
typedef const void *(*nvtx_get_export_table)(uint32_t id);

struct nvtx_callbacks {
    size_t size;
    int (*module_table)(uint32_t module, nvtx_function ***ret_table, unsigned *ret_count);
};

enum { EXPORT_CALLBACKS = 1 };
enum { MODULE_CORE = 1, MODULE_CORE2 = 5 };
enum {
    CORE_MARK_EX = 1,
    CORE_MARK_A = 2,
    CORE_RANGE_START_EX = 4,
    CORE_RANGE_START_A = 5,
    CORE_RANGE_END = 7,
    CORE_RANGE_PUSH_EX = 8,
    CORE_RANGE_PUSH_A = 9,
    CORE_RANGE_POP = 11
};
enum {
    CORE2_MARK_EX = 1,
    CORE2_RANGE_START_EX = 2,
    CORE2_RANGE_END = 3,
    CORE2_RANGE_PUSH_EX = 4,
    CORE2_RANGE_POP = 5,
    CORE2_REGISTER_STRING_A = 10,
    CORE2_CREATE_A = 12
};

struct nvtx_attributes {
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, reserved;
    uint64_t payload;
    int32_t message_type;
    union {
        const char *ascii;
        uintptr_t registered;
    } message;
};
enum { MESSAGE_ASCII = 1, MESSAGE_REGISTERED = 3 };

/* Handles we give out: a name id, made odd so that it is never NULL. Domains of libraries that mark each of their own
 * calls would drown the job's ranges. */
#define IGNORED_DOMAIN ((void *)2)
static const char *const ignored_domains[] = {"NCCL", "CUBLAS", "CUDNN", "nvtx.cccl", "CCCL"};

static const char *text_of(const struct nvtx_attributes *a)
{
    const char *text = NULL;
    if (a && a->message_type == MESSAGE_ASCII)
        text = a->message.ascii;
    else if (a && a->message_type == MESSAGE_REGISTERED)
        text = name_text((uint32_t)(a->message.registered >> 1));
    return text ? text : "";
}

static void mark(const char *text)
{
    struct shim_call call;
    uint64_t now = now_ns();
    if (!core_begin(&call))
        return;
    anchor_mark(call.tls->self, TR_anchor_kind_nvtx, text, 0, now);
    core_end(&call);
}

/* NVTX's own ranges nest among themselves; this address stands for all of them among other ranges. */
static const char nvtx_record;

static int push(const char *text)
{
    struct shim_call call;
    if (!core_begin(&call))
        return 0;
    int depth = (int)call.tls->self->depth;
    range_begin(call.tls->self, &nvtx_record, text, now_ns());
    core_end(&call);
    return depth;
}

static int pop(void)
{
    struct shim_call call;
    uint64_t now = now_ns();
    if (!core_begin(&call))
        return 0;
    range_end(call.tls->self, &nvtx_record, now, true);
    int depth = (int)call.tls->self->depth;
    core_end(&call);
    return depth;
}

static void mark_ex(const struct nvtx_attributes *a)
{
    mark(text_of(a));
}

static int push_ex(const struct nvtx_attributes *a)
{
    return push(text_of(a));
}

static void domain_mark_ex(void *domain, const struct nvtx_attributes *a)
{
    if (domain != IGNORED_DOMAIN)
        mark(text_of(a));
}

static int domain_push_ex(void *domain, const struct nvtx_attributes *a)
{
    return domain == IGNORED_DOMAIN ? 0 : push(text_of(a));
}

static int domain_pop(void *domain)
{
    return domain == IGNORED_DOMAIN ? 0 : pop();
}

/* Ranges with a handle may end on another thread. A begin is remembered in a small table under its handle; when that
 * is full the range is not recorded. */
#define NR_OPEN 1024
static struct {
    _Atomic uint64_t id;
    uint64_t start_ns;
    uint32_t name;
} open_ranges[NR_OPEN];

static uint64_t range_start(const char *text)
{
    static _Atomic uint64_t last;
    struct shim_call call;
    uint64_t id = atomic_fetch_add(&last, 1) + 1, none = 0;
    if (!core_begin(&call))
        return id;
    if (atomic_compare_exchange_strong(&open_ranges[id % NR_OPEN].id, &none, id)) {
        open_ranges[id % NR_OPEN].start_ns = now_ns();
        open_ranges[id % NR_OPEN].name = name_of(TR_name_kind_range, text, strlen(text));
    }
    core_end(&call);
    return id;
}

static void range_stop(uint64_t id)
{
    struct shim_call call;
    uint64_t now = now_ns(), expected = id;
    if (!core_begin(&call))
        return;
    uint64_t start_ns = open_ranges[id % NR_OPEN].start_ns;
    uint32_t name = open_ranges[id % NR_OPEN].name;
    if (atomic_compare_exchange_strong(&open_ranges[id % NR_OPEN].id, &expected, 0)) {
        name_send(name, call.tls->self->tid);
        EMIT(anchor, call.tls->self->tid, .kind = TR_anchor_kind_nvtx, .name = name, .start_ns = start_ns,
             .dur_ns = now - start_ns);
    }
    core_end(&call);
}

static uint64_t range_start_ex(const struct nvtx_attributes *a)
{
    return range_start(text_of(a));
}

static uint64_t domain_range_start_ex(void *domain, const struct nvtx_attributes *a)
{
    return domain == IGNORED_DOMAIN ? 0 : range_start(text_of(a));
}

static void domain_range_stop(void *domain, uint64_t id)
{
    if (domain != IGNORED_DOMAIN)
        range_stop(id);
}

static void *handle_of(const char *text)
{
    return (void *)((uintptr_t)name_of(TR_name_kind_range, text, strlen(text)) << 1 | 1);
}

static void *register_string(void *domain, const char *text)
{
    return handle_of(text ? text : "");
}

static void *create_domain(const char *name)
{
    for (size_t i = 0; name && i < sizeof(ignored_domains) / sizeof(*ignored_domains); i++)
        if (strcmp(name, ignored_domains[i]) == 0)
            return IGNORED_DOMAIN;
    return handle_of(name ? name : "");
}

struct entry {
    unsigned id;
    nvtx_function function;
};

static const struct entry core_entries[] = {
    {CORE_MARK_EX, (nvtx_function)mark_ex},
    {CORE_MARK_A, (nvtx_function)mark},
    {CORE_RANGE_START_EX, (nvtx_function)range_start_ex},
    {CORE_RANGE_START_A, (nvtx_function)range_start},
    {CORE_RANGE_END, (nvtx_function)range_stop},
    {CORE_RANGE_PUSH_EX, (nvtx_function)push_ex},
    {CORE_RANGE_PUSH_A, (nvtx_function)push},
    {CORE_RANGE_POP, (nvtx_function)pop},
};

static const struct entry core2_entries[] = {
    {CORE2_MARK_EX, (nvtx_function)domain_mark_ex},      {CORE2_RANGE_START_EX, (nvtx_function)domain_range_start_ex},
    {CORE2_RANGE_END, (nvtx_function)domain_range_stop}, {CORE2_RANGE_PUSH_EX, (nvtx_function)domain_push_ex},
    {CORE2_RANGE_POP, (nvtx_function)domain_pop},        {CORE2_REGISTER_STRING_A, (nvtx_function)register_string},
    {CORE2_CREATE_A, (nvtx_function)create_domain},
};

static void fill(const struct nvtx_callbacks *callbacks, uint32_t module, const struct entry *entries, size_t n)
{
    nvtx_function **table = NULL;
    unsigned count = 0;
    if (!callbacks->module_table(module, &table, &count) || !table)
        return;
    for (size_t i = 0; i < n; i++)
        if (entries[i].id < count && table[entries[i].id])
            *table[entries[i].id] = entries[i].function;
}

__attribute__((visibility("default"))) int InitializeInjectionNvtx2(nvtx_get_export_table get);

int InitializeInjectionNvtx2(nvtx_get_export_table get)
{
    const struct nvtx_callbacks *callbacks = get ? get(EXPORT_CALLBACKS) : NULL;
    if (!process.preload || !callbacks || callbacks->size < sizeof(*callbacks))
        return 0;
    fill(callbacks, MODULE_CORE, core_entries, sizeof(core_entries) / sizeof(*core_entries));
    fill(callbacks, MODULE_CORE2, core2_entries, sizeof(core2_entries) / sizeof(*core2_entries));
    return 1;
}
