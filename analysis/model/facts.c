/* facts.c - see facts.h. */
#include "analysis/model/facts.h"

#include <stdlib.h>

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
