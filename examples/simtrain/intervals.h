/* intervals.h - sets of instants, as intervals: what truth.c measures with. */
#ifndef SIMTRAIN_INTERVALS_H
#define SIMTRAIN_INTERVALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct interval {
    uint64_t start, end;
};

struct set { /* zeroed is empty; `all` belongs to whoever has the set */
    struct interval *all;
    size_t nr, max;
};

void set_add(struct set *s, uint64_t start, uint64_t end); /* nothing if it is empty */
void set_order(struct set *s); /* after the last addition: ascending, apart from each other */
/* Whether ns lies in the set; *until is lowered to where that changes. */
bool set_has(const struct set *s, uint64_t ns, uint64_t *until);

#endif
