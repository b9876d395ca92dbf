/* heap.c - see heap.h. Two sorted arrays: segments are few, blocks some ten thousand at most. */
#include "analysis/model/heap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void heap_done(struct heap *heap)
{
    free(heap->segments);
    free(heap->blocks);
    *heap = (struct heap){0};
}

/* Index of the first of `list` that ends after `address`: of segments or of blocks. */
#define FIRST_AFTER(list, nr, where)                                                                                   \
    ({                                                                                                                 \
        size_t low = 0, high = (nr);                                                                                   \
        while (low < high) {                                                                                           \
            size_t mid = low + (high - low) / 2;                                                                       \
            if ((list)[mid].address + (list)[mid].size <= (where))                                                     \
                low = mid + 1;                                                                                         \
            else                                                                                                       \
                high = mid;                                                                                            \
        }                                                                                                              \
        low;                                                                                                           \
    })

static size_t segment_at(const struct heap *heap, uint64_t address)
{
    return FIRST_AFTER(heap->segments, heap->nr_segments, address);
}

static size_t block_at(const struct heap *heap, uint64_t address)
{
    return FIRST_AFTER(heap->blocks, heap->nr_blocks, address);
}

static uint64_t split_free_of(const struct heap_segment *segment)
{
    return segment->framework && segment->live ? segment->size - segment->live : 0;
}

static uint64_t overlap(uint64_t a, uint64_t a_size, uint64_t b, uint64_t b_size)
{
    uint64_t from = a > b ? a : b, to = a + a_size < b + b_size ? a + a_size : b + b_size;
    return to > from ? to - from : 0;
}

/* A block appears in its segments, or disappears from them. */
static void mark(struct heap *heap, const struct heap_block *block, bool appears)
{
    uint64_t end = block->address + block->size;
    for (size_t i = segment_at(heap, block->address); i < heap->nr_segments && heap->segments[i].address < end; i++) {
        struct heap_segment *segment = &heap->segments[i];
        uint64_t bytes = overlap(block->address, block->size, segment->address, segment->size);
        heap->split_free -= split_free_of(segment);
        segment->live = appears ? segment->live + bytes : segment->live - bytes;
        heap->split_free += split_free_of(segment);
    }
}

static void block_remove(struct heap *heap, size_t i)
{
    mark(heap, &heap->blocks[i], false);
    heap->allocated -= heap->blocks[i].size;
    memmove(heap->blocks + i, heap->blocks + i + 1, (--heap->nr_blocks - i) * sizeof(*heap->blocks));
}

static void segment_remove(struct heap *heap, size_t i)
{
    const struct heap_segment gone = heap->segments[i];
    for (size_t b = block_at(heap, gone.address);
         b < heap->nr_blocks && heap->blocks[b].address < gone.address + gone.size;)
        block_remove(heap, b);
    if (gone.framework)
        heap->reserved -= gone.size;
    else
        heap->others -= gone.size;
    memmove(heap->segments + i, heap->segments + i + 1, (--heap->nr_segments - i) * sizeof(*heap->segments));
}

int heap_take(struct heap *heap, uint64_t address, uint64_t size, const void *owner, bool framework)
{
    size_t i = segment_at(heap, address);
    while (i < heap->nr_segments && heap->segments[i].address < address + size)
        segment_remove(heap, i);
    if (heap->nr_segments == heap->capacity_segments) {
        size_t capacity = heap->capacity_segments ? heap->capacity_segments * 2 : 64;
        struct heap_segment *segments = realloc(heap->segments, capacity * sizeof(*segments));
        if (!segments)
            return -ENOMEM;
        heap->segments = segments;
        heap->capacity_segments = capacity;
    }
    memmove(heap->segments + i + 1, heap->segments + i, (heap->nr_segments++ - i) * sizeof(*heap->segments));
    heap->segments[i] = (struct heap_segment){.address = address, .size = size, .owner = owner, .framework = framework};
    if (framework)
        heap->reserved += size;
    else
        heap->others += size;
    return 0;
}

void heap_mark(struct heap *heap, uint64_t address, const void *site)
{
    size_t i = segment_at(heap, address);
    if (i < heap->nr_segments && heap->segments[i].address == address)
        heap->segments[i].site = site;
}

bool heap_give(struct heap *heap, uint64_t address, struct heap_segment *ret)
{
    size_t i = segment_at(heap, address);
    if (i == heap->nr_segments || heap->segments[i].address != address)
        return false;
    *ret = heap->segments[i];
    segment_remove(heap, i);
    return true;
}

int heap_hand_out(struct heap *heap, uint64_t address, uint64_t size)
{
    size_t i = block_at(heap, address);
    while (i < heap->nr_blocks && heap->blocks[i].address < address + size)
        block_remove(heap, i); /* that they came back was not told */
    if (heap->nr_blocks == heap->capacity_blocks) {
        size_t capacity = heap->capacity_blocks ? heap->capacity_blocks * 2 : 256;
        struct heap_block *blocks = realloc(heap->blocks, capacity * sizeof(*blocks));
        if (!blocks)
            return -ENOMEM;
        heap->blocks = blocks;
        heap->capacity_blocks = capacity;
    }
    memmove(heap->blocks + i + 1, heap->blocks + i, (heap->nr_blocks++ - i) * sizeof(*heap->blocks));
    heap->blocks[i] = (struct heap_block){address, size};
    heap->allocated += size;
    mark(heap, &heap->blocks[i], true);
    return 0;
}

void heap_take_back(struct heap *heap, uint64_t address)
{
    size_t i = block_at(heap, address);
    if (i < heap->nr_blocks && heap->blocks[i].address == address)
        block_remove(heap, i);
}

uint64_t heap_largest_hole(const struct heap *heap)
{
    uint64_t largest = 0, hole_start = 0, end = 0;
    size_t b = 0;
    for (size_t i = 0; i < heap->nr_segments; i++) {
        const struct heap_segment *segment = &heap->segments[i];
        if (!segment->framework)
            continue;
        if (segment->address != end)
            hole_start = segment->address;
        end = segment->address + segment->size;
        for (; b < heap->nr_blocks && heap->blocks[b].address < end; b++) {
            const struct heap_block *block = &heap->blocks[b];
            if (block->address > hole_start && block->address - hole_start > largest)
                largest = block->address - hole_start;
            if (block->address + block->size > hole_start)
                hole_start = block->address + block->size;
        }
        if (end > hole_start && end - hole_start > largest)
            largest = end - hole_start;
    }
    return largest;
}

uint64_t heap_pool_free(const struct heap *heap, uint64_t larger, bool small)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < heap->nr_segments; i++) {
        const struct heap_segment *segment = &heap->segments[i];
        if (segment->framework && (segment->size > larger) != small)
            sum += segment->size - segment->live;
    }
    return sum;
}
