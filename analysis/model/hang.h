/* hang.h - who is in which collective: what does not go on, and whose fault that is.
 *
 * Filled from events of a framework's flight recorder or of our own watchdog (nccl_group, nccl_comm, coll_status,
 * open_coll, coll); judged at the end. A rank that is in a collective waits for the members that are not; those may
 * wait themselves, in another communicator; who is at the end of all such chains and waits for nobody is to blame.
 * Numbers of calls are compared within one communicator only. Memory grows with ranks, communicators and open calls. */
#ifndef TRSHIM_ANALYSIS_MODEL_HANG_H
#define TRSHIM_ANALYSIS_MODEL_HANG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/event.h"
#include "analysis/model/map.h"

#define HANG_UNKNOWN UINT32_MAX

/* A rank: a process, or somebody whom others name as a member but who was not heard of. */
struct hang_rank {
    struct hang_rank *next;
    uint32_t host, pid; /* of a ghost: 0, 0 */
    int number;         /* global rank, -1 not known */
    bool ghost;
    struct hang_open *opens, *last_open; /* in the order of the calls */
    struct hang_member *members;         /* of it, in all its groups */
    struct hang_wait *wait;              /* of its first open call; the verdict's */
    bool marked;                         /* scratch */
};

/* A rank in a communicator. */
struct hang_member {
    struct hang_member *of_rank; /* next group of the same rank */
    struct hang_rank *rank;      /* NULL: nobody is known to be it */
    struct hang_group *group;
    uint32_t nr;       /* what its process calls the communicator */
    uint32_t place;    /* rank in the communicator */
    uint32_t entered;  /* ordinal of its last call, HANG_UNKNOWN */
    uint32_t finished; /* of the last that is done, HANG_UNKNOWN */
};

struct hang_group {
    struct hang_group *next;
    uint64_t id;
    char *name;                  /* owned; "" not known */
    struct hang_member *members; /* owned; by place */
    size_t nr_members;
};

/* A call that is open: entered, not known to be done. */
struct hang_open {
    struct hang_open *next;
    struct hang_member *member;
    struct tr_open_coll call; /* what and frames owned */
};

/* Members that a call waits for, worked out once for all that are in it. */
struct hang_wait {
    struct hang_wait *next;
    const struct hang_open *call; /* of one that is in it */
    struct hang_member **absent;  /* owned: have not entered it */
    struct hang_member **held;    /* owned: entered it, but an earlier call of theirs comes first */
    size_t nr_absent, nr_held, nr_in, nr_done;
    size_t nr_waiting; /* ranks whose first open call it is */
};

/* Why a rank is at the end of a chain. */
enum hang_why {
    HANG_absent,     /* others wait for it in a call it did not enter, and it waits for nobody */
    HANG_unfinished, /* all others are done with the call it is in */
    HANG_silent,     /* a member of whom nothing was recorded */
    HANG_mismatch,   /* it entered another call than the others */
    HANG_order,      /* it and others wait for each other in different calls */
};

struct hang_culprit {
    struct hang_rank *rank;
    enum hang_why why;
    const struct hang_group *group; /* whose call stands */
    uint32_t ordinal;
    const struct hang_open *call;  /* that call, as somebody who is in it told */
    const struct hang_open *other; /* what the culprit itself is in, NULL nothing */
    size_t nr_waiting;             /* ranks whose first open call it is */
};

struct hang {
    struct hang_rank *ranks, *last_rank; /* owned */
    struct hang_group *groups;           /* owned */
    struct map by_process, by_group, by_comm, by_ghost;
    size_t nr_open;

    /* The verdict. */
    struct hang_culprit *culprits; /* owned; those of one call and reason follow each other */
    size_t nr_culprits, capacity;
    struct hang_wait *waits; /* owned */
    struct map by_call;
    const struct hang_open *stuck; /* all members are in it and none is done: nobody to blame; NULL */
};

int hang_event(struct hang *hang, const struct event *event); /* 0 or -ENOMEM */

/* Nothing more comes: fills the verdict (hang_verdict.c). 0 or -ENOMEM. */
int hang_judge(struct hang *hang);

/* Marks the ranks that wait for it, over others or not; itself not. */
void hang_mark_victims(struct hang *hang, const struct hang_rank *culprit);

void hang_done(struct hang *hang);

/* The open call of a member with that ordinal and, for Send and Recv, that peer and way; NULL. */
const struct hang_open *hang_open_of(const struct hang_member *member, const struct tr_open_coll *like);

static inline bool hang_is_p2p(const struct tr_open_coll *call)
{
    return call->op == TR_coll_op_Send || call->op == TR_coll_op_Recv;
}

#endif
