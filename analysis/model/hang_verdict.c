/* hang_verdict.c - who is to blame for what does not go on; see hang.h.
 *
 * A rank is held by the first of its open calls. That call waits for its members that have not entered it, and for
 * those that have but are held by an earlier call themselves. Following this, one arrives at a rank that is in no call:
 * it never came (absent), or nothing is known of it (silent); a rank in a call that all others have finished: its GPU
 * does not finish (unfinished); a call that all members are in, and none finishes: the network or the GPU, nobody's
 * program (stuck); the rank one came from: two orders of calls (order). Different calls with one number come first:
 * they explain what follows them (mismatch). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/model/hang.h"

/* ---- where a member is, as seen from a call ------------------------------------------------- */

enum place { PLACE_absent, PLACE_held, PLACE_in, PLACE_done };

static uint32_t first_open_ordinal(const struct hang_member *member)
{
    for (const struct hang_open *open = member->rank->opens; open; open = open->next)
        if (open->member == member && !hang_is_p2p(&open->call))
            return open->call.ordinal;
    return HANG_UNKNOWN;
}

static bool has_finished(const struct hang_member *member, uint32_t ordinal)
{
    uint32_t first = first_open_ordinal(member);

    if (member->finished != HANG_UNKNOWN && ordinal <= member->finished)
        return true;
    if (member->entered == HANG_UNKNOWN || ordinal > member->entered)
        return false;
    return first == HANG_UNKNOWN ? member->finished == HANG_UNKNOWN : ordinal < first;
}

/* Whether nothing that was called earlier holds this one up. Sends and receives of one communicator are launched
 * together as a rule, in any order. */
static bool is_current(const struct hang_open *open)
{
    for (const struct hang_open *at = open->member->rank->opens; at != open; at = at->next)
        if (!hang_is_p2p(&open->call) || !hang_is_p2p(&at->call) || at->member->group != open->member->group)
            return false;
    return true;
}

static enum place place_in_collective(const struct hang_member *member, const struct tr_open_coll *call)
{
    const struct hang_open *open = hang_open_of(member, call);

    if (open)
        return is_current(open) ? PLACE_in : PLACE_held;
    return member->rank && has_finished(member, call->ordinal) ? PLACE_done : PLACE_absent;
}

/* The other end of a Send or Recv: their numbers are each rank's own, so any open call that fits is the one. */
static enum place place_at_other_end(const struct hang_member *peer, const struct hang_open *mine)
{
    enum tr_coll_op op = mine->call.op == TR_coll_op_Send ? TR_coll_op_Recv : TR_coll_op_Send;

    for (const struct hang_open *open = peer->rank ? peer->rank->opens : NULL; open; open = open->next)
        if (open->member == peer && open->call.op == op && open->call.peer == (int32_t)mine->member->place)
            return is_current(open) ? PLACE_in : PLACE_held;
    return PLACE_absent;
}

/* ---- what a call waits for ------------------------------------------------------------------ */

static void sort_in(struct hang_wait *wait, struct hang_member *member, enum place place)
{
    if (place == PLACE_absent)
        wait->absent[wait->nr_absent++] = member;
    else if (place == PLACE_held)
        wait->held[wait->nr_held++] = member;
    else if (place == PLACE_in)
        wait->nr_in++;
    else
        wait->nr_done++;
}

static struct hang_wait *new_wait(struct hang *hang, const struct hang_open *open)
{
    struct hang_group *group = open->member->group;
    bool p2p = hang_is_p2p(&open->call);
    size_t room = p2p ? 1 : group->nr_members;
    struct hang_wait *wait = calloc(1, sizeof(*wait));

