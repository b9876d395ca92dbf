/* map.c - open addressing with linear probing; nothing is ever removed, so there are no tombstones. */
#include "analysis/model/map.h"

#include <errno.h>
#include <stdlib.h>

struct map_slot {
    struct map_key key;
    void *value; /* NULL: free */
};

void map_done(struct map *map)
{
    free(map->slots);
    *map = (struct map){0};
}

/* The finalizer of MurmurHash3: every input bit reaches every output bit. */
static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 33) * 0xff51afd7ed558ccdULL;
    x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53ULL;
    return x ^ x >> 33;
}

static struct map_slot *slot_of(const struct map *map, struct map_key key)
{
    size_t i = mix(key.hi ^ mix(key.lo)) & (map->capacity - 1);
    while (map->slots[i].value && (map->slots[i].key.hi != key.hi || map->slots[i].key.lo != key.lo))
        i = (i + 1) & (map->capacity - 1);
    return &map->slots[i];
}

void *map_find(const struct map *map, struct map_key key)
{
    return map->capacity ? slot_of(map, key)->value : NULL;
}

static int grow(struct map *map)
{
    struct map bigger = {.capacity = map->capacity ? map->capacity * 2 : 64};
    bigger.slots = calloc(bigger.capacity, sizeof(*bigger.slots));
    if (!bigger.slots)
        return -ENOMEM;
    for (size_t i = 0; i < map->capacity; i++)
        if (map->slots[i].value)
            *slot_of(&bigger, map->slots[i].key) = map->slots[i];
    bigger.nr = map->nr;
    free(map->slots);
    *map = bigger;
    return 0;
}

int map_put(struct map *map, struct map_key key, void *value)
{
    if (map->nr * 4 >= map->capacity * 3) {
        int rc = grow(map);
        if (rc)
            return rc;
    }
    struct map_slot *slot = slot_of(map, key);
    if (!slot->value)
        map->nr++;
    *slot = (struct map_slot){key, value};
    return 0;
}

struct map_key map_hash(const char *text, uint64_t salt)
{
    uint64_t a = mix(salt + 0x9e3779b97f4a7c15ULL), b = mix(salt ^ 0xc2b2ae3d27d4eb4fULL);
    for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
        a = (a ^ *p) * 0x100000001b3ULL;
        b = (b + *p) * 0x9e3779b97f4a7c15ULL;
        b ^= b >> 29;
    }
    return (struct map_key){mix(a), mix(b)};
}
