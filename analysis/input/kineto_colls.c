/* kineto_colls.c - see kineto_colls.h. */
#include "analysis/input/kineto_colls.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/input/torch_words.h"
#include "analysis/model/map.h"

void kineto_colls_done(struct kineto_colls *colls)
{
    for (size_t i = 0; i < colls->nr; i++) {
        free(colls->groups[i].name);
        free(colls->groups[i].desc);
        free(colls->groups[i].ranks);
    }
    free(colls->groups);
    *colls = (struct kineto_colls){0};
}

/* ---- groups --------------------------------------------------------------------------------- */

/* "[0, 1, 2]" as "0,1,2"; "" if some are left out ("..."). */
static void plain_ranks(const char *said, char *to, size_t size)
{
    size_t len = 0;

    if (strlen(said) < size - 1 && !strstr(said, "..."))
        for (; *said; said++)
            if (isdigit((unsigned char)*said) || *said == ',')
                to[len++] = *said;
    to[len] = '\0';
}

static bool is_group(const struct kineto_group *group, const struct kineto_row *row, const char *ranks)
{
    return strcmp(group->name, row->group_name) == 0 && strcmp(group->ranks, ranks) == 0 &&
           group->size == row->group_size && group->first == row->group_first;
}

/* The number of the row's group, from 1; 0 if there are too many; -ENOMEM. */
static int group_of(struct kineto_colls *colls, const struct kineto_row *row)
{
    char ranks[KINETO_RANKS_SIZE];

    plain_ranks(row->group_ranks, ranks, sizeof(ranks));
    for (size_t i = 0; i < colls->nr; i++)
        if (is_group(&colls->groups[i], row, ranks))
            return (int)i + 1;
    if (!colls->groups)
        colls->groups = calloc(KINETO_GROUPS_MAX, sizeof(*colls->groups));
    if (!colls->groups)
        return -ENOMEM;
    if (colls->nr == KINETO_GROUPS_MAX)
        return 0;
    struct kineto_group *group = &colls->groups[colls->nr++];
    *group = (struct kineto_group){.name = strdup(row->group_name),
                                   .desc = strdup(row->group_desc),
                                   .ranks = strdup(ranks),
                                   .size = row->group_size,
                                   .first = row->group_first,
                                   .stride = row->group_stride,
                                   .numbered = true};
    return group->name && group->desc && group->ranks ? (int)colls->nr : -ENOMEM;
}

/* ---- calls ---------------------------------------------------------------------------------- */

static bool is_even(const struct kineto_row *row)
{
    return !row->in_split[0] || strcmp(row->in_split, "[]") == 0;
}

/* Elements that the rank gives. Of an uneven exchange: not known. */
static uint64_t elements_of(const struct kineto_row *row, uint8_t op)
{
    if (op == TR_coll_op_Scatter) /* only the root gives some */
        return row->out_elements > 0 ? (uint64_t)row->out_elements : 0;
    if (op == TR_coll_op_AlltoAll && !is_even(row))
        return 0;
    return row->in_elements > 0 ? (uint64_t)row->in_elements : row->input_elements;
}

uint64_t kineto_call_elements(const struct kineto_group *group, const struct kineto_call *call)
{
    bool in_parts = call->op == TR_coll_op_AlltoAll || call->op == TR_coll_op_ReduceScatter;

    if (call->op == TR_coll_op_AlltoAll && !group->leader->all_numbered && !group->leader->same_sizes)
        return 0;
    if (in_parts)
        return call->elements % (uint64_t)group->size == 0 ? call->elements / (uint64_t)group->size : 0;
    return call->elements;
}

int kineto_colls_take(struct kineto_colls *colls, const struct kineto_row *row, struct kineto_call *ret)
{
    bool annotated = strncmp(row->name, "nccl:", 5) == 0;
    const char *word = row->collective[0] ? row->collective : annotated ? row->name : "";
    uint8_t op = torch_coll_op(word);

    if (op == TR_coll_op_other)
        return 0;
    int group = group_of(colls, row);
    if (group <= 0)
        return group;
    *ret = (struct kineto_call){.elements = elements_of(row, op),
                                .seq = row->seq >= 0 && row->seq < INT32_MAX ? (uint32_t)row->seq : UINT32_MAX,
                                .group = (uint16_t)group,
                                .op = op,
                                .type = torch_nccl_type(row->type[0] ? row->type : row->input_type)};
    return 1;
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9e3779b97f4a7c15;
    return hash ^ hash >> 29;
}

void kineto_colls_count(struct kineto_colls *colls, const struct kineto_call *call)
{
    struct kineto_group *group = &colls->groups[call->group - 1];
    struct kineto_tally *tally = &group->tally;

    if (kineto_call_is_paired(call))
        return; /* they differ from rank to rank */
    bool free_size = call->op == TR_coll_op_AlltoAll;
    tally->nr++;
    tally->fixed = mix(mix(tally->fixed, call->op), free_size ? 0 : call->elements);
    tally->sizes = mix(tally->sizes, call->elements);
    group->numbered &= call->seq != UINT32_MAX;
}

void kineto_colls_settle(struct kineto_colls *colls, const struct kineto_about *about)
{
    for (size_t i = 0; i < colls->nr; i++) {
        struct kineto_group *group = &colls->groups[i];
        if (!group->name[0] && !group->ranks[0] && group->size == KINETO_UNKNOWN) {
            /* A call that names no group, among others that do, is of none that is known. */
            group->size = colls->nr == 1 ? about->world : KINETO_UNKNOWN;
            group->first = 0;
            group->stride = 1;
        }
        uint64_t known = map_hash(group->ranks, (uint64_t)group->first).lo ^ (uint64_t)group->size;
        group->id = map_hash(group->name, known).lo | 1;
    }
}

/* ---- all ranks ------------------------------------------------------------------------------ */

void kineto_group_join(struct kineto_group *group, struct kineto_group *leader, bool again)
{
    bool first = !leader;

    group->leader = leader = first ? group : leader;
    leader->all_numbered = (first || leader->all_numbered) && group->numbered;
    leader->same_calls = first || (leader->same_calls && !again && leader->tally.nr == group->tally.nr &&
                                   leader->tally.fixed == group->tally.fixed);
    leader->same_sizes = first || (leader->same_sizes && leader->tally.sizes == group->tally.sizes);
}

bool kineto_group_is_matched(const struct kineto_group *group)
{
    return group->leader && (group->leader->all_numbered || group->leader->same_calls);
}

int32_t kineto_group_place(const struct kineto_group *group, int32_t rank)
{
    int32_t place = 0;

    for (const char *at = group->ranks; *at; place++) {
        char *end;
        long number = strtol(at, &end, 10);
        if (end == at)
            return -1;
        if (number == rank)
            return place < group->size ? place : -1;
        at = *end == ',' ? end + 1 : end;
    }
    if (group->ranks[0] || group->first < 0 || group->stride <= 0 || rank < group->first)
        return -1;
    int64_t steps = (rank - group->first) / group->stride;
    return (rank - group->first) % group->stride == 0 && steps < group->size ? (int32_t)steps : -1;
}
