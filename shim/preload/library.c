/* library.c - see library.h. Looks into the loader's list of what is mapped; no allocation. */
#include "shim/preload/library.h"

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <string.h>

#include "shim/preload/hook.h"
#include "shim/preload/old_libc.h"

#define NR_FOUND 4

atomic_uint library_generation = 1;

struct found {
    const struct library_hook *hook;
    const char *path[NR_FOUND];
    unsigned count;
    uintptr_t caller;
    const ElfW(Dyn) * caller_dynamic;
    const char *caller_path;
};

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Whether a file name begins with one of "a|b". */
static bool is_called(const char *name, const char *beginnings)
{
    for (size_t n; *beginnings; beginnings += n + (beginnings[n] == '|')) {
        n = strcspn(beginnings, "|");
        if (strncmp(name, beginnings, n) == 0)
            return true;
    }
    return false;
}

static int visit(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct found *f = arg;
    const ElfW(Dyn) *dynamic = NULL;
    bool holds_caller = false;

    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + p->p_vaddr;
        if (p->p_type == PT_DYNAMIC)
            dynamic = (const ElfW(Dyn) *)begin;
        else if (p->p_type == PT_LOAD && f->caller >= begin && f->caller < begin + p->p_memsz)
            holds_caller = true;
    }
    if (holds_caller)
        f->caller_dynamic = dynamic;
    if (holds_caller)
        f->caller_path = info->dlpi_name;
    if (f->count < NR_FOUND && is_called(base_name(info->dlpi_name), f->hook->library))
        f->path[f->count++] = info->dlpi_name;
    return 0;
}

/* Does the caller name this library among what it needs? */
static bool is_needed(const ElfW(Dyn) * dynamic, const char *path)
{
    const char *strings = NULL;
    for (const ElfW(Dyn) *d = dynamic; d && d->d_tag != DT_NULL; d++)
        if (d->d_tag == DT_STRTAB)
            strings = (const char *)d->d_un.d_ptr;
    for (const ElfW(Dyn) *d = dynamic; strings && d->d_tag != DT_NULL; d++)
        /* "libcudart.so.13" is needed, "libcudart.so.13.0.96" may be the file. */
        if (d->d_tag == DT_NEEDED &&
            strncmp(base_name(path), strings + d->d_un.d_val, strlen(strings + d->d_un.d_val)) == 0)
            return true;
    return false;
}

static void *own_base(void)
{
    static const char here;
    Dl_info us;
    return dladdr(&here, &us) ? us.dli_fbase : NULL;
}

static void *function_in(const char *path, const char *name)
{
    void *lib = ((void *(*)(const char *, int))real_dlopen)(path, RTLD_LAZY | RTLD_NOLOAD);
    return lib ? dlsym(lib, name) : NULL; /* the reference is kept: nobody unloads what we may be about to call */
}

/* The program itself has no name: its symbols come before ours, and its own calls never reach us. */
static void *function_elsewhere(const struct found *f)
{
    Dl_info where;
    void *found = f->caller_path && *f->caller_path ? function_in(f->caller_path, f->hook->name) : NULL;
    if (found && dladdr(found, &where) && where.dli_fbase == own_base())
        found = NULL; /* a library that merely calls it: found through what it needs */
    return found ? found : dlsym(RTLD_NEXT, f->hook->name);
}

void *library_look(struct library_hook *hook, const void *caller)
{
    struct found f = {.hook = hook, .caller = (uintptr_t)caller};
    unsigned generation = atomic_load_explicit(&library_generation, memory_order_relaxed);
    void *found = NULL, *needed = NULL;
    unsigned having = 0;
    int saved_errno = errno;

    dl_iterate_phdr(visit, &f);
    for (unsigned i = 0; i < f.count; i++) {
        void *here = function_in(f.path[i], hook->name);
        if (!here)
            continue;
        having++;
        found = here;
        if (!needed && is_needed(f.caller_dynamic, f.path[i]))
            needed = here;
    }
    if (!found) {
        found = function_elsewhere(&f);
        having += found != NULL;
    }
    if (!found)
        (void)dlerror();
    if (having == 1) {
        hook->only = found;
        atomic_store_explicit(&hook->generation, generation, memory_order_release);
    }
    errno = saved_errno;
    return needed ? needed : found;
}
