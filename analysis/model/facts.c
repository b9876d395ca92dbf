/* facts.c - see facts.h. */
#include "analysis/model/facts.h"

#include <stdlib.h>

#include "analysis/model/groups.h"
#include "analysis/model/job.h"
#include "analysis/model/memory.h"

struct facts *facts_new(void)
{
    return calloc(1, sizeof(struct facts));
}

void facts_free(struct facts *facts)
{
    if (!facts)
        return;
    for (size_t i = 0; i < facts->nr_ranks; i++)
        free(facts->ranks[i].waits);
    for (struct memory *memory = facts->memory, *next; memory; memory = next) {
        next = memory->next;
        heap_done(&memory->heap);
        free(memory->owners);
        free(memory->sites);
        free(memory->failures);
        free(memory);
    }
    free(facts->ranks);
    free(facts->loaders);
    free(facts->groups);
    free(facts);
}

const struct rank_facts *facts_rank(const struct facts *facts, const struct rank *rank)
{
    for (size_t i = 0; i < facts->nr_ranks; i++)
        if (facts->ranks[i].rank == rank)
            return &facts->ranks[i];
    return NULL;
}

static uint64_t busy_of(const struct loader_facts *loader)
{
    return loader->span_ns > loader->idle_ns ? loader->span_ns - loader->idle_ns : 0;
}

static int by_time(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Most of one rank's loaders that were there at one time; they are list[0..nr), in order of start. */
static size_t most_alive(const struct loader_facts *list, size_t nr)
{
    uint64_t *ends = malloc((nr + 1) * sizeof(*ends));
    size_t most = 0, ended = 0;
    if (!ends)
        return nr;
    for (size_t i = 0; i < nr; i++)
        ends[i] = list[i].process->exit_ns ? list[i].process->exit_ns : UINT64_MAX;
    qsort(ends, nr, sizeof(*ends), by_time);
    for (size_t i = 0; i < nr; i++) {
        while (ended < nr && ends[ended] <= list[i].process->start_ns)
            ended++;
        most = i + 1 - ended > most ? i + 1 - ended : most;
    }
    free(ends);
    return most;
}

/* The same for a rank, or the most that any rank has. Loaders are in order of rank and start. */
static size_t most_at_once(const struct facts *facts, const struct rank *rank)
{
    size_t most = 0, begin = 0;
    for (size_t i = 1; i <= facts->nr_loaders; i++) {
        if (i < facts->nr_loaders && facts->loaders[i].rank == facts->loaders[begin].rank)
            continue;
        size_t alive = !rank || facts->loaders[begin].rank == rank ? most_alive(&facts->loaders[begin], i - begin) : 0;
        most = alive > most ? alive : most;
        begin = i;
    }
    return most;
}

struct loader_sum facts_loaders(const struct facts *facts, const struct rank *rank)
{
    struct loader_sum sum = {.at_once = most_at_once(facts, rank)};
    double slowest = 0;
    for (size_t i = 0; i < facts->nr_loaders; i++) {
        const struct loader_facts *loader = &facts->loaders[i];
        if (rank && loader->rank != rank)
            continue;
        sum.nr++;
        sum.span_ns += loader->span_ns;
        sum.busy_ns += busy_of(loader);
        sum.read_ns += loader->read_ns;
        sum.meta_ns += loader->meta_ns;
        sum.recv_ns += loader->recv_ns;
        sum.blocked_ns += loader->sleep_ns + loader->other_wait_ns;
        sum.idle_ns += loader->idle_ns;
        sum.cpu_ns += loader->cpu_ns;
        sum.runnable_ns += loader->runnable_ns;
        sum.batches += loader->batches;
        sum.batch_bytes += loader->batch_bytes;
        sum.bytes += loader->bytes;
        double each = loader->batches ? (double)busy_of(loader) / (double)loader->batches : 0;
        if (each > slowest) {
            slowest = each;
            sum.slowest = loader;
        }
    }
    return sum;
}

const struct group_facts *facts_slowest_group(const struct facts *facts, uint32_t host, bool peer)
{
    const struct group_facts *best = NULL;
    for (size_t i = 0; i < facts->nr_groups; i++) {
        const struct group_facts *group = &facts->groups[i];
        if (group->group->host != host || (group->group->kind == GROUP_PEER) != peer)
            continue;
        if (!best || group->read_ns + group->meta_ns > best->read_ns + best->meta_ns)
            best = group;
    }
    return best;
}
