/* instances.c - see instances.h. */
#include "analysis/model/instances.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/model/communicators.h"
#include "analysis/model/job.h"
#include "analysis/pass/thresholds.h"

void instances_done(struct instances *all)
{
    for (struct instance *instance = all->oldest, *next; instance; instance = next) {
        next = instance->newer;
        if (instance->sides != &instance->first)
            free(instance->sides);
        free(instance);
    }
    free(all->slots);
    clock_map_done(&all->clock);
    *all = (struct instances){0};
}

/* ---- what a call is ----------------------------------------------------------------------- */

unsigned nccl_type_bytes(uint8_t type)
{
    static const uint8_t bytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
    return type < sizeof(bytes) ? bytes[type] : 0;
}

uint64_t nccl_call_bytes(uint8_t op, uint8_t type, uint64_t count, int32_t nranks)
{
    uint64_t bytes = count * nccl_type_bytes(type);
    switch (op) {
    case TR_coll_op_AllGather:
    case TR_coll_op_ReduceScatter:
    case TR_coll_op_AlltoAll:
    case TR_coll_op_Gather:
    case TR_coll_op_Scatter:
        return bytes * (uint64_t)nranks;
    default:
        return bytes;
    }
}

static enum instance_rule rule_of(uint8_t op)
{
    switch (op) {
    case TR_coll_op_AllReduce:
    case TR_coll_op_AllGather:
    case TR_coll_op_ReduceScatter:
    case TR_coll_op_AlltoAll:
        return RULE_ALL;
    case TR_coll_op_Broadcast:
    case TR_coll_op_Scatter:
        return RULE_ROOT;
    case TR_coll_op_Reduce:
    case TR_coll_op_Gather:
        return RULE_GATHER;
    case TR_coll_op_Send:
    case TR_coll_op_Recv:
        return RULE_PAIR;
    default:
        return RULE_NONE;
    }
}

/* ---- the table ---------------------------------------------------------------------------- */

static size_t slot_of(const struct instances *all, const uint64_t key[2])
{
    uint64_t hash = key[0] * 0x9e3779b97f4a7c15 ^ key[1] * 0xc2b2ae3d27d4eb4f;
    return (size_t)(hash ^ hash >> 29) & (all->nr_slots - 1);
}

static void unlink_slot(struct instances *all, struct instance *instance)
{
    struct instance **at = &all->slots[slot_of(all, instance->key)];
    while (*at != instance)
        at = &(*at)->chain;
    *at = instance->chain;
}

static void drop(struct instances *all, struct instance *instance)
{
    unlink_slot(all, instance);
    if (instance->older)
        instance->older->newer = instance->newer;
    else
        all->oldest = instance->newer;
    if (instance->newer)
        instance->newer->older = instance->older;
    else
        all->newest = instance->older;
    if (instance->sides != &instance->first)
        free(instance->sides);
    free(instance);
    all->nr--;
}

static int grow(struct instances *all)
{
    size_t nr = all->nr_slots ? all->nr_slots * 2 : 1024;
    struct instance **slots = calloc(nr, sizeof(struct instance *));
    if (!slots)
        return -ENOMEM;
    free(all->slots);
    all->slots = slots;
    all->nr_slots = nr;
    for (struct instance *instance = all->oldest; instance; instance = instance->newer) {
        struct instance **at = &slots[slot_of(all, instance->key)];
        instance->chain = *at;
        *at = instance;
    }
    return 0;
}

static void make_room(struct instances *all)
{
    for (struct instance *instance = all->oldest, *next; instance && all->nr >= INSTANCES_MAX; instance = next) {
        next = instance->newer;
        if (instance->refs)
            continue;
        drop(all, instance);
        all->nr_dropped++;
    }
}

static struct instance *find(const struct instances *all, const uint64_t key[2])
{
    struct instance *instance = all->nr_slots ? all->slots[slot_of(all, key)] : NULL;
    while (instance && (instance->key[0] != key[0] || instance->key[1] != key[1]))
        instance = instance->chain;
    return instance;
}

static struct instance *add(struct instances *all, const uint64_t key[2])
{
    if (all->nr >= INSTANCES_MAX)
        make_room(all);
    if (all->nr >= all->nr_slots && grow(all))
        return NULL;
    struct instance *instance = calloc(1, sizeof(*instance));
    if (!instance)
        return NULL;
    struct instance **at = &all->slots[slot_of(all, key)];
    *instance = (struct instance){.chain = *at, .older = all->newest, .key = {key[0], key[1]}};
    *at = instance;
    if (all->newest)
        all->newest->newer = instance;
    else
        all->oldest = instance;
    all->nr++;
    return all->newest = instance;
}

