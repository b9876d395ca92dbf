/* map.h - a hash table from 128-bit keys to pointers: how the model finds what an event refers to.
 *
 * Keys are numbers packed by the caller (host, pid, id) or map_hash() of a text; the map does not own the values.
 * A value is never NULL. Not for several threads. */
#ifndef TRSHIM_ANALYSIS_MAP_H
#define TRSHIM_ANALYSIS_MAP_H

#include <stddef.h>
#include <stdint.h>

struct map_key {
    uint64_t hi, lo;
};

struct map {
    struct map_slot *slots; /* owned; NULL while empty */
    size_t nr, capacity;    /* capacity is a power of two */
};

/* A zeroed struct map is an empty one. */
void map_done(struct map *map);

void *map_find(const struct map *map, struct map_key key);     /* NULL if there is none */
int map_put(struct map *map, struct map_key key, void *value); /* replaces; 0 or -ENOMEM */

/* A key for a text, with `salt` to keep kinds of texts apart. Two texts with one key are as likely as a memory error.
 */
struct map_key map_hash(const char *text, uint64_t salt);

#endif
