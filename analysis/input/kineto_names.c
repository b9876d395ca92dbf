/* kineto_names.c - see kineto_names.h. */
#include "analysis/input/kineto_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void kineto_names_done(struct kineto_names *names)
{
    free(names->text);
    free(names->list);
    free(names->slots);
    *names = (struct kineto_names){0};
}

static uint32_t hash_of(uint8_t kind, const char *text)
{
    uint32_t hash = 2166136261u ^ kind; /* FNV-1a */

    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 16777619u;
    return hash;
}

/* The slot that holds the name, or the free one where it belongs. */
static uint32_t *find_slot(struct kineto_names *names, uint32_t hash, uint8_t kind, const char *text)
{
    for (uint32_t at = hash;; at++) {
        uint32_t *slot = &names->slots[at & (names->nr_slots - 1)];
        if (*slot == 0)
            return slot;
        const struct kineto_name *name = &names->list[*slot - 1];
        if (name->hash == hash && name->kind == kind && strcmp(names->text + name->at, text) == 0)
            return slot;
    }
}

static int grow_slots(struct kineto_names *names)
{
    uint32_t nr = names->nr_slots ? 2 * names->nr_slots : 256, *slots = calloc(nr, sizeof(*slots));

    if (!slots)
        return -ENOMEM;
    for (uint32_t i = 0; i < names->nr; i++) {
        uint32_t at = names->list[i].hash;
        while (slots[at & (nr - 1)])
            at++;
        slots[at & (nr - 1)] = i + 1;
    }
    free(names->slots);
    names->slots = slots;
    names->nr_slots = nr;
    return 0;
}

static int make_room(struct kineto_names *names, size_t len)
{
    if (names->nr == names->capacity) {
        uint32_t capacity = names->capacity ? 2 * names->capacity : 128;
        struct kineto_name *list = realloc(names->list, capacity * sizeof(*list));
        if (!list)
            return -ENOMEM;
        names->list = list;
        names->capacity = capacity;
    }
    if (names->text_capacity - names->text_len < len + 1) {
        size_t capacity = 2 * names->text_capacity + len + 1;
        char *text = realloc(names->text, capacity);
        if (!text)
            return -ENOMEM;
        names->text = text;
        names->text_capacity = capacity;
    }
    return 0;
}

int kineto_names_add(struct kineto_names *names, uint8_t kind, const char *text, uint32_t *ret)
{
    size_t len = strlen(text);
    int rc;

    if (2 * names->nr >= names->nr_slots && (rc = grow_slots(names)) < 0)
        return rc;
    uint32_t hash = hash_of(kind, text), *slot = find_slot(names, hash, kind, text);
    *ret = *slot;
    if (*slot)
        return 0;
    if (names->nr == KINETO_NAMES_MAX || names->text_len + len >= KINETO_NAMES_BYTES_MAX) {
        names->full = true;
        return 0;
    }
    if ((rc = make_room(names, len)) < 0)
        return rc;
    names->list[names->nr] = (struct kineto_name){names->text_len, hash, kind};
    memcpy(names->text + names->text_len, text, len + 1);
    names->text_len += len + 1;
    *ret = *slot = ++names->nr;
    return 0;
}