    if (!wait)
        return NULL;
    wait->next = hang->waits;
    hang->waits = wait;
    wait->call = open;
    wait->absent = calloc(room + 1, sizeof(struct hang_member *));
    wait->held = calloc(room + 1, sizeof(struct hang_member *));
    if (!wait->absent || !wait->held)
        return NULL;
    for (size_t i = 0; !p2p && i < group->nr_members; i++)
        sort_in(wait, &group->members[i], place_in_collective(&group->members[i], &open->call));
    if (p2p && open->call.peer >= 0 && (size_t)open->call.peer < group->nr_members) {
        struct hang_member *peer = &group->members[open->call.peer];
        sort_in(wait, peer, place_at_other_end(peer, open));
    }
    return wait;
}

/* Collectives are worked out once for all that are in them; a Send or Recv is its rank's own. */
static int set_wait(struct hang *hang, struct hang_rank *rank)
{
    const struct hang_open *open = rank->opens;
    struct map_key key = {(uintptr_t)open->member->group, open->call.ordinal};
    bool shared = !hang_is_p2p(&open->call);

    rank->wait = shared ? map_find(&hang->by_call, key) : NULL;
    if (!rank->wait) {
        rank->wait = new_wait(hang, open);
        if (!rank->wait || (shared && map_put(&hang->by_call, key, rank->wait)))
            return -ENOMEM;
    }
    rank->wait->nr_waiting++;
    return 0;
}

/* ---- culprits ------------------------------------------------------------------------------- */

static int blame(struct hang *hang, struct hang_rank *rank, enum hang_why why, const struct hang_wait *wait)
{
    struct hang_culprit culprit = {.rank = rank,
                                   .why = why,
                                   .group = wait->call->member->group,
                                   .ordinal = wait->call->call.ordinal,
                                   .call = wait->call,
                                   .other = rank->opens,
                                   .nr_waiting = wait->nr_waiting};

    for (size_t i = 0; i < hang->nr_culprits; i++)
        if (hang->culprits[i].rank == rank) { /* shown by the call that most stand in */
            struct hang_culprit *known = &hang->culprits[i];
            bool better =
                known->why == why &&
                (culprit.nr_waiting > known->nr_waiting ||
                 (culprit.nr_waiting == known->nr_waiting && culprit.call->call.start_ns < known->call->call.start_ns));
            if (better)
                *known = culprit;
            return 0;
        }
    if (hang->nr_culprits == hang->capacity) {
        size_t capacity = hang->capacity ? hang->capacity * 2 : 8;
        struct hang_culprit *larger = realloc(hang->culprits, capacity * sizeof(*larger));
        if (!larger)
            return -ENOMEM;
        hang->culprits = larger;
        hang->capacity = capacity;
    }
    hang->culprits[hang->nr_culprits++] = culprit;
    return 0;
}

static int blame_ends(struct hang *hang, struct hang_rank *rank)
{
    const struct hang_wait *wait = rank->wait;
    int rc = 0;

    for (size_t i = 0; i < wait->nr_absent && rc == 0; i++) {
        struct hang_rank *other = wait->absent[i]->rank;
        if (other && !other->opens)
            rc = blame(hang, other, other->ghost ? HANG_silent : HANG_absent, wait);
    }
    if (rc == 0 && !hang_is_p2p(&rank->opens->call) && !wait->nr_absent && !wait->nr_held && wait->nr_in == 1 &&
        wait->nr_done)
        rc = blame(hang, rank, HANG_unfinished, wait);
    return rc;
}

static void find_stuck(struct hang *hang)
{
    for (const struct hang_wait *wait = hang->waits; wait; wait = wait->next)
        if (!wait->nr_absent && !wait->nr_held && wait->nr_in &&
            (!hang->stuck || wait->call->call.start_ns < hang->stuck->call.start_ns))
            hang->stuck = wait->call;
}

/* ---- different orders ----------------------------------------------------------------------- */

