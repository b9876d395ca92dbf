/* hang.c - collects who is in which collective; see hang.h. */
#include "analysis/model/hang.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MEMBERS_MAX (1u << 20)

static struct map_key process_key(const struct event *event)
{
    return (struct map_key){event->host, event->u.who.pid};
}

static struct map_key comm_key(const struct event *event, uint32_t nr)
{
    return (struct map_key){(uint64_t)event->host << 32 | event->u.who.pid, nr};
}

static struct hang_rank *new_rank(struct hang *hang)
{
    struct hang_rank *rank = calloc(1, sizeof(*rank));

    if (!rank)
        return NULL;
    rank->number = -1;
    if (hang->last_rank)
        hang->last_rank->next = rank;
    else
        hang->ranks = rank;
    return hang->last_rank = rank;
}

static struct hang_rank *rank_of(struct hang *hang, const struct event *event)
{
    struct hang_rank *rank = map_find(&hang->by_process, process_key(event));

    if (rank || !(rank = new_rank(hang)))
        return rank;
    rank->host = event->host;
    rank->pid = event->u.who.pid;
    return map_put(&hang->by_process, process_key(event), rank) ? NULL : rank;
}

static struct hang_group *group_of(struct hang *hang, uint64_t id)
{
    struct map_key key = {1, id};
    struct hang_group *group = map_find(&hang->by_group, key);

    if (group || !(group = calloc(1, sizeof(*group))))
        return group;
    group->id = id;
    group->next = hang->groups;
    hang->groups = group;
    return map_put(&hang->by_group, key, group) ? NULL : group;
}

/* Room for so many members. Their number is known from the first who tells; a later, larger one is a mistake. */
static int size_group(struct hang_group *group, size_t nr)
{
    if (group->nr_members || nr == 0 || nr > MEMBERS_MAX)
        return 0;
    group->members = calloc(nr, sizeof(*group->members));
    if (!group->members)
        return -ENOMEM;
    group->nr_members = nr;
    for (size_t i = 0; i < nr; i++)
        group->members[i] = (struct hang_member){
            .group = group, .place = (uint32_t)i, .entered = HANG_UNKNOWN, .finished = HANG_UNKNOWN};
    return 0;
}

static int name_group(struct hang_group *group, const char *name)
{
    if (group->name || !name)
        return 0;
    group->name = strdup(name);
    return group->name ? 0 : -ENOMEM;
}

/* The process is the member at that place, and calls its communicator `nr`. */
static int join(struct hang *hang, const struct event *event, struct hang_group *group, int32_t place, uint32_t nr)
{
    struct hang_rank *rank = rank_of(hang, event);

    if (!rank)
        return -ENOMEM;
    if (place < 0 || (size_t)place >= group->nr_members)
        return 0;
    struct hang_member *member = &group->members[place];
    if (member->rank && !member->rank->ghost)
        return member->rank == rank ? map_put(&hang->by_comm, comm_key(event, nr), member) : 0;
    member->rank = rank;
    member->nr = nr;
    member->of_rank = rank->members;
    rank->members = member;
    return map_put(&hang->by_comm, comm_key(event, nr), member);
}

/* Whoever the others name as a member and who did not say a word himself. `scope` keeps jobs apart. */
static struct hang_rank *ghost_of(struct hang *hang, uint32_t scope, int number)
{
    struct map_key key = {scope, (uint64_t)number};
    struct hang_rank *ghost = map_find(&hang->by_ghost, key);

    if (ghost || !(ghost = new_rank(hang)))
        return ghost;
    ghost->host = scope;
    ghost->number = number;
    ghost->ghost = true;
    return map_put(&hang->by_ghost, key, ghost) ? NULL : ghost;
}

