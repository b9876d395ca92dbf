/* marks.c - how a job may say where its steps are: NVTX ranges (the little of NVTX 3's headers that finds a tool
 * through NVTX_INJECTION64_PATH is written out, from its published ABI), or trshim_step(). */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "examples/simtrain/job.h"
#include "include/trshim.h"

#define CORE 1
#define CORE_FUNCTIONS 16
#define PUSH_A 9
#define POP 11

typedef void (*function)(void);
static function functions[CORE_FUNCTIONS];
static function *table[CORE_FUNCTIONS];

static int module_table(uint32_t module, function ***ret_table, unsigned *ret_count)
{
    if (module != CORE)
        return 0;
    *ret_table = table;
    *ret_count = CORE_FUNCTIONS;
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
    for (int i = 0; i < CORE_FUNCTIONS; i++)
        table[i] = &functions[i];
    void *tool = dlopen(path, RTLD_LAZY);
    int (*init)(const void *(*)(uint32_t)) =
        tool ? (int (*)(const void *(*)(uint32_t)))dlsym(tool, "InitializeInjectionNvtx2") : NULL;
    if (!init || init(export_table) != 1)
        memset(functions, 0, sizeof(functions));
}

void marks_step_begin(const struct rank *r)
{
    if (r->o->marks == MARKS_STEP)
        TRSHIM_STEP((uint64_t)r->step);
    if (r->o->marks != MARKS_NVTX)
        return;
    find_tool();
    if (functions[PUSH_A])
        ((int (*)(const char *))functions[PUSH_A])("train_step");
}

void marks_step_end(const struct rank *r)
{
    if (r->o->marks == MARKS_NVTX && functions[POP])
        ((int (*)(void))functions[POP])();
}
