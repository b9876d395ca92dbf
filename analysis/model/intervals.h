/* intervals.h - a set of instants as stretches of time: what a device was busy with, until it is summed up.
 *
 * Stretches may come in any order and overlap; the set is always their union: disjoint stretches that do not touch, in
 * order. Made for ones that come nearly in order. One thread. */
#ifndef TRSHIM_ANALYSIS_MODEL_INTERVALS_H
#define TRSHIM_ANALYSIS_MODEL_INTERVALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct interval {
    uint64_t start_ns, end_ns; /* half open */
};

/* Invariant: list[head..nr) as above. Zeroed is empty. */
struct intervals {
    struct interval *list; /* owned */
    size_t head, nr, capacity;
};

void intervals_done(struct intervals *set);

/* Adds [start, end); an empty or backward one is nothing. 0 or -ENOMEM. */
int intervals_add(struct intervals *set, uint64_t start_ns, uint64_t end_ns);

/* Forgets stretches that end at or before `to_ns`. */
void intervals_forget(struct intervals *set, uint64_t to_ns);

/* The stretches that overlap [from, to): returns the first, and how many. Valid until the set changes. */
const struct interval *intervals_within(const struct intervals *set, uint64_t from_ns, uint64_t to_ns, size_t *ret_nr);

/* How much of [from, to) is in the set. */
uint64_t intervals_measure(const struct intervals *set, uint64_t from_ns, uint64_t to_ns);

/* Walks over the union of several sets within [from, to), stretch by stretch. */
#define INTERVALS_WALK_MAX 4
struct intervals_walk {
    const struct interval *at[INTERVALS_WALK_MAX];
    size_t left[INTERVALS_WALK_MAX], nr;
    uint64_t from_ns, to_ns;
};

void intervals_walk(struct intervals_walk *walk, const struct intervals *const *sets, size_t nr, uint64_t from_ns,
                    uint64_t to_ns);
bool intervals_next(struct intervals_walk *walk, struct interval *ret); /* false: no more */

#endif
