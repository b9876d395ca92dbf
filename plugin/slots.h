/* slots.h - records behind the handles that NCCL holds for us.
 *
 * A handle is no pointer: it is a number that says which record of which pool, which use of that record (generation),
 * and a word of this process. NCCL keeps handles longer than anybody could know (parents that were stopped long ago,
 * captured graphs, handles of another process in shared memory, words nobody wrote), so each is checked against its
 * record before anything is done, and is simply not found when it is stale, foreign or garbage.
 *
 * Pools are mapped once, without touching them, and never grow; records are taken in turn, so that one that was given
 * up stays readable for as long as possible. No room: the caller drops the event and counts it.
 *
 * Any thread may hold a record for a few instructions. Who finds it held looks again some times and then goes without:
 * nobody sleeps. Not for signal handlers. */
#ifndef TRSHIM_PLUGIN_SLOTS_H
#define TRSHIM_PLUGIN_SLOTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Which event a handle stands for. */
enum handle_kind {
    KIND_NONE,
    KIND_COMM,
    KIND_GROUP,
    KIND_CALL_API, /* a call, by the event of its API function */
    KIND_CALL,     /* the same record, by the event that it was launched */
    KIND_OP,
    KIND_STEP, /* the record of its operation, and a number */
    KIND_KERNEL,
    KIND_OTHER, /* nothing of ours: kept for a chained plugin */
    KIND_JOIN,  /* never a handle of NCCL's */
    KIND_MAX
};

/* Begins each record. */
struct slot {
    _Atomic uint64_t word; /* generation, and the SLOT_ bits */
    uint64_t born_ns;
};

struct pool {
    const char *what;
    uint32_t nr, size; /* records, bytes of one */
    char *base;
    atomic_uint next; /* where to look for room */
    atomic_uint top;  /* records ever used */
};

/* A handle taken apart. */
struct handle {
    enum handle_kind kind;
    uint32_t index, generation;
    uint8_t extra; /* KIND_STEP: which step */
};

/* The word of this process in its handles: another process's are not ours even if all else agrees. */
void handles_init(uint32_t salt);

void *handle_make(enum handle_kind kind, const struct pool *pool, const struct slot *slot, uint8_t extra);
bool handle_read(const void *handle, struct handle *ret);

/* 0 or -ENOMEM. */
int pool_init(struct pool *pool);

/* A record nobody uses, held, all of it but the slot zero; NULL: none. Records older than max_age_ns count as unused:
 * their end was never told. */
void *slot_take(struct pool *pool, uint64_t now_ns, uint64_t max_age_ns);

/* The record of a handle, held; NULL if it is not that use of it any more. */
void *slot_hold(struct pool *pool, uint32_t index, uint32_t generation);

/* Record `index` whatever its use, held, if it is in use and its end is not told. */
void *slot_hold_live(struct pool *pool, uint32_t index);

/* Lets go of a held record. */
void slot_let_go(void *record);

/* The same, and it may be used anew; what refers to it still finds it until then. */
void slot_done(void *record);

/* Held record: was slot_done() called on it? */
bool slot_is_done(const void *record);

#endif
