/* arena.c - see arena.h. */
#include "analysis/model/arena.h"

#include <stdalign.h>
#include <stdlib.h>

#define CHUNK_BYTES (64 * 1024)

struct arena_chunk {
    struct arena_chunk *next;
    size_t size;
    alignas(max_align_t) char bytes[];
};

void *arena_alloc(struct arena *arena, size_t size)
{
    size = (size + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
    if (!arena->head || arena->head->size - arena->used < size) {
        size_t room = size > CHUNK_BYTES ? size : CHUNK_BYTES;
        struct arena_chunk *chunk = calloc(1, sizeof *chunk + room);
        if (!chunk)
            return NULL;
        chunk->size = room;
        chunk->next = arena->head;
        arena->head = chunk;
        arena->used = 0;
    }
    void *at = arena->head->bytes + arena->used;
    arena->used += size;
    return at;
}

void arena_done(struct arena *arena)
{
    while (arena->head) {
        struct arena_chunk *next = arena->head->next;
        free(arena->head);
        arena->head = next;
    }
    arena->used = 0;
}
