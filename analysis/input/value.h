/* value.h - a small document in memory: what a pickle or a JSON file says, as a tree.
 *
 * For inputs that are small and not lists of events, like dumps of a framework. Values live in an arena and are never
 * changed after they were read; a pickle may use one value in several places, or in itself, so walk known paths only.
 * Looking up something that is not there, or is of another kind, gives NULL or the default: dumps of other versions
 * lack fields. */
#ifndef TRSHIM_ANALYSIS_VALUE_H
#define TRSHIM_ANALYSIS_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;

enum value_kind { VALUE_none, VALUE_bool, VALUE_int, VALUE_float, VALUE_str, VALUE_list, VALUE_dict };

struct value {
    enum value_kind kind;
    size_t nr; /* bytes of a string; items of a list or, twice as many as pairs, of a dict */
    size_t capacity;
    union {
        int64_t number; /* of a bool too; an integer that does not fit is the nearest that does */
        double real;
        const char *text;     /* NUL-terminated, valid UTF-8 or not as the file has it */
        struct value **items; /* of a list; of a dict: key, value, key, value */
    } u;
};

/* Make a value of a kind, or one that holds `text`; NULL when memory ran out. */
struct value *value_new(struct arena *arena, enum value_kind kind);
struct value *value_new_text(struct arena *arena, const char *text, size_t len);

/* Adds an item to a list, or a key and then its value to a dict. 0 or -ENOMEM. */
int value_add(struct arena *arena, struct value *to, struct value *item);

/* The value of a key, NULL if `dict` is none or has no such key. Of several, the last. */
const struct value *value_get(const struct value *dict, const char *key);

/* Item i of a list, NULL if there is none. Key and value of pair i of a dict, likewise. */
const struct value *value_item(const struct value *list, size_t i);
const char *value_key(const struct value *dict, size_t i); /* NULL also for a key that is no string */
const struct value *value_of(const struct value *dict, size_t i);

size_t value_count(const struct value *value); /* items or pairs; 0 for what has none */
const char *value_text(const struct value *value, const char *otherwise);
int64_t value_number(const struct value *value, int64_t otherwise); /* of text that is a number, too */

/* Reads a pickle (pickle.c) or JSON (value_json.c) of `len` bytes. 0; -EINVAL with what is wrong and where in
 * *ret_error (owned by the caller); -ENOMEM. Nothing in a pickle is executed: one that asks for it is refused. */
int value_from_pickle(struct arena *arena, const void *bytes, size_t len, const struct value **ret, char **ret_error);
int value_from_json(struct arena *arena, const char *text, size_t len, const struct value **ret, char **ret_error);

#endif
