/* intervals.c - see intervals.h. A sorted array: what comes in order is appended, what comes late moves a few. */
#include "analysis/model/intervals.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void intervals_done(struct intervals *set)
{
    free(set->list);
    *set = (struct intervals){0};
}

static int make_room(struct intervals *set)
{
    if (set->nr < set->capacity)
        return 0;
    if (set->head > set->capacity / 2) {
        set->nr -= set->head;
        memmove(set->list, set->list + set->head, set->nr * sizeof(*set->list));
        set->head = 0;
        return 0;
    }
    size_t capacity = set->capacity ? set->capacity * 2 : 64;
    struct interval *list = realloc(set->list, capacity * sizeof(*list));
    if (!list)
        return -ENOMEM;
    set->list = list;
    set->capacity = capacity;
    return 0;
}

/* Index of the first stretch that ends after `at_ns`, or with `touching` at it. */
static size_t first_after(const struct intervals *set, uint64_t at_ns, bool touching)
{
    size_t low = set->head, high = set->nr;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (set->list[mid].end_ns < at_ns || (!touching && set->list[mid].end_ns == at_ns))
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

int intervals_add(struct intervals *set, uint64_t start_ns, uint64_t end_ns)
{
    if (end_ns <= start_ns)
        return 0;
    if (make_room(set))
        return -ENOMEM;
    size_t first = first_after(set, start_ns, true), last = first;
    for (; last < set->nr && set->list[last].start_ns <= end_ns; last++) {
        start_ns = set->list[last].start_ns < start_ns ? set->list[last].start_ns : start_ns;
        end_ns = set->list[last].end_ns > end_ns ? set->list[last].end_ns : end_ns;
    }
    /* [first, last) become one. */
    if (last != first + 1)
        memmove(set->list + first + 1, set->list + last, (set->nr - last) * sizeof(*set->list));
    set->nr = set->nr - last + first + 1;
    set->list[first] = (struct interval){start_ns, end_ns};
    return 0;
}

void intervals_forget(struct intervals *set, uint64_t to_ns)
{
    set->head = first_after(set, to_ns, false);
    if (set->head == set->nr)
        set->head = set->nr = 0;
}

const struct interval *intervals_within(const struct intervals *set, uint64_t from_ns, uint64_t to_ns, size_t *ret_nr)
{
    size_t first = first_after(set, from_ns, false), low = first, high = set->nr;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (set->list[mid].start_ns < to_ns)
            low = mid + 1;
        else
            high = mid;
    }
    *ret_nr = to_ns > from_ns ? low - first : 0;
    return set->list ? set->list + first : NULL;
}

static struct interval clipped(const struct interval *interval, uint64_t from_ns, uint64_t to_ns)
{
    return (struct interval){interval->start_ns > from_ns ? interval->start_ns : from_ns,
                             interval->end_ns < to_ns ? interval->end_ns : to_ns};
}

uint64_t intervals_measure(const struct intervals *set, uint64_t from_ns, uint64_t to_ns)
{
    size_t nr;
    uint64_t sum = 0;
    const struct interval *first = intervals_within(set, from_ns, to_ns, &nr);
    for (size_t i = 0; i < nr; i++) {
        struct interval part = clipped(&first[i], from_ns, to_ns);
        sum += part.end_ns - part.start_ns;
    }
    return sum;
}

void intervals_walk(struct intervals_walk *walk, const struct intervals *const *sets, size_t nr, uint64_t from_ns,
                    uint64_t to_ns)
{
    *walk = (struct intervals_walk){.nr = nr, .from_ns = from_ns, .to_ns = to_ns};
    for (size_t i = 0; i < nr; i++)
        walk->at[i] = intervals_within(sets[i], from_ns, to_ns, &walk->left[i]);
}

/* The set whose next stretch begins first; nr when all are through. */
static size_t earliest(const struct intervals_walk *walk)
{
    size_t best = walk->nr;
    for (size_t i = 0; i < walk->nr; i++)
        if (walk->left[i] && (best == walk->nr || walk->at[i]->start_ns < walk->at[best]->start_ns))
            best = i;
    return best;
}

bool intervals_next(struct intervals_walk *walk, struct interval *ret)
{
    size_t i = earliest(walk);
    if (i == walk->nr)
        return false;
    struct interval joined = *walk->at[i];
    for (; i < walk->nr && walk->at[i]->start_ns <= joined.end_ns; i = earliest(walk)) {
        joined.end_ns = walk->at[i]->end_ns > joined.end_ns ? walk->at[i]->end_ns : joined.end_ns;
        walk->at[i]++;
        walk->left[i]--;
    }
    *ret = clipped(&joined, walk->from_ns, walk->to_ns);
    return true;
}