/* From the rank over calls that others have not entered; true if that leads back to it. */
static bool leads_back(struct hang *hang, struct hang_rank *from)
{
    bool found = false, more = true;

    for (struct hang_rank *rank = hang->ranks; rank; rank = rank->next)
        rank->marked = false;
    from->marked = true;
    while (more && !found) {
        more = false;
        for (struct hang_rank *rank = hang->ranks; rank && !found; rank = rank->next)
            for (size_t i = 0; rank->marked && rank->wait && i < rank->wait->nr_absent && !found; i++) {
                struct hang_rank *other = rank->wait->absent[i]->rank;
                found = other == from;
                more |= other && !other->marked;
                if (other)
                    other->marked = true;
            }
    }
    return found;
}

static int blame_orders(struct hang *hang)
{
    int rc = 0;

    for (struct hang_rank *rank = hang->ranks; rank && rc == 0; rank = rank->next)
        if (rank->wait && rank->wait->nr_absent && leads_back(hang, rank))
            rc = blame(hang, rank, HANG_order, rank->wait);
    return rc;
}

/* ---- different calls ------------------------------------------------------------------------ */

/* NCCL asks for one size on all ranks; frameworks allow lists of different sizes, under names of their own. */
static bool one_size(const struct tr_open_coll *call)
{
    bool sliced = call->op == TR_coll_op_AllGather || call->op == TR_coll_op_ReduceScatter;

    return call->op == TR_coll_op_AllReduce || call->op == TR_coll_op_Broadcast || call->op == TR_coll_op_Reduce ||
           (sliced && (!*call->what || strstr(call->what, "_base") || strstr(call->what, "tensor")));
}

static bool same_call(const struct tr_open_coll *a, const struct tr_open_coll *b)
{
    if (a->op != b->op)
        return false;
    if (a->op == TR_coll_op_other)
        return strcmp(a->what, b->what) == 0;
    if (!one_size(a) || !one_size(b))
        return true;
    return (a->type == 255 || b->type == 255 || a->type == b->type) && (!a->count || !b->count || a->count == b->count);
}

/* Of the members that are in a call of that number: those in what fewer are in. Both of two. */
static int blame_odd_ones(struct hang *hang, struct hang_group *group, const struct tr_open_coll *like,
                          const struct hang_wait *wait)
{
    const struct hang_open *most = NULL;
    size_t nr_most = 0, nr_in = 0;
    int rc = 0;

    for (size_t i = 0; i < group->nr_members; i++) {
        const struct hang_open *open = hang_open_of(&group->members[i], like);
        size_t nr = 0;
        for (size_t j = 0; open && j < group->nr_members; j++) {
            const struct hang_open *other = hang_open_of(&group->members[j], like);
            nr += other && same_call(&open->call, &other->call);
        }
        nr_in += open != NULL;
        if (nr > nr_most) {
            nr_most = nr;
            most = open;
        }
    }
    for (size_t i = 0; i < group->nr_members && nr_most < nr_in && rc == 0; i++) {
        const struct hang_open *open = hang_open_of(&group->members[i], like);
        if (!open || (nr_most * 2 > nr_in && same_call(&open->call, &most->call)))
            continue;
        rc = blame(hang, open->member->rank, HANG_mismatch, wait);
        struct hang_culprit *culprit = &hang->culprits[hang->nr_culprits - 1];
        if (rc == 0 && culprit->rank == open->member->rank) {
            culprit->call = most;
            culprit->other = open == most ? NULL : open;
        }
    }
    return rc;
}

/* Whether members that are in it differ; the first such call of a communicator explains the later ones. */
static bool differs(const struct hang_wait *wait)
{
    const struct hang_open *first = wait->call;
    const struct hang_group *group = first->member->group;

    for (size_t i = 0; i < group->nr_members; i++) {
        const struct hang_open *open = hang_open_of(&group->members[i], &first->call);
        if (open && !same_call(&first->call, &open->call))
            return true;
    }
    return false;
}

