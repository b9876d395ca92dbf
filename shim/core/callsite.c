/* callsite.c - see callsite.h. On the job's threads, inside calls that take device memory: rare and slow ones. No lock
 * of ours; a table whose slots are claimed by compare-and-swap. */
#include "shim/core/callsite.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "shim/core/core.h"
#include "shim/core/name.h"

#define NR_SITES 4096
#define PROBES 32
#define DEPTH 24 /* frames looked at, ours among them */
#define FRAMES 16
#define BUILD_ID_BYTES 20

static struct site {
    atomic_ullong hash; /* 0 free */
    atomic_uint ready, sent_epoch;
    uint32_t nr;
    uintptr_t at[FRAMES];
} * sites;

enum { UNTRIED, TRYING, USABLE, UNUSABLE };
static atomic_int state;
static int (*backtrace_of)(void **frames, int size);

void callsite_init(void)
{
    int untried = UNTRIED;
    if (!atomic_compare_exchange_strong(&state, &untried, TRYING))
        return;
    void *lib = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
    void *fn = lib ? dlsym(lib, "unw_backtrace") : NULL;
    (void)dlerror();
    memcpy(&backtrace_of, &fn, sizeof(fn));
    sites = fn ? map_lazily(NR_SITES * sizeof(*sites)) : NULL;
    void *frames[DEPTH];
    if (sites)
        (void)backtrace_of(frames, DEPTH); /* it sets itself up at the first call */
    else
        EMIT(attr, process.pid, .key = "callsites", .value = "none: libunwind.so.8 is not there");
    atomic_store(&state, sites ? USABLE : UNUSABLE);
}

void callsite_after_fork(void)
{
    atomic_store(&state, UNUSABLE);
}

/* ---- telling --------------------------------------------------------------------------------------------------- */

struct module {
    uintptr_t address; /* looked for; becomes the offset in the file as linked */
    const char *path;
    char build_id[2 * BUILD_ID_BYTES + 1];
};

static void read_build_id(const struct dl_phdr_info *info, const ElfW(Phdr) * p, struct module *m)
{
    const char *note = (const char *)(info->dlpi_addr + p->p_vaddr), *end = note + p->p_memsz;
    while (note + sizeof(ElfW(Nhdr)) <= end) {
        const ElfW(Nhdr) *n = (const ElfW(Nhdr) *)note;
        const char *name = note + sizeof(*n);
        const unsigned char *id = (const unsigned char *)name + ((n->n_namesz + 3) & ~3u);
        note = (const char *)id + ((n->n_descsz + 3) & ~3u);
        if (n->n_type != NT_GNU_BUILD_ID || n->n_namesz != 4 || memcmp(name, "GNU", 4) || note > end)
            continue;
        for (unsigned i = 0; i < n->n_descsz && i < BUILD_ID_BYTES; i++)
            snprintf(m->build_id + 2 * i, 3, "%02x", id[i]);
        return;
    }
}

static int look_at_module(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct module *m = arg;
    bool holds = false;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + p->p_vaddr;
        holds |= p->p_type == PT_LOAD && m->address >= begin && m->address < begin + p->p_memsz;
    }
    if (!holds)
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_NOTE && !m->build_id[0])
            read_build_id(info, &info->dlpi_phdr[i], m);
    m->path = info->dlpi_name;
    m->address -= info->dlpi_addr;
    return 1;
}

/* The name of the file that holds an address, with its build id: "1a2b.. /usr/lib/libfoo.so"; *ret_offset within it. */
static uint32_t module_of(uintptr_t address, uintptr_t *ret_offset)
{
    char text[BUILD_ID_BYTES * 2 + 1024], program[1000];
    struct module m = {.address = address};
    if (!dl_iterate_phdr(look_at_module, &m))
        return 0;              /* made at run time */
    if (!m.path || !*m.path) { /* the program itself has no name there */
        ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);
        program[n > 0 ? n : 0] = '\0';
        m.path = program;
    }
    int n = snprintf(text, sizeof(text), "%s %s", m.build_id[0] ? m.build_id : "-", m.path);
    *ret_offset = m.address;
    return n < (int)sizeof(text) ? name_of(TR_name_kind_module, text, (size_t)n) : 0;
}

static void announce(struct site *s, uint32_t id, uint32_t tid)
{
    char frames[FRAMES * 32] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < s->nr; i++) {
        uintptr_t offset = s->at[i];
        uint32_t module = module_of(s->at[i], &offset);
        name_send(module, tid);
        used += (size_t)snprintf(frames + used, sizeof(frames) - used, "%s%u:%lx", i ? " " : "", module,
                                 (unsigned long)offset);
    }
    EMIT(callsite, tid, .id = id, .frames = frames);
}

static void send(struct site *s, uint32_t id, uint32_t tid)
{
    unsigned epoch = atomic_load_explicit(&process.names_epoch, memory_order_relaxed);
    if (atomic_exchange_explicit(&s->sent_epoch, epoch + 1, memory_order_relaxed) != epoch + 1)
        announce(s, id, tid);
}

/* ---- finding --------------------------------------------------------------------------------------------------- */

static uint32_t site_of(void *const *frames, uint32_t nr, uint32_t tid)
{
    uint64_t hash = 0x9e3779b97f4a7c15u ^ nr;
    for (uint32_t i = 0; i < nr; i++) {
        hash = (hash ^ (uintptr_t)frames[i]) * 0xff51afd7ed558ccdu;
        hash ^= hash >> 29;
    }
    hash |= 1;
    for (uint32_t i = 0, at = (uint32_t)(hash >> 20) % NR_SITES; i < PROBES; i++, at = (at + 1) % NR_SITES) {
        struct site *s = &sites[at];
        unsigned long long seen = atomic_load_explicit(&s->hash, memory_order_acquire);
        if (!seen && atomic_compare_exchange_strong(&s->hash, &seen, hash)) {
            s->nr = nr;
            for (uint32_t k = 0; k < nr; k++)
                s->at[k] = (uintptr_t)frames[k];
            atomic_store_explicit(&s->ready, 1, memory_order_release);
            seen = hash;
        }
        if (seen == hash) {
            if (!atomic_load_explicit(&s->ready, memory_order_acquire))
                return 0; /* another thread is just filling it */
            send(s, at + 1, tid);
            return at + 1;
        }
    }
    return 0;
}

uint32_t callsite_here(const void *caller, uint32_t tid)
{
    void *frames[DEPTH];
    if (atomic_load_explicit(&state, memory_order_acquire) != USABLE)
        return 0;
    int nr = backtrace_of(frames, DEPTH), first = 0;
    while (first < nr && frames[first] != caller)
        first++;
    if (first >= nr)
        return 0; /* what is in between could not be unwound */
    nr -= first;
    return site_of(frames + first, (uint32_t)(nr < FRAMES ? nr : FRAMES), tid);
}
