/* nvtx_job.c - a job that marks its steps by NVTX, with no NVIDIA library about: the little of the NVTX 3 headers that
 * finds a tool by NVTX_INJECTION64_PATH is written out here, from its published ABI. With the real headers at hand
 * (-DREAL_NVTX) it is built from those instead, to prove the two the same. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef REAL_NVTX
#include <nvtx3/nvToolsExt.h>
#else

typedef void (*function)(void);
static function core_functions[16], core2_functions[16];
static function *core_table[16], *core2_table[16];

static int module_table(uint32_t module, function ***ret_table, unsigned *ret_count)
{
    if (module != 1 && module != 5)
        return 0;
    *ret_table = module == 1 ? core_table : core2_table;
    *ret_count = 16;
    return 1;
}

static const struct {
    size_t size;
    int (*module_table)(uint32_t, function ***, unsigned *);
} callbacks = {sizeof(callbacks), module_table};

static const void *export_table(uint32_t id)
{
    return id == 1 ? &callbacks : NULL;
}

static void find_tool(void)
{
    static int done;
    const char *path = getenv("NVTX_INJECTION64_PATH");
    if (done++ || !path)
        return;
    for (int i = 0; i < 16; i++) {
        core_table[i] = &core_functions[i];
        core2_table[i] = &core2_functions[i];
    }
    void *tool = dlopen(path, RTLD_LAZY);
    int (*init)(const void *(*)(uint32_t)) =
        tool ? (int (*)(const void *(*)(uint32_t)))dlsym(tool, "InitializeInjectionNvtx2") : NULL;
    if (!init || init(export_table) != 1)
        memset(core_functions, 0, sizeof(core_functions));
}

static int nvtxRangePushA(const char *text)
{
    find_tool();
    return core_functions[9] ? ((int (*)(const char *))core_functions[9])(text) : -2;
}

static int nvtxRangePop(void)
{
    return core_functions[11] ? ((int (*)(void))core_functions[11])() : -2;
}

static void nvtxMarkA(const char *text)
{
    if (core_functions[2])
        ((void (*)(const char *))core_functions[2])(text);
}

typedef void *nvtxDomainHandle_t;
typedef void *nvtxStringHandle_t;
typedef struct {
    uint16_t version, size;
    uint32_t category;
    int32_t colorType;
    uint32_t color;
    int32_t payloadType, reserved0;
    uint64_t payload;
    int32_t messageType;
    union {
        const char *ascii;
        nvtxStringHandle_t registered;
    } message;
} nvtxEventAttributes_t;
#define NVTX_VERSION 3
#define NVTX_EVENT_ATTRIB_STRUCT_SIZE sizeof(nvtxEventAttributes_t)
#define NVTX_MESSAGE_TYPE_ASCII 1
#define NVTX_MESSAGE_TYPE_REGISTERED 3

static nvtxDomainHandle_t nvtxDomainCreateA(const char *name)
{
    return core2_functions[12] ? ((void *(*)(const char *))core2_functions[12])(name) : NULL;
}

static nvtxStringHandle_t nvtxDomainRegisterStringA(nvtxDomainHandle_t d, const char *text)
{
    return core2_functions[10] ? ((void *(*)(void *, const char *))core2_functions[10])(d, text) : NULL;
}

static int nvtxDomainRangePushEx(nvtxDomainHandle_t d, const nvtxEventAttributes_t *a)
{
    return core2_functions[4] ? ((int (*)(void *, const void *))core2_functions[4])(d, a) : -2;
}

static int nvtxDomainRangePop(nvtxDomainHandle_t d)
{
    return core2_functions[5] ? ((int (*)(void *))core2_functions[5])(d) : -2;
}
#endif

static void nap(void)
{
    struct timespec t = {0, 2000000};
    nanosleep(&t, NULL);
}

int main(void)
{
    for (int step = 0; step < 10; step++) {
        nvtxRangePushA("step");
        nvtxRangePushA("forward");
        nap();
        nvtxRangePop();
        nvtxRangePop();
    }
    nvtxMarkA("evaluation");

    nvtxEventAttributes_t a = {.version = NVTX_VERSION, .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE};
    nvtxDomainHandle_t own = nvtxDomainCreateA("megatron"), nccl = nvtxDomainCreateA("NCCL");
    a.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    a.message.registered = nvtxDomainRegisterStringA(own, "optimizer");
    nvtxDomainRangePushEx(own, &a);
    a.messageType = NVTX_MESSAGE_TYPE_ASCII;
    a.message.ascii = "ncclAllReduce";
    nvtxDomainRangePushEx(nccl, &a); /* a library's own: would drown the job's */
    nvtxDomainRangePop(nccl);
    nvtxDomainRangePop(own);
    return 0;
}
