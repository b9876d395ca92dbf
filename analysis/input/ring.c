/* ring.c - see ring.h.
 *
 * Sleeping: each side first says that it waits, then looks once more; the other first shows its progress, then looks
 * whether somebody waits. All four are sequentially consistent, so at least one sees the other. */
#include "analysis/input/ring.h"

#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Before each record. A filler takes what is left before the end of the memory. */
struct record {
    uint32_t size; /* with this header, a multiple of 8 */
    uint32_t filler;
};

_Static_assert(sizeof(struct record) == 8, "records are aligned to 8");

static void futex_wait(_Atomic uint32_t *word, uint32_t while_it_is)
{
    const struct timespec timeout = {.tv_nsec = RING_WAIT_MS * 1000000L};

    (void)syscall(SYS_futex, word, FUTEX_WAIT, while_it_is, &timeout, NULL, 0);
}

static void futex_wake(_Atomic uint32_t *word)
{
    atomic_store(word, 0);
    (void)syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

void ring_init(struct ring *ring, struct ring_group *group, void *data, size_t size)
{
    memset(ring, 0, sizeof(*ring));
    ring->group = group;
    ring->data = data;
    ring->size = size;
}

/* ---- writer --------------------------------------------------------------------------------- */

static struct record *record_at(const struct ring *ring, uint64_t position)
{
    return (struct record *)(ring->data + (position & (ring->size - 1)));
}

static uint64_t room(struct ring *ring)
{
    return ring->size - (ring->reserved - atomic_load_explicit(&ring->read, memory_order_acquire));
}

void *ring_reserve(struct ring *ring, size_t size)
{
    uint64_t total = sizeof(struct record) + ((size + 7) & ~7ull);
    uint64_t to_end = ring->size - (ring->reserved & (ring->size - 1));
    uint64_t filler = total > to_end ? to_end : 0;

    if (room(ring) < filler + total)
        return NULL;
    if (filler) {
        *record_at(ring, ring->reserved) = (struct record){.size = filler, .filler = 1};
        ring->reserved += filler;
    }
    struct record *record = record_at(ring, ring->reserved);
    *record = (struct record){.size = total};
    return record + 1;
}

void ring_commit(struct ring *ring)
{
    ring->reserved += record_at(ring, ring->reserved)->size;
}

void ring_publish(struct ring *ring, bool urgently)
{
    if (ring->reserved != atomic_load_explicit(&ring->written, memory_order_relaxed))
        atomic_store(&ring->written, ring->reserved);
    /* A reader woken for a handful of records would soon sleep again. */
    if (atomic_load(&ring->reader_waits) && (urgently || ring_fill(ring) >= ring->size / 8))
        futex_wake(&ring->reader_waits);
}

void ring_end(struct ring *ring)
{
    atomic_store(&ring->written, ring->reserved);
    atomic_store(&ring->ended, true);
    ring_publish(ring, true);
}

uint64_t ring_fill(const struct ring *ring)
{
    return ring->reserved - atomic_load_explicit(&ring->read, memory_order_relaxed);
}

static bool any_has_room(struct ring *const *rings, size_t nr_rings)
{
    for (size_t i = 0; i < nr_rings; i++)
        if (rings[i] && rings[i]->size - (rings[i]->reserved - atomic_load(&rings[i]->read)) >=
                            2 * rings[i]->size / RING_RECORD_SHARE)
            return true;
    return false;
}

void ring_wait_room(struct ring_group *group, struct ring *const *rings, size_t nr_rings)
{
    atomic_store(&group->writer_waits, 1);
    if (!any_has_room(rings, nr_rings))
        futex_wait(&group->writer_waits, 1);
    atomic_store(&group->writer_waits, 0);
}

/* ---- reader --------------------------------------------------------------------------------- */

/* Gives back what was released. */
static void publish_read(struct ring *ring)
{
    struct ring_group *group = ring->group;

    atomic_store(&ring->read, ring->position);
    if (atomic_load(&group->writer_waits) &&
        ring->size - (atomic_load_explicit(&ring->written, memory_order_relaxed) - ring->position) >=
            2 * ring->size / RING_RECORD_SHARE)
        futex_wake(&group->writer_waits);
}

const void *ring_peek(struct ring *ring)
{
    while (ring->position != atomic_load_explicit(&ring->written, memory_order_acquire)) {
        struct record *record = record_at(ring, ring->position);
        if (!record->filler)
            return record + 1;
        ring->position += record->size;
    }
    if (ring->position != atomic_load_explicit(&ring->read, memory_order_relaxed))
        publish_read(ring);
    return NULL;
}

void ring_release(struct ring *ring)
{
    ring->position += record_at(ring, ring->position)->size;
    if (ring->position - atomic_load_explicit(&ring->read, memory_order_relaxed) >= ring->size / 8)
        publish_read(ring);
}

bool ring_ended(const struct ring *ring)
{
    /* `ended` is set after the last record was shown: look at it first. */
    return atomic_load(&ring->ended) && ring->position == atomic_load(&ring->written);
}

void ring_wait_record(struct ring *ring)
{
    atomic_store(&ring->reader_waits, 1);
    if (atomic_load(&ring->written) == ring->position && !atomic_load(&ring->ended))
        futex_wait(&ring->reader_waits, 1);
    atomic_store(&ring->reader_waits, 0);
}