/* "0,1,8-11": calls for each number with its place. */
static int each_member(const char *ranks, int (*fn)(void *arg, size_t place, int number), void *arg)
{
    size_t place = 0;
    int rc = 0;

    for (const char *at = ranks; rc == 0 && *at;) {
        char *end;
        long first = strtol(at, &end, 10), last = first;
        if (end == at)
            break;
        if (*end == '-')
            last = strtol(end + 1, &end, 10);
        for (long number = first; rc == 0 && number <= last && place < MEMBERS_MAX; number++)
            rc = fn(arg, place++, (int)number);
        at = *end == ',' ? end + 1 : end;
    }
    return rc;
}

struct naming {
    struct hang *hang;
    struct hang_group *group;
    uint32_t scope;
};

static int count_member(void *arg, size_t place, int number)
{
    *(size_t *)arg = place + 1;
    return 0;
}

static int name_member(void *arg, size_t place, int number)
{
    struct naming *naming = arg;

    if (place >= naming->group->nr_members || naming->group->members[place].rank)
        return 0;
    struct hang_rank *ghost = ghost_of(naming->hang, naming->scope, number);
    if (ghost)
        naming->group->members[place].rank = ghost;
    return ghost ? 0 : -ENOMEM;
}

static int on_group(struct hang *hang, const struct event *event)
{
    const struct tr_nccl_group *row = &event->u.nccl_group;
    struct hang_group *group = group_of(hang, row->id);
    struct naming naming = {hang, group, event->host};
    size_t nr = 0;

    if (!group || name_group(group, row->name))
        return -ENOMEM;
    (void)each_member(row->ranks, count_member, &nr);
    int rc = size_group(group, nr);
    return rc ? rc : each_member(row->ranks, name_member, &naming);
}

static int on_comm(struct hang *hang, const struct event *event)
{
    const struct tr_nccl_comm *row = &event->u.nccl_comm;
    struct hang_group *group = row->id && row->nr && row->state == TR_nccl_state_made ? group_of(hang, row->id) : NULL;

    if (!row->id || !row->nr || row->state != TR_nccl_state_made)
        return 0;
    if (!group || (*row->name && name_group(group, row->name)))
        return -ENOMEM;
    int rc = row->nranks > 0 ? size_group(group, (size_t)row->nranks) : 0;
    return rc ? rc : join(hang, event, group, row->rank, row->nr);
}

static void raise_to(uint32_t *at, uint32_t to)
{
    if (to != HANG_UNKNOWN && (*at == HANG_UNKNOWN || to > *at))
        *at = to;
}

static void close_open(struct hang *hang, struct hang_member *member, const struct tr_open_coll *like);

static int on_open(struct hang *hang, const struct event *event)
{
    const struct tr_open_coll *row = &event->u.open_coll;
    struct hang_member *member = map_find(&hang->by_comm, comm_key(event, row->nr));

    if (!member)
        return 0;
    if (row->done) {
        close_open(hang, member, row);
        return 0;
    }
    struct hang_open *open = (struct hang_open *)hang_open_of(member, row);
    if (open) { /* told again while it lasts */
        open->call.age_ns = row->age_ns;
        open->call.started |= row->started;
        return 0;
    }
    open = calloc(1, sizeof(*open));
    if (!open)
        return -ENOMEM;
    open->member = member;
    open->call = *row;
    open->call.what = strdup(row->what);
    open->call.frames = strdup(row->frames);
    if (member->rank->last_open)
        member->rank->last_open->next = open;
    else
        member->rank->opens = open;
    member->rank->last_open = open;
    hang->nr_open++;
    if (!hang_is_p2p(row))
        raise_to(&member->entered, row->ordinal);
    return open->call.what && open->call.frames ? 0 : -ENOMEM;
}

/* Forgets an open call that turned out to be done after all. */
static void close_open(struct hang *hang, struct hang_member *member, const struct tr_open_coll *like)
{
    struct hang_open **at = &member->rank->opens, *before = NULL;

    for (; *at; before = *at, at = &(*at)->next) {
        struct hang_open *open = *at;
        if (open->member != member || open->call.ordinal != like->ordinal || open->call.op != like->op ||
            (hang_is_p2p(like) && open->call.peer != like->peer))
            continue;
        *at = open->next;
        if (member->rank->last_open == open)
            member->rank->last_open = before;
        free((char *)open->call.what);
        free((char *)open->call.frames);
        free(open);
        hang->nr_open--;
        return;
    }
}

