/* real.c - finds the real functions. Runs in the constructor, before the program has threads. */
#include "shim/preload/real.h"

#include "shim/preload/old_libc.h"

struct real real;
void *real_dlopen, *real_vfork;

static const struct {
    const char *name;
    void **where;
} table[] = {
#define HOOK(gate, ret, name, params, args, before, after) {#name, (void **)&real.name},
#define HOOK_SPECIAL(ret, name, params) {#name, (void **)&real.name},
#include "shim/hooks.def"
#include "shim/hooks_special.def"
#undef HOOK
#undef HOOK_SPECIAL
    {"dlopen", &real_dlopen},
    {"vfork", &real_vfork},
};

/* Condition variables changed their layout in 2.3.2 on x86_64 and kept both: a plain dlsym may hand out the one for
 * the old layout. */
static void *newest(const char *name)
{
#ifdef __x86_64__
    if (__builtin_strncmp(name, "pthread_cond_", 13) == 0) {
        void *p = dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2");
        if (p)
            return p;
    }
#endif
    return dlsym(RTLD_NEXT, name);
}

void real_resolve(void)
{
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
        if (!*table[i].where)
            *table[i].where = newest(table[i].name);
    /* What this libc lacks has left an error behind, which is not the program's. */
    (void)dlerror();
}
