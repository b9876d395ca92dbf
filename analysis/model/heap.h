/* heap.h - what one process holds of one device's memory: segments taken from the device, and the blocks that the
 * framework's cache hands out of them.
 *
 * In the words of the report: R is what framework segments hold, A what is handed out, the rest of R is free: F_split
 * in segments that are also in use (the cache cannot give those back), F_whole in segments that are not. A mapping of
 * expandable segments is a segment of its own; a block may lie in several. Sums are kept up to date with each call; the
 * largest hole is looked for when asked. One thread. */
#ifndef TRSHIM_ANALYSIS_MODEL_HEAP_H
#define TRSHIM_ANALYSIS_MODEL_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct heap_segment {
    uint64_t address, size, live; /* live: bytes of blocks within */
    const void *owner;            /* as given; NULL unknown */
    const void *site;             /* as marked; NULL unknown */
    bool framework;               /* the framework's cache took it */
};

struct heap_block {
    uint64_t address, size;
};

/* Zeroed is empty. */
struct heap {
    struct heap_segment *segments; /* owned; by address, disjoint */
    size_t nr_segments, capacity_segments;
    struct heap_block *blocks; /* owned; by address, disjoint */
    size_t nr_blocks, capacity_blocks;
    uint64_t reserved;   /* R */
    uint64_t others;     /* segments that are not the framework's */
    uint64_t allocated;  /* A */
    uint64_t split_free; /* F_split */
};

void heap_done(struct heap *heap);

/* A segment is there. What was known at its place is gone: its end was not told. 0 or -ENOMEM. */
int heap_take(struct heap *heap, uint64_t address, uint64_t size, const void *owner, bool framework);

/* Notes who asked for the segment that begins at `address`. */
void heap_mark(struct heap *heap, uint64_t address, const void *site);

/* The segment that begins at `address`, with the blocks within, is given back. Returns true with *ret as it was; false
 * if there is none. */
bool heap_give(struct heap *heap, uint64_t address, struct heap_segment *ret);

/* A block is handed out; comes back. 0 or -ENOMEM; one that comes back without having been seen is ignored. */
int heap_hand_out(struct heap *heap, uint64_t address, uint64_t size);
void heap_take_back(struct heap *heap, uint64_t address);

/* The largest stretch of framework segments without a block; adjoining segments count as one. */
uint64_t heap_largest_hole(const struct heap *heap);

/* Free bytes in framework segments larger than `larger` (those of the pool for large blocks), or if `small` in others.
 */
uint64_t heap_pool_free(const struct heap *heap, uint64_t larger, bool small);

#endif
