/* ring.h - records from one process to another through shared memory: one writer, one reader, no copy.
 *
 * The memory is mapped before the fork and so has the same address in both: a record may hold pointers into itself.
 * The writer reserves room, fills it, commits; the reader peeks at the oldest record and releases it. One writing
 * process may serve several rings (a ring_group): it sleeps when none has room. A reader sleeps on one ring at a
 * time. Waits end after RING_WAIT_MS by themselves, so that either side can look whether the other still lives. */
#ifndef TRSHIM_ANALYSIS_RING_H
#define TRSHIM_ANALYSIS_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RING_WAIT_MS 100
#define RING_RECORD_SHARE 4 /* a record takes at most size / RING_RECORD_SHARE */

struct ring_group {
    _Alignas(64) _Atomic uint32_t writer_waits; /* futex */
};

/* Invariant: read <= written <= reserved <= read + size; all count bytes since the beginning and are multiples of 8. */
struct ring {
    struct ring_group *group;
    char *data;
    uint64_t size; /* a power of 2 */

    _Alignas(64) _Atomic uint64_t written; /* by the writer: what the reader may see */
    _Atomic bool ended;                    /* by the writer: nothing follows */
    uint64_t reserved;                     /* the writer's own */

    _Alignas(64) _Atomic uint64_t read; /* by the reader: what the writer may overwrite */
    _Atomic uint32_t reader_waits;      /* futex */
    uint64_t position;                  /* the reader's own; runs ahead of `read` to publish it seldom */
};

void ring_init(struct ring *ring, struct ring_group *group, void *data, size_t size);

/* ---- writer --------------------------------------------------------------------------------- */

/* Room for a record of `size` bytes, or NULL if there is none now. */
void *ring_reserve(struct ring *ring, size_t size);
void ring_commit(struct ring *ring);                 /* the record reserved last is complete */
void ring_publish(struct ring *ring, bool urgently); /* show what is committed; wake the reader if it pays, or now */
void ring_end(struct ring *ring);
uint64_t ring_fill(const struct ring *ring);

/* Sleeps until one of the rings (those not NULL) has room for a record of any size. They must be published. */
void ring_wait_room(struct ring_group *group, struct ring *const *rings, size_t nr_rings);

/* ---- reader --------------------------------------------------------------------------------- */

const void *ring_peek(struct ring *ring); /* the oldest record, or NULL: see ring_ended */
void ring_release(struct ring *ring);     /* forget the one that ring_peek returned */
bool ring_ended(const struct ring *ring); /* asked after ring_peek returned NULL: is that all? */
void ring_wait_record(struct ring *ring);

#endif
