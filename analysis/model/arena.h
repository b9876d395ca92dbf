/* arena.h - memory that is given back all at once: the strings and small arrays of a report, the tree of a dump. */
#ifndef TRSHIM_ANALYSIS_ARENA_H
#define TRSHIM_ANALYSIS_ARENA_H

#include <stddef.h>

struct arena {
    struct arena_chunk *head;
    size_t used; /* of the head chunk */
};

/* Aligned for any type, zeroed; NULL when memory ran out. A zeroed struct arena is an empty one. */
void *arena_alloc(struct arena *arena, size_t size);
void arena_done(struct arena *arena);

#endif