static int blame_mismatches(struct hang *hang)
{
    int rc = 0;

    for (const struct hang_wait *wait = hang->waits; wait && rc == 0; wait = wait->next)
        if (!hang_is_p2p(&wait->call->call) && differs(wait))
            rc = blame_odd_ones(hang, wait->call->member->group, &wait->call->call, wait);
    return rc;
}

/* ---- the verdict ---------------------------------------------------------------------------- */

static int by_call(const void *a, const void *b)
{
    const struct hang_culprit *x = a, *y = b;

    if (x->why != y->why)
        return x->why < y->why ? -1 : 1;
    if (x->nr_waiting != y->nr_waiting)
        return x->nr_waiting > y->nr_waiting ? -1 : 1;
    if (x->group != y->group)
        return x->group->id < y->group->id ? -1 : 1;
    return x->ordinal != y->ordinal ? (x->ordinal < y->ordinal ? -1 : 1) : x->rank->number - y->rank->number;
}

/* A process that did not say its rank goes by its place in the largest communicator. */
static void number(struct hang_rank *rank)
{
    size_t nr_most = 0;

    for (const struct hang_member *member = rank->number < 0 ? rank->members : NULL; member; member = member->of_rank)
        if (member->group->nr_members > nr_most) {
            nr_most = member->group->nr_members;
            rank->number = (int)member->place;
        }
}

int hang_judge(struct hang *hang)
{
    int rc = 0;

    for (struct hang_rank *rank = hang->ranks; rank; rank = rank->next)
        number(rank);

    for (struct hang_rank *rank = hang->ranks; rank && rc == 0; rank = rank->next)
        rc = rank->opens ? set_wait(hang, rank) : 0;
    rc = rc ? rc : blame_mismatches(hang);
    for (struct hang_rank *rank = hang->ranks;
         rank && rc == 0 && !(hang->nr_culprits && hang->culprits[0].why == HANG_mismatch); rank = rank->next)
        rc = rank->wait ? blame_ends(hang, rank) : 0;
    if (rc == 0 && !hang->nr_culprits)
        rc = blame_orders(hang);
    if (rc == 0 && !hang->nr_culprits)
        find_stuck(hang);
    if (hang->nr_culprits)
        qsort(hang->culprits, hang->nr_culprits, sizeof(*hang->culprits), by_call);
    return rc;
}

static bool waits_for_marked(const struct hang_wait *wait)
{
    for (size_t i = 0; i < wait->nr_absent; i++)
        if (wait->absent[i]->rank && wait->absent[i]->rank->marked)
            return true;
    for (size_t i = 0; i < wait->nr_held; i++)
        if (wait->held[i]->rank && wait->held[i]->rank->marked)
            return true;
    return false;
}

/* Whether another member of the call it is in is marked: they go on together or not at all. */
static bool shares_with_marked(const struct hang_rank *rank)
{
    const struct hang_group *group = rank->opens->member->group;
    int32_t peer = rank->opens->call.peer;

    if (hang_is_p2p(&rank->opens->call))
        return peer >= 0 && (size_t)peer < group->nr_members && group->members[peer].rank &&
               group->members[peer].rank->marked;
    for (size_t i = 0; i < group->nr_members; i++)
        if (group->members[i].rank && group->members[i].rank != rank && group->members[i].rank->marked &&
            hang_open_of(&group->members[i], &rank->opens->call))
            return true;
    return false;
}

void hang_mark_victims(struct hang *hang, const struct hang_rank *culprit)
{
    bool more = true;

    for (struct hang_rank *rank = hang->ranks; rank; rank = rank->next)
        rank->marked = rank == culprit;
    while (more) {
        more = false;
        for (struct hang_rank *rank = hang->ranks; rank; rank = rank->next)
            if (!rank->marked && rank->wait && (waits_for_marked(rank->wait) || shares_with_marked(rank)))
                rank->marked = more = true;
    }
    for (struct hang_rank *rank = hang->ranks; rank; rank = rank->next)
        rank->marked &= rank != culprit;
}
