/* kineto_names.h - names of kernels and ranges of one file, each once, numbered from 1. In memory: as many as differ.
 */
#ifndef TRSHIM_ANALYSIS_KINETO_NAMES_H
#define TRSHIM_ANALYSIS_KINETO_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of one file; what comes later is unknown, 0. */
#define KINETO_NAMES_MAX (1u << 20)
#define KINETO_NAMES_BYTES_MAX (256u << 20)

struct kineto_names {
    char *text; /* owned: one after the other, each with its NUL */
    size_t text_len, text_capacity;
    struct kineto_name {
        size_t at; /* in text */
        uint32_t hash;
        uint8_t kind; /* enum tr_name_kind */
    } * list;         /* owned; number n is list[n - 1] */
    uint32_t nr, capacity;
    uint32_t *slots; /* owned hash table of numbers, 0 free; its size is a power of two above nr */
    uint32_t nr_slots;
    bool full; /* some had no room */
};

void kineto_names_done(struct kineto_names *names);

/* The number of a name. 0 or -ENOMEM. */
int kineto_names_add(struct kineto_names *names, uint8_t kind, const char *text, uint32_t *ret);

static inline const char *kineto_names_text(const struct kineto_names *names, uint32_t number)
{
    return names->text + names->list[number - 1].at;
}

#endif
