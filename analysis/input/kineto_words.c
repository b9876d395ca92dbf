/* kineto_words.c - see kineto_words.h. */
#include "analysis/input/kineto_words.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* ---- rows ----------------------------------------------------------------------------------- */

static const struct {
    const char *category;
    enum kineto_what what;
} categories[] = {
    {"kernel", KINETO_kernel},    {"gpu_memcpy", KINETO_copy}, {"memcpy", KINETO_copy},
    {"gpu_memset", KINETO_set},   {"memset", KINETO_set},      {"cuda_runtime", KINETO_call},
    {"cuda_driver", KINETO_call}, {"runtime", KINETO_call},    {"driver", KINETO_call},
    {"cpu_op", KINETO_range},     {"operator", KINETO_range},  {"user_annotation", KINETO_range},
};

/* PyTorch's writer before Kineto: no categories, and pids that are words. */
static enum kineto_what what_without_category(const struct kineto_row *row)
{
    if (strcmp(row->pid, KINETO_GPU) == 0)
        return KINETO_kernel;
    return strcmp(row->pid, KINETO_CPU) == 0 ? KINETO_range : KINETO_nothing;
}

enum kineto_what kineto_what(const struct kineto_row *row)
{
    if (strcmp(row->ph, "M") == 0)
        return KINETO_meta;
    if (strcasecmp(row->ph, "i") == 0)
        return strcmp(row->name, "[memory]") == 0 && row->memory_device_type == 1 ? KINETO_block : KINETO_nothing;
    if (strcmp(row->ph, "X") != 0)
        return KINETO_nothing;
    for (size_t i = 0; i < COUNT(categories); i++)
        if (strcasecmp(row->category, categories[i].category) == 0)
            return categories[i].what;
    return row->category[0] ? KINETO_nothing : what_without_category(row);
}

bool kineto_id(const char *text, uint32_t *ret)
{
    int64_t number;

    if (!kineto_number(text, strlen(text), 1, &number) || number < INT32_MIN || number > UINT32_MAX)
        return false;
    *ret = (uint32_t)number;
    return true;
}

/* ---- ranges --------------------------------------------------------------------------------- */

enum kineto_range kineto_range_kind(const struct kineto_row *row, uint64_t *ret_nr)
{
    static const char *const kept[] = {"record_param_comms", "c10d::", "nccl:", "DistributedDataParallel.",
                                       "FullyShardedDataParallel."};
    static const char step[] = KINETO_STEP;
    int64_t nr;

    *ret_nr = 0;
    if (begins(row->name, step)) {
        const char *digits = row->name + sizeof(step) - 1;
        *ret_nr = kineto_number(digits, strlen(digits), 1, &nr) && nr > 0 ? nr : 0;
        return KINETO_RANGE_step;
    }
    if (begins(row->name, "Optimizer.step#"))
        return KINETO_RANGE_optimizer;
    if (begins(row->name, "enumerate(DataLoader)#"))
        return KINETO_RANGE_dataloader;
    if (strcasecmp(row->category, "user_annotation") == 0)
        return KINETO_RANGE_plain;
    /* Before 2022 annotations are operators as others; a '#' is in those that Python named, and in no operator's. */
    if (strchr(row->name, '#'))
        return KINETO_RANGE_plain;
    for (size_t i = 0; i < COUNT(kept); i++)
        if (begins(row->name, kept[i]))
            return KINETO_RANGE_plain;
    return KINETO_RANGE_none;
}

/* ---- the CUDA API --------------------------------------------------------------------------- */

/* The first that is in the name decides. Names are given without cuda, cu or hip. */
static const struct {
    const char *word;
    bool anywhere; /* else at the begin */
    enum tr_cuda_act act;
} acts[] = {
    {"GraphLaunch", false, TR_cuda_act_graph_launch},
    {"Launch", false, TR_cuda_act_launch},
    {"ExtLaunch", false, TR_cuda_act_launch},
    {"ExtModuleLaunch", false, TR_cuda_act_launch},
    {"ModuleLaunch", false, TR_cuda_act_launch},
    {"Synchronize", true, TR_cuda_act_sync},
    {"EventQuery", false, TR_cuda_act_query},
    {"StreamQuery", false, TR_cuda_act_query},
    {"Memcpy", false, TR_cuda_act_copy},
    {"Memset", false, TR_cuda_act_set},
    {"MallocHost", false, TR_cuda_act_host_alloc},
    {"HostAlloc", false, TR_cuda_act_host_alloc},
    {"HostMalloc", false, TR_cuda_act_host_alloc},
    {"HostRegister", false, TR_cuda_act_host_alloc},
    {"MemHostAlloc", false, TR_cuda_act_host_alloc},
    {"MemHostRegister", false, TR_cuda_act_host_alloc},
    {"MemAllocHost", false, TR_cuda_act_host_alloc},
    {"Malloc", false, TR_cuda_act_malloc},
    {"MemAlloc", false, TR_cuda_act_malloc},
    {"MemCreate", false, TR_cuda_act_malloc},
    {"FreeHost", false, TR_cuda_act_other},
    {"HostFree", false, TR_cuda_act_other},
    {"Free", false, TR_cuda_act_free},
    {"MemFree", false, TR_cuda_act_free},
    {"MemRelease", false, TR_cuda_act_free},
};

enum tr_cuda_act kineto_cuda_act(const char *function)
{
    function += begins(function, "cuda") ? 4 : begins(function, "cu") ? 2 : begins(function, "hip") ? 3 : 0;
    for (size_t i = 0; i < COUNT(acts); i++)
        if (acts[i].anywhere ? strstr(function, acts[i].word) != NULL : begins(function, acts[i].word))
            return acts[i].act;
    return TR_cuda_act_other;
}

static uint8_t memory_kind(const char *text, size_t len)
{
    static const struct {
        const char *word;
        enum tr_memory_kind kind;
    } kinds[] = {
        {"Pageable", TR_memory_kind_pageable}, {"Pinned", TR_memory_kind_pinned},   {"Device", TR_memory_kind_device},
        {"Array", TR_memory_kind_array},       {"Managed", TR_memory_kind_managed},
    };

    for (size_t i = 0; i < COUNT(kinds); i++) /* by their begin: there is "Device Static" too */
        if (len >= strlen(kinds[i].word) && begins(text, kinds[i].word))
            return kinds[i].kind;
    return TR_memory_kind_unknown;
}

void kineto_copy_kind(const char *name, uint8_t *ret_kind, uint8_t *ret_src, uint8_t *ret_dst)
{
    static const char *const kinds[] = {
        [TR_copy_kind_HtoD] = "HtoD", [TR_copy_kind_DtoH] = "DtoH", [TR_copy_kind_DtoD] = "DtoD",
        [TR_copy_kind_PtoP] = "PtoP", [TR_copy_kind_HtoH] = "HtoH",
    };
    const char *open = strchr(name, '('), *arrow = open ? strstr(open, " -> ") : NULL;

    *ret_kind = TR_copy_kind_other;
    for (size_t i = 0; i < COUNT(kinds); i++)
        if (strstr(name, kinds[i]))
            *ret_kind = i;
    *ret_src = arrow ? memory_kind(open + 1, arrow - open - 1) : TR_memory_kind_unknown;
    *ret_dst = arrow ? memory_kind(arrow + 4, strlen(arrow + 4)) : TR_memory_kind_unknown;
}
