/* slots.c - see slots.h. */
#include "plugin/slots.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define SLOT_HELD 1u
#define SLOT_LIVE 2u /* was ever used */
#define SLOT_DONE 4u
#define GENERATION_SHIFT 8

/* A handle, from the top: 8 bits that no address begins with, 12 of the process, 4 kind, 6 extra, 20 generation, 14
 * index. */
#define TAG 0xA7u
#define SALT_BITS 12
#define EXTRA_BITS 6
#define GENERATION_BITS 20
#define INDEX_BITS 14
#define MASK(bits) ((1u << (bits)) - 1)

#define LOOKS 16u   /* records looked at for room */
#define TRIES 2000u /* for a record that another thread holds: some microseconds */

_Static_assert(sizeof(void *) == 8, "a handle fills a pointer");

static uint64_t process_salt;

void handles_init(uint32_t salt)
{
    process_salt = (salt ^ salt >> SALT_BITS ^ salt >> 2 * SALT_BITS) & MASK(SALT_BITS);
}

static uint32_t generation_of(uint64_t word)
{
    return (uint32_t)(word >> GENERATION_SHIFT) & MASK(GENERATION_BITS);
}

void *handle_make(enum handle_kind kind, const struct pool *pool, const struct slot *slot, uint8_t extra)
{
    uint64_t index = (uint64_t)((const char *)slot - pool->base) / pool->size;
    uint64_t h = TAG;
    h = h << SALT_BITS | process_salt;
    h = h << 4 | (uint64_t)kind;
    h = h << EXTRA_BITS | (extra & MASK(EXTRA_BITS));
    h = h << GENERATION_BITS | generation_of(atomic_load_explicit(&slot->word, memory_order_relaxed));
    h = h << INDEX_BITS | index;
    return (void *)(uintptr_t)h;
}

bool handle_read(const void *handle, struct handle *ret)
{
    uint64_t h = (uintptr_t)handle;
    if (h >> 56 != TAG || (h >> 44 & MASK(SALT_BITS)) != process_salt)
        return false;
    ret->kind = (enum handle_kind)(h >> 40 & 0xf);
    ret->extra = (uint8_t)(h >> 34 & MASK(EXTRA_BITS));
    ret->generation = (uint32_t)(h >> 14) & MASK(GENERATION_BITS);
    ret->index = (uint32_t)h & MASK(INDEX_BITS);
    return ret->kind > KIND_NONE && ret->kind < KIND_MAX;
}

int pool_init(struct pool *pool)
{
    void *p = mmap(NULL, (size_t)pool->nr * pool->size, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return -ENOMEM;
    pool->base = p;
    return 0;
}

static struct slot *at(const struct pool *pool, uint32_t index)
{
    return (struct slot *)(pool->base + (size_t)index * pool->size);
}

/* Takes the slot if word is what it is and may be reused. */
static bool take(struct slot *s, uint64_t word)
{
    uint64_t next = ((word >> GENERATION_SHIFT) + 1) << GENERATION_SHIFT | SLOT_LIVE | SLOT_HELD;
    return atomic_compare_exchange_strong_explicit(&s->word, &word, next, memory_order_acquire, memory_order_relaxed);
}

static void note_top(struct pool *pool, uint32_t index)
{
    unsigned top = atomic_load_explicit(&pool->top, memory_order_relaxed);
    while (top <= index && !atomic_compare_exchange_weak_explicit(&pool->top, &top, index + 1, memory_order_release,
                                                                  memory_order_relaxed))
        ;
}

void *slot_take(struct pool *pool, uint64_t now_ns, uint64_t max_age_ns)
{
    for (unsigned i = 0; pool->base && i < LOOKS; i++) {
        uint32_t index = atomic_fetch_add_explicit(&pool->next, 1, memory_order_relaxed) % pool->nr;
        struct slot *s = at(pool, index);
        uint64_t word = atomic_load_explicit(&s->word, memory_order_relaxed);
        bool is_free = !(word & SLOT_LIVE) || (word & SLOT_DONE);
        if (word & SLOT_HELD)
            continue;
        if (!is_free) {
            /* Its age can only be read by who holds it. */
            uint64_t held = word | SLOT_HELD;
            if (!atomic_compare_exchange_strong_explicit(&s->word, &word, held, memory_order_acquire,
                                                         memory_order_relaxed))
                continue;
            bool is_old = now_ns > s->born_ns && now_ns - s->born_ns > max_age_ns;
            atomic_store_explicit(&s->word, word, memory_order_release);
            if (!is_old)
                continue;
        }
        if (!take(s, word))
            continue;
        memset((char *)s + sizeof(s->word), 0, pool->size - sizeof(s->word));
        s->born_ns = now_ns;
        note_top(pool, index);
        return s;
    }
    return NULL;
}

static void *hold(struct slot *s, uint32_t generation, bool any, uint64_t without)
{
    for (unsigned i = 0; i < TRIES; i++) {
        uint64_t word = atomic_load_explicit(&s->word, memory_order_relaxed);
        if (!(word & SLOT_LIVE) || (word & without) || (!any && generation_of(word) != generation))
            return NULL;
        if (!(word & SLOT_HELD) && atomic_compare_exchange_weak_explicit(&s->word, &word, word | SLOT_HELD,
                                                                         memory_order_acquire, memory_order_relaxed))
            return s;
#ifdef __x86_64__
        __builtin_ia32_pause();
#endif
    }
    return NULL;
}

void *slot_hold(struct pool *pool, uint32_t index, uint32_t generation)
{
    return pool->base && index < pool->nr ? hold(at(pool, index), generation, false, 0) : NULL;
}

void *slot_hold_live(struct pool *pool, uint32_t index)
{
    return pool->base && index < pool->nr ? hold(at(pool, index), 0, true, SLOT_DONE) : NULL;
}

static void release(struct slot *s, uint64_t add)
{
    uint64_t word = atomic_load_explicit(&s->word, memory_order_relaxed);
    atomic_store_explicit(&s->word, (word & ~(uint64_t)SLOT_HELD) | add, memory_order_release);
}

void slot_let_go(void *record)
{
    release(record, 0);
}

void slot_done(void *record)
{
    release(record, SLOT_DONE);
}

bool slot_is_done(const void *record)
{
    const struct slot *s = record;
    return atomic_load_explicit(&s->word, memory_order_relaxed) & SLOT_DONE;
}
