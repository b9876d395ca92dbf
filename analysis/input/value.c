/* value.c - see value.h. */
#include "analysis/input/value.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/model/arena.h"

struct value *value_new(struct arena *arena, enum value_kind kind)
{
    struct value *value = arena_alloc(arena, sizeof(*value));

    if (value)
        value->kind = kind;
    return value;
}

struct value *value_new_text(struct arena *arena, const char *text, size_t len)
{
    struct value *value = value_new(arena, VALUE_str);
    char *copy = value ? arena_alloc(arena, len + 1) : NULL;

    if (!copy)
        return NULL;
    memcpy(copy, text, len);
    value->u.text = copy;
    value->nr = len;
    return value;
}

int value_add(struct arena *arena, struct value *to, struct value *item)
{
    if (to->nr == to->capacity) {
        size_t capacity = to->nr ? to->nr * 2 : 4;
        struct value **items = arena_alloc(arena, capacity * sizeof(*items));
        if (!items)
            return -ENOMEM;
        if (to->nr)
            memcpy(items, to->u.items, to->nr * sizeof(*items));
        to->u.items = items;
        to->capacity = capacity;
    }
    to->u.items[to->nr++] = item;
    return 0;
}

static bool is(const struct value *value, enum value_kind kind)
{
    return value && value->kind == kind;
}

size_t value_count(const struct value *value)
{
    return is(value, VALUE_list) ? value->nr : is(value, VALUE_dict) ? value->nr / 2 : 0;
}

const struct value *value_item(const struct value *list, size_t i)
{
    return is(list, VALUE_list) && i < list->nr ? list->u.items[i] : NULL;
}

const struct value *value_of(const struct value *dict, size_t i)
{
    return is(dict, VALUE_dict) && i < dict->nr / 2 ? dict->u.items[2 * i + 1] : NULL;
}

const char *value_key(const struct value *dict, size_t i)
{
    return is(dict, VALUE_dict) && i < dict->nr / 2 ? value_text(dict->u.items[2 * i], NULL) : NULL;
}

const struct value *value_get(const struct value *dict, const char *key)
{
    for (size_t i = value_count(dict); is(dict, VALUE_dict) && i-- > 0;) {
        const char *name = value_key(dict, i);
        if (name && strcmp(name, key) == 0)
            return value_of(dict, i);
    }
    return NULL;
}

const char *value_text(const struct value *value, const char *otherwise)
{
    return is(value, VALUE_str) ? value->u.text : otherwise;
}

int64_t value_number(const struct value *value, int64_t otherwise)
{
    char *end;

    if (is(value, VALUE_int) || is(value, VALUE_bool))
        return value->u.number;
    if (!is(value, VALUE_str) || !value->nr)
        return otherwise;
    long long number = strtoll(value->u.text, &end, 10);
    return *end ? otherwise : number;
}
