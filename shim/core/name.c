/* name.c - the table of names. Called from any thread; no locks: a slot is claimed by its hash and published by
 * `ready`. A thread that meets a slot between the two (a few instructions of another thread) gives up with id 0. */
#include "shim/core/name.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "shim/core/core.h"
#include "shim/core/mounts.h"

#define NR_NAMES (1u << 18)
#define TEXT_BYTES (64u << 20)
#define MAX_RANGE_NAMES 20000 /* ranges named "step 4711" must not push out files */

struct name {
    atomic_ullong hash; /* 0 free */
    atomic_uint ready;  /* 1 once the rest is valid */
    atomic_uint sent_epoch;
    uint32_t text; /* offset in texts */
    uint32_t kind;
    uint64_t dev;
};

static struct name *names;
static char *texts;
static atomic_uint texts_used, nr_range_names;

void *map_lazily(size_t size)
{
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

int name_init(void)
{
    names = map_lazily(NR_NAMES * sizeof(*names));
    texts = map_lazily(TEXT_BYTES);
    if (names && texts)
        return 0;
    names = NULL;
    return -ENOMEM;
}

/* Slots being filled at this moment. In a fork child nobody finishes what another thread had begun: name_after_fork()
 * gives such slots back. More than these at once are merely not given back. */
static atomic_uint filling[16];

static atomic_uint *begin_filling(uint32_t slot)
{
    for (size_t i = 0; i < sizeof(filling) / sizeof(*filling); i++) {
        unsigned none = 0;
        if (atomic_compare_exchange_strong(&filling[i], &none, slot + 1))
            return &filling[i];
    }
    return NULL;
}

void name_after_fork(void)
{
    for (size_t i = 0; i < sizeof(filling) / sizeof(*filling); i++) {
        unsigned slot = atomic_exchange(&filling[i], 0);
        if (slot)
            atomic_store(&names[slot - 1].hash, 0);
    }
}

static uint64_t hash_of(enum tr_name_kind kind, const char *text, size_t len)
{
    uint64_t h = 0x9e3779b97f4a7c15u ^ (len << 8) ^ kind, word;
    for (; len >= 8; text += 8, len -= 8) {
        memcpy(&word, text, 8);
        h = (h ^ word) * 0xff51afd7ed558ccdu;
        h ^= h >> 32;
    }
    word = 0;
    memcpy(&word, text, len);
    h = (h ^ word) * 0xc4ceb9fe1a85ec53u;
    h ^= h >> 29;
    return h ? h : 1;
}

static uint64_t device_of(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? st.st_dev : 0;
}

static uint32_t lost(void)
{
    atomic_fetch_add_explicit(&process.lost_names, 1, memory_order_relaxed);
    return 0;
}

/* Fills a slot that we have claimed. False: no room for its text; it stays claimed and is never ready. */
static bool fill(struct name *n, enum tr_name_kind kind, const char *text, size_t len)
{
    uint32_t at = atomic_fetch_add_explicit(&texts_used, (uint32_t)len + 1, memory_order_relaxed);
    if (at + len + 1 > TEXT_BYTES)
        return false;
    memcpy(texts + at, text, len);
    n->text = at;
    n->kind = kind;
    if (kind == TR_name_kind_dir || kind == TR_name_kind_file) {
        n->dev = device_of(kind == TR_name_kind_dir && !len ? "/" : texts + at);
        mounts_touch(n->dev, texts + at);
    }
    atomic_store_explicit(&n->ready, 1, memory_order_release);
    return true;
}

static uint32_t add_name(uint32_t slot, enum tr_name_kind kind, const char *text, size_t len)
{
    atomic_uint *mark = begin_filling(slot);
    bool filled = fill(&names[slot], kind, text, len);
    if (mark)
        atomic_store(mark, 0);
    return filled ? slot + 1 : lost();
}

uint32_t name_of(enum tr_name_kind kind, const char *text, size_t len)
{
    if (!names || !text)
        return 0;
    uint64_t hash = hash_of(kind, text, len);
    for (uint32_t probe = 0, slot = (uint32_t)(hash & (NR_NAMES - 1)); probe < 64;
         probe++, slot = (slot + 1) & (NR_NAMES - 1)) {
        unsigned long long seen = atomic_load_explicit(&names[slot].hash, memory_order_acquire);
        if (!seen) {
            if (kind == TR_name_kind_range &&
                atomic_fetch_add_explicit(&nr_range_names, 1, memory_order_relaxed) > MAX_RANGE_NAMES)
                return lost();
            if (atomic_compare_exchange_strong(&names[slot].hash, &seen, hash))
                return add_name(slot, kind, text, len);
        }
        if (seen == hash)
            return atomic_load_explicit(&names[slot].ready, memory_order_acquire) ? slot + 1 : 0;
    }
    return lost();
}

uint32_t name_of_dir(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? name_of(TR_name_kind_dir, slash == path ? "/" : path, slash == path ? 1 : (size_t)(slash - path))
                 : 0;
}

void name_send(uint32_t id, uint32_t tid)
{
    if (!id)
        return;
    struct name *n = &names[id - 1];
    unsigned epoch = atomic_load_explicit(&process.names_epoch, memory_order_relaxed);
    if (atomic_load_explicit(&n->sent_epoch, memory_order_relaxed) == epoch)
        return;
    atomic_store_explicit(&n->sent_epoch, epoch, memory_order_relaxed);
    EMIT(name, tid, .kind = (uint8_t)n->kind, .id = id, .dev = n->dev, .text = texts + n->text);
}

const char *name_text(uint32_t id)
{
    return id && atomic_load_explicit(&names[id - 1].ready, memory_order_acquire) ? texts + names[id - 1].text : NULL;
}
