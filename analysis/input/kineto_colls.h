/* kineto_colls.h - the collectives of a Kineto trace: which process groups it has, and which call is which on all
 * ranks.
 *
 * A call is a `record_param_comms` that tells its group and size (PyTorch since 2024), or in older traces the
 * annotation "nccl:all_reduce": of that it is taken that its group is the whole job. What a rank counts as its third
 * call must be the third of the others. If all calls have PyTorch's own number (args.Seq), that is it. Else calls are
 * counted from the begin of the profile, and only if all ranks' profiles have the same ones in the same order: sums
 * over operations and sizes are compared, so that memory grows with groups, not with calls. Sends and Recvs are not
 * matched. One thread.
 */
#ifndef TRSHIM_ANALYSIS_KINETO_COLLS_H
#define TRSHIM_ANALYSIS_KINETO_COLLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/input/kineto_row.h"
#include "traces/events.h"

#define KINETO_GROUPS_MAX 4096 /* of one file; what comes later is left out */

/* What is compared between ranks. */
struct kineto_tally {
    uint64_t nr;
    uint64_t fixed; /* hash of operations, and of sizes that must be the same on all ranks */
    uint64_t sizes; /* of all sizes */
};

struct kineto_group {
    char *name, *desc, *ranks; /* owned; "" unknown */
    int64_t size, first, stride;
    uint64_t id; /* the same on all ranks; 0 until kineto_colls_settle */
    struct kineto_tally tally;
    bool numbered; /* all of its calls have a number */

    /* On the first file's group of that id, for all of them. */
    struct kineto_group *leader; /* NULL until kineto_group_join */
    bool all_numbered, same_calls, same_sizes;

    uint32_t nr_told; /* in the scan under way */
};

/* A call as the index keeps it. */
struct kineto_call {
    uint64_t elements; /* that the rank gives; of a Scatter that it gets; 0 unknown */
    uint32_t seq;
    uint16_t group; /* from 1; 0: no collective */
    uint8_t op, type;
};

/* Zeroed is empty. */
struct kineto_colls {
    struct kineto_group *groups; /* owned; NULL or full-sized: groups do not move */
    size_t nr;
};

void kineto_colls_done(struct kineto_colls *colls);

/* Whether the row is a call of a collective, Send or Recv: 1 with *ret, 0, or -ENOMEM. */
int kineto_colls_take(struct kineto_colls *colls, const struct kineto_row *row, struct kineto_call *ret);

/* Counts a call; in order of time. */
void kineto_colls_count(struct kineto_colls *colls, const struct kineto_call *call);

/* All calls were counted. */
void kineto_colls_settle(struct kineto_colls *colls, const struct kineto_about *about);

/* Lays the group of one more file beside that of the first with its id: NULL if it is the first. `again`: the same
 * rank has told of it in another file. */
void kineto_group_join(struct kineto_group *group, struct kineto_group *leader, bool again);

/* The place of a rank in it; -1 unknown. */
int32_t kineto_group_place(const struct kineto_group *group, int32_t rank);

/* Whether calls on it can be matched with the other ranks'. */
bool kineto_group_is_matched(const struct kineto_group *group);

/* Elements as in NCCL's call, that is for each other rank where it takes parts; 0 unknown, or (in profiles without
 * numbers) not the same on all ranks. Of a group that is matched. */
uint64_t kineto_call_elements(const struct kineto_group *group, const struct kineto_call *call);

static inline bool kineto_call_is_paired(const struct kineto_call *call)
{
    return call->op == TR_coll_op_Send || call->op == TR_coll_op_Recv;
}

#endif