static int on_coll(struct hang *hang, const struct event *event)
{
    const struct tr_coll *row = &event->u.coll;
    struct hang_member *member = map_find(&hang->by_comm, comm_key(event, row->nr));
    struct tr_open_coll like = {.op = row->op, .ordinal = row->ordinal, .peer = row->peer};

    /* The plugin alone counts by function: its numbers are no places in a sequence. */
    if (!member || !(row->how & 1) || row->how & 8)
        return 0;
    if (!hang_is_p2p(&like))
        raise_to(&member->entered, row->ordinal);
    if (member->rank->opens)
        close_open(hang, member, &like);
    return 0;
}

static int on_status(struct hang *hang, const struct event *event)
{
    const struct tr_coll_status *row = &event->u.coll_status;
    struct hang_member *member = map_find(&hang->by_comm, comm_key(event, row->nr));
    struct hang_open *next;

    if (!member)
        return 0;
    raise_to(&member->entered, row->entered);
    raise_to(&member->finished, row->finished);
    for (struct hang_open *open = member->rank->opens; open && row->finished != HANG_UNKNOWN; open = next) {
        struct tr_open_coll call = open->call;
        next = open->next;
        if (open->member == member && !hang_is_p2p(&call) && call.ordinal <= row->finished)
            close_open(hang, member, &call);
    }
    return 0;
}

int hang_event(struct hang *hang, const struct event *event)
{
    struct hang_rank *rank;

    switch (event->kind) {
    case EV_proc:
        rank = rank_of(hang, event);
        if (rank && event->u.proc.rank >= 0)
            rank->number = event->u.proc.rank;
        return rank ? 0 : -ENOMEM;
    case EV_nccl_group:
        return on_group(hang, event);
    case EV_nccl_comm:
        return on_comm(hang, event);
    case EV_open_coll:
        return on_open(hang, event);
    case EV_coll:
        return on_coll(hang, event);
    case EV_coll_status:
        return on_status(hang, event);
    default:
        return 0;
    }
}

const struct hang_open *hang_open_of(const struct hang_member *member, const struct tr_open_coll *like)
{
    for (const struct hang_open *open = member->rank ? member->rank->opens : NULL; open; open = open->next)
        if (open->member == member && open->call.ordinal == like->ordinal &&
            hang_is_p2p(&open->call) == hang_is_p2p(like) &&
            (!hang_is_p2p(like) || (open->call.peer == like->peer && open->call.op == like->op)))
            return open;
    return NULL;
}

void hang_done(struct hang *hang)
{
    while (hang->ranks) {
        struct hang_rank *next = hang->ranks->next;
        while (hang->ranks->opens) {
            struct hang_open *after = hang->ranks->opens->next;
            free((char *)hang->ranks->opens->call.what);
            free((char *)hang->ranks->opens->call.frames);
            free(hang->ranks->opens);
            hang->ranks->opens = after;
        }
        free(hang->ranks);
        hang->ranks = next;
    }
    while (hang->groups) {
        struct hang_group *next = hang->groups->next;
        free(hang->groups->name);
        free(hang->groups->members);
        free(hang->groups);
        hang->groups = next;
    }
    while (hang->waits) {
        struct hang_wait *next = hang->waits->next;
        free(hang->waits->absent);
        free(hang->waits->held);
        free(hang->waits);
        hang->waits = next;
    }
    map_done(&hang->by_call);
    map_done(&hang->by_process);
    map_done(&hang->by_group);
    map_done(&hang->by_comm);
    map_done(&hang->by_ghost);
    free(hang->culprits);
    *hang = (struct hang){0};
}
