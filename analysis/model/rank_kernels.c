/* rank_kernels.c - see rank_kernels.h. */
#include "analysis/model/rank_kernels.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/model/median.h"
#include "analysis/model/names.h"
#include "analysis/pass/thresholds.h"

void rank_kernels_done(struct rank_kernels *kernels)
{
    for (struct kernel_name *name = kernels->names, *next; name; name = next) {
        next = name->next;
        free(name->ranks);
        free(name);
    }
    map_done(&kernels->by_name);
    *kernels = (struct rank_kernels){.nr_ranks = kernels->nr_ranks};
}

static struct kernel_name *name_get(struct rank_kernels *kernels, const struct name *name)
{
    struct map_key by_address = {(uintptr_t)name, 0}, by_text = map_hash(name->text, 1);
    struct kernel_name *found = map_find(&kernels->by_name, by_address);

    if (found)
        return found;
    found = map_find(&kernels->by_name, by_text);
    if (!found) {
        found = calloc(1, sizeof(*found));
        struct rank_kernel *ranks = calloc(kernels->nr_ranks + 1, sizeof(*ranks));
        if (!found || !ranks) {
            free(found);
            free(ranks);
            return NULL;
        }
        *found = (struct kernel_name){.next = kernels->names, .text = name->text, .ranks = ranks};
        kernels->names = found;
        if (map_put(&kernels->by_name, by_text, found))
            return NULL;
    }
    return map_put(&kernels->by_name, by_address, found) ? NULL : found;
}

int rank_kernels_add(struct rank_kernels *kernels, const struct name *name, size_t rank, uint64_t dur_ns)
{
    struct kernel_name *found = name_get(kernels, name);

    if (!found)
        return -ENOMEM;
    found->ranks[rank].count++;
    found->ranks[rank].total_ns += dur_ns;
    return 0;
}

struct comparing {
    const size_t *peers;
    size_t nr;
    double *scratch;
    double total_ns, slow_ns, weighted, worst_ns;
};

static void compare_name(struct comparing *comparing, const struct kernel_name *name, size_t rank,
                         struct kernel_excess *ret)
{
    const struct rank_kernel *own = &name->ranks[rank];
    double own_mean = own->count ? (double)own->total_ns / (double)own->count : 0;

    for (size_t i = 0; i < comparing->nr; i++)
        comparing->scratch[i] = (double)name->ranks[comparing->peers[i]].count;
    double count = median_lower(comparing->scratch, comparing->nr);
    size_t nr = 0;
    for (size_t i = 0; i < comparing->nr; i++) {
        const struct rank_kernel *other = &name->ranks[comparing->peers[i]];
        if (other->count)
            comparing->scratch[nr++] = (double)other->total_ns / (double)other->count;
    }
    double mean = nr ? median_lower(comparing->scratch, nr) : own_mean;
    double more_ns = ((double)own->count - count) * mean, slower_ns = (double)own->count * (own_mean - mean);
    comparing->total_ns += (double)own->total_ns;
    ret->more_ns += more_ns;
    ret->slower_ns += slower_ns;
    if (own_mean > mean * TH_KERNEL_SLOWER) {
        comparing->slow_ns += (double)own->total_ns;
        comparing->weighted += (double)own->total_ns * own_mean / mean;
    }
    if (more_ns + slower_ns > comparing->worst_ns) {
        comparing->worst_ns = more_ns + slower_ns;
        ret->worst = name->text;
    }
}

bool rank_kernels_compare(const struct rank_kernels *kernels, size_t rank, const size_t *peers, size_t nr,
                          struct kernel_excess *ret)
{
    struct comparing comparing = {.peers = peers, .nr = nr, .scratch = malloc((nr + 1) * sizeof(double))};

    *ret = (struct kernel_excess){0};
    for (const struct kernel_name *name = kernels->names; name && nr && comparing.scratch; name = name->next)
        compare_name(&comparing, name, rank, ret);
    bool done = nr && comparing.scratch;
    free(comparing.scratch);
    ret->slow_share = comparing.total_ns > 0 ? comparing.slow_ns / comparing.total_ns : 0;
    ret->ratio = comparing.slow_ns > 0 ? comparing.weighted / comparing.slow_ns : 1;
    return done;
}