/* ---- calls -------------------------------------------------------------------------------- */

static void note_mismatch(struct instances *all, struct instance *instance, const struct instance_call *call,
                          uint64_t bytes)
{
    struct instance_desync *desync = &all->desync;
    desync->nr += !instance->mismatch;
    instance->mismatch = true;
    if (desync->comm)
        return;
    *desync = (struct instance_desync){.comm = instance->comm,
                                       .first = instance->caller,
                                       .second = call->handle,
                                       .first_op = instance->op,
                                       .second_op = call->op,
                                       .first_bytes = instance->bytes,
                                       .second_bytes = bytes,
                                       .ordinal = instance->ordinal,
                                       .nr = desync->nr};
}

/* Who sends and who receives; false if that is not known. */
static bool pair_of(const struct instance_call *call, int32_t *ret_source, int32_t *ret_target)
{
    bool sends = call->op == TR_coll_op_Send;
    int32_t nranks = call->handle->comm->nranks;
    if (call->peer < 0 || call->peer >= nranks)
        return false;
    *ret_source = sends ? call->handle->rank : call->peer;
    *ret_target = sends ? call->peer : call->handle->rank;
    return true;
}

int instances_call(struct instances *all, const struct instance_call *call, struct instance **ret)
{
    struct communicator *comm = call->handle->comm;
    enum instance_rule rule = rule_of(call->op);
    int32_t root = call->peer, other = -1;
    if (!comm || rule == RULE_NONE || (rule == RULE_PAIR && !pair_of(call, &root, &other)))
        return -ENOENT;
    uint64_t key[2] = {(uint64_t)comm->index << 32 | call->ordinal, call->by_plugin};
    if (rule == RULE_PAIR)
        key[1] |= 1ull << 63 | (uint64_t)root << 32 | (uint64_t)other << 1;
    else if (call->by_plugin)
        key[1] |= (uint64_t)call->op << 1;
    uint64_t bytes = nccl_call_bytes(call->op, call->type, call->count, comm->nranks);
    struct instance *instance = find(all, key);
    if (!instance) {
        if (!(instance = add(all, key)))
            return -ENOMEM;
        instance->comm = comm;
        instance->op = rule == RULE_PAIR ? TR_coll_op_Send : call->op;
        instance->rule = rule;
        instance->root = root;
        instance->other = other;
        instance->ordinal = call->ordinal;
        instance->bytes = bytes;
        instance->caller = call->handle;
        instance->sides = &instance->first;
        instance->capacity_sides = 1;
        int32_t distance = root > other ? root - other : other - root;
        comm->nr_far += rule == RULE_PAIR && distance > 1 && distance < comm->nranks - 1;
    } else if ((rule != RULE_PAIR && (instance->op != call->op || instance->root != root)) ||
               (bytes && instance->bytes && bytes != instance->bytes)) {
        note_mismatch(all, instance, call, bytes);
    }
    instance->bytes = instance->bytes ? instance->bytes : bytes;
    instance->algo = instance->algo ? instance->algo : call->algo;
    instance->proto = instance->proto ? instance->proto : call->proto;
    instance->channels = instance->channels ? instance->channels : call->channels;
    instance->nr_called++;
    instance->refs++;
    *ret = instance;
    return 0;
}

void instances_release(struct instances *all, struct instance *instance)
{
    int32_t expected = instance->rule == RULE_PAIR ? 2 : instance->comm->nranks;
    if (--instance->refs == 0 && instance->nr_called >= expected)
        drop(all, instance);
}

/* ---- arrivals ----------------------------------------------------------------------------- */

static struct clock_side *side_get(struct instance *instance, uint32_t host)
{
    for (size_t i = 0; i < instance->nr_sides; i++)
        if (instance->sides[i].host == host)
            return &instance->sides[i];
    if (instance->nr_sides == instance->capacity_sides) {
        size_t capacity = instance->capacity_sides * 2;
        struct clock_side *sides = malloc(capacity * sizeof(*sides));
        if (!sides)
            return NULL;
        memcpy(sides, instance->sides, instance->nr_sides * sizeof(*sides));
        if (instance->sides != &instance->first)
            free(instance->sides);
        instance->sides = sides;
        instance->capacity_sides = capacity;
    }
    struct clock_side *side = &instance->sides[instance->nr_sides++];
    *side = (struct clock_side){.host = host, .first_end_ns = UINT64_MAX, .shortest_ns = UINT64_MAX};
    return side;
}

