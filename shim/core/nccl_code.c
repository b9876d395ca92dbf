/* nccl_code.c - see nccl_code.h. */
#include "shim/core/nccl_code.h"

#include <link.h>
#include <string.h>

struct nccl_code nccl_code[NCCL_MAX_CODE];
atomic_uint nccl_nr_code;

struct looking {
    unsigned long long seen; /* what had been loaded and unloaded when we last looked */
    unsigned nr;
    bool any;
};

static bool is_of_nccl(const char *path)
{
    static const char *const names[] = {"libnccl.so", "librccl.so", "libnccl-net", "librccl-net"};
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (strncmp(base, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

static void add(struct looking *l, uintptr_t begin, uintptr_t end)
{
    if (l->nr == NCCL_MAX_CODE)
        return;
    atomic_store_explicit(&nccl_code[l->nr].begin, begin, memory_order_relaxed);
    atomic_store_explicit(&nccl_code[l->nr].end, end, memory_order_relaxed);
    l->nr++;
}

static int visit(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct looking *l = arg;
    unsigned long long changes = info->dlpi_adds + info->dlpi_subs;
    if (!l->any && changes == l->seen)
        return 1; /* as it was */
    l->any = true;
    l->seen = changes;
    if (!is_of_nccl(info->dlpi_name))
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type == PT_LOAD && (p->p_flags & PF_X))
            add(l, info->dlpi_addr + p->p_vaddr, info->dlpi_addr + p->p_vaddr + p->p_memsz);
    }
    return 0;
}

void nccl_code_look(void)
{
    static atomic_flag looks = ATOMIC_FLAG_INIT;
    static unsigned long long seen;
    if (atomic_flag_test_and_set(&looks))
        return;
    struct looking l = {.seen = seen};
    dl_iterate_phdr(visit, &l);
    if (l.any) {
        seen = l.seen;
        atomic_store_explicit(&nccl_nr_code, l.nr, memory_order_release);
    }
    atomic_flag_clear(&looks);
}
