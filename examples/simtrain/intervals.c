/* intervals.c - see intervals.h. */
#include "examples/simtrain/intervals.h"

#include <stdlib.h>

void set_add(struct set *s, uint64_t start, uint64_t end)
{
    if (end <= start)
        return;
    if (s->nr == s->max) {
        s->max = s->max ? 2 * s->max : 1024;
        s->all = realloc(s->all, s->max * sizeof(*s->all));
        if (!s->all)
            abort();
    }
    s->all[s->nr++] = (struct interval){start, end};
}

static int by_start(const void *a, const void *b)
{
    const struct interval *x = a, *y = b;
    return x->start < y->start ? -1 : x->start > y->start;
}

void set_order(struct set *s)
{
    size_t kept = 0;
    if (s->nr)
        qsort(s->all, s->nr, sizeof(s->all[0]), by_start);
    for (size_t i = 0; i < s->nr; i++)
        if (kept && s->all[i].start <= s->all[kept - 1].end)
            s->all[kept - 1].end = s->all[i].end > s->all[kept - 1].end ? s->all[i].end : s->all[kept - 1].end;
        else
            s->all[kept++] = s->all[i];
    s->nr = kept;
}

/* First interval that ends after ns. */
static size_t first_after(const struct set *s, uint64_t ns)
{
    size_t low = 0, high = s->nr;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (s->all[middle].end <= ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool set_has(const struct set *s, uint64_t ns, uint64_t *until)
{
    size_t i = first_after(s, ns);
    if (i == s->nr)
        return false;
    bool in = s->all[i].start <= ns;
    uint64_t changes = in ? s->all[i].end : s->all[i].start;
    *until = changes < *until ? changes : *until;
    return in;
}