/* Nobody left before the last one had come: what hosts saw of it bounds their clocks. A side is compared with the first
 * one only: the map chains the rest. */
static int compare_clocks(struct instances *all, const struct instance *instance)
{
    uint64_t shortest_ns = UINT64_MAX;
    int rc = 0;
    for (size_t i = 0; i < instance->nr_sides; i++)
        if (instance->sides[i].shortest_ns < shortest_ns)
            shortest_ns = instance->sides[i].shortest_ns;
    for (size_t i = 1; i < instance->nr_sides && !rc; i++)
        rc = clock_map_meet(&all->clock, &instance->sides[0], &instance->sides[i],
                            (uint64_t)TH_CLOCK_LEAVE * shortest_ns);
    return rc;
}

int instances_arrive(struct instances *all, struct instance *instance, const struct comm_handle *handle,
                     uint64_t start_ns, uint64_t end_ns)
{
    struct instance_start start = {start_ns, handle->process->host, true};
    instance->nr_arrived++;
    if (handle->rank == instance->root)
        instance->root_start = start;
    if (handle->rank == instance->other)
        instance->other_start = start;
    if (instance->rule == RULE_PAIR)
        return 0;
    struct clock_side *side = side_get(instance, handle->process->host);
    if (!side)
        return -ENOMEM;
    side->last_start_ns = start_ns > side->last_start_ns ? start_ns : side->last_start_ns;
    side->first_end_ns = end_ns < side->first_end_ns ? end_ns : side->first_end_ns;
    if (end_ns - start_ns < side->shortest_ns)
        side->shortest_ns = end_ns - start_ns;
    bool complete = instance->rule == RULE_ALL && instance->nr_arrived == instance->comm->nranks;
    return complete && instance->nr_sides > 1 && !instance->mismatch ? compare_clocks(all, instance) : 0;
}

static enum instance_wait wait_for_one(const struct instances *all, const struct instance *instance,
                                       const struct comm_handle *handle, int32_t rank,
                                       const struct instance_start *start, uint64_t *ret_ns)
{
    *ret_ns = 0;
    if (rank == handle->rank)
        return WAIT_KNOWN;
    if (rank < 0 || rank >= instance->comm->nranks || !instance->comm->members[rank] ||
        !instance->comm->members[rank]->nr)
        return WAIT_NEVER;
    if (!start->known)
        return WAIT_OPEN;
    return clock_map_convert(&all->clock, start->host, handle->process->host, start->ns, ret_ns) ? WAIT_KNOWN
                                                                                                 : WAIT_OPEN;
}

static enum instance_wait wait_for_all(const struct instances *all, const struct instance *instance,
                                       const struct comm_handle *handle, uint64_t *ret_ns)
{
    uint64_t last_ns = 0, ns;
    if (!communicator_is_whole(instance->comm))
        return WAIT_NEVER;
    if (instance->nr_arrived < instance->comm->nranks)
        return WAIT_OPEN;
    for (size_t i = 0; i < instance->nr_sides; i++) {
        const struct clock_side *side = &instance->sides[i];
        if (!clock_map_convert(&all->clock, side->host, handle->process->host, side->last_start_ns, &ns))
            return WAIT_OPEN;
        last_ns = ns > last_ns ? ns : last_ns;
    }
    *ret_ns = last_ns;
    return WAIT_KNOWN;
}

enum instance_wait instances_wait(const struct instances *all, const struct instance *instance,
                                  const struct comm_handle *handle, bool sends, uint64_t *ret_ns)
{
    *ret_ns = 0;
    switch ((enum instance_rule)instance->rule) {
    case RULE_ALL:
        return wait_for_all(all, instance, handle, ret_ns);
    case RULE_ROOT:
        return wait_for_one(all, instance, handle, instance->root, &instance->root_start, ret_ns);
    case RULE_GATHER:
        return handle->rank == instance->root ? wait_for_all(all, instance, handle, ret_ns) : WAIT_KNOWN;
    case RULE_PAIR:
        return sends ? wait_for_one(all, instance, handle, instance->other, &instance->other_start, ret_ns)
                     : wait_for_one(all, instance, handle, instance->root, &instance->root_start, ret_ns);
    case RULE_NONE:
        break;
    }
    return WAIT_KNOWN;
}
