/* names.h - what the ids in events mean: files, directories, peers and ranges by name.
 *
 * An id belongs to the process that announced it. A child made by fork goes on using its parent's ids, and announces
 * again what it uses; until then (or if that was lost) its parent's meaning holds. Equal texts of one host are one
 * struct name, whoever announced them, so that a pass can count by pointer. */
#ifndef TRSHIM_ANALYSIS_NAMES_H
#define TRSHIM_ANALYSIS_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/event.h"
#include "analysis/model/map.h"

struct group;

struct name {
    struct name *next; /* in order of first appearance */
    const char *text;  /* owned by names */
    uint64_t dev;
    uint32_t host, pid;  /* pid: the first that announced it */
    bool shared;         /* others did too */
    uint8_t kind;        /* enum tr_name_kind */
    uint8_t kernel_kind; /* of a kernel: enum kernel_kind, judged once */
    struct group *group; /* set by groups.c once all names are known; NULL before, and for ranges */
};

struct names {
    struct map by_id; /* (host, pid, id) */
    struct map by_text;
    struct name *first, *last; /* owned */
    size_t nr;
    uint64_t unresolved; /* lookups that found nothing */
};

void names_done(struct names *names);

/* Learns a name event. 0 or -ENOMEM. */
int names_learn(struct names *names, uint32_t host, const struct tr_name *name);

/* The name that id stands for in a process, without its parents. NULL if it has none; not counted. */
struct name *names_own(const struct names *names, uint32_t host, uint32_t pid, uint32_t id);

#endif
