/* fr_dump.c - see fr_dump.h. */
#include "analysis/input/fr_dump.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/input/torch_words.h"
#include "analysis/input/value.h"
#include "analysis/model/arena.h"
#include "analysis/model/map.h"

#define FRAMES_MAX 12
#define FRAMES_BYTES 1024

struct group {
    const char *name, *desc, *ranks;
    int64_t status_key; /* of pg_status, -1 not known */
};

struct reading {
    struct arena *arena;
    struct fr_dump *dump;
    size_t capacity;
    uint32_t host, pid;
    const char *job; /* in the arena */
    uint64_t scope;
    int rank;
    uint64_t last_ns;
    struct group *groups; /* in the arena */
    size_t nr_groups, capacity_groups;
    uint32_t nr_open;
};

bool fr_dump_is_one(const struct value *root)
{
    return value_get(root, "entries") && value_get(root, "version") &&
           (value_get(root, "pg_config") || value_get(root, "pg_status") || value_get(root, "nccl_version"));
}

/* ---- events --------------------------------------------------------------------------------- */

static struct event *add_event(struct reading *reading, enum event_kind kind, uint64_t ts_ns)
{
    struct fr_dump *dump = reading->dump;

    if (dump->nr_events == reading->capacity) {
        size_t capacity = reading->capacity ? reading->capacity * 2 : 256;
        struct event *events = arena_alloc(reading->arena, capacity * sizeof(*events));
        if (!events)
            return NULL;
        if (dump->nr_events)
            memcpy(events, dump->events, dump->nr_events * sizeof(*events));
        dump->events = events;
        reading->capacity = capacity;
    }
    struct event *event = &dump->events[dump->nr_events++];
    *event = (struct event){.ts_ns = ts_ns, .host = reading->host, .kind = kind};
    event->u.who.pid = event->u.who.tid = reading->pid;
    return event;
}

static const char *keep(struct reading *reading, const char *text)
{
    char *copy = arena_alloc(reading->arena, strlen(text) + 1);

    return copy ? strcpy(copy, text) : NULL;
}

/* ---- groups --------------------------------------------------------------------------------- */

/* "[0, 1, 2, 3]", or a list of numbers, as "0,1,2,3". */
static const char *rank_list(struct reading *reading, const struct value *value)
{
    const char *text = value_text(value, "");
    size_t room = value_count(value) * 12 + strlen(text) + 1, nr = 0;
    char *list = arena_alloc(reading->arena, room);

    for (; list && *text; text++)
        if (isdigit((unsigned char)*text) || *text == ',')
            list[nr++] = *text;
    for (size_t i = 0; list && i < value_count(value); i++) {
        long long rank = value_number(value_item(value, i), -1);
        nr += (size_t)snprintf(list + nr, room - nr, "%s%u", i ? "," : "", (unsigned)rank);
    }
    return list;
}

/* Place of a rank in a list, and how many there are. -1 if it is not in it. */
static int place_in(const char *ranks, int rank, int *ret_nr)
{
    int place = -1, nr = 0;

    for (const char *at = ranks; *at;) {
        char *end;
        long number = strtol(at, &end, 10);
        if (end == at)
            break;
        if (number == rank)
            place = nr;
        nr++;
        at = *end == ',' ? end + 1 : end;
    }
    *ret_nr = nr;
    return place;
}

static struct group *find_group(struct reading *reading, const char *name)
{
    for (size_t i = 0; i < reading->nr_groups; i++)
        if (strcmp(reading->groups[i].name, name) == 0)
            return &reading->groups[i];
    return NULL;
}

static struct group *add_group(struct reading *reading, const char *name, const char *desc, const char *ranks)
{
    struct group *found = find_group(reading, name);

    if (found)
        return found;
    if (reading->nr_groups == reading->capacity_groups) {
        size_t capacity = reading->capacity_groups ? reading->capacity_groups * 2 : 32;
        struct group *groups = arena_alloc(reading->arena, capacity * sizeof(*groups));
        if (!groups)
            return NULL;
        if (reading->nr_groups)
            memcpy(groups, reading->groups, reading->nr_groups * sizeof(*groups));
        reading->groups = groups;
        reading->capacity_groups = capacity;
    }
    struct group *group = &reading->groups[reading->nr_groups++];
    *group = (struct group){.name = name, .desc = desc, .ranks = ranks, .status_key = -1};
    return group;
}

/* ("41", "TENSOR_MODEL_PARALLEL_GROUP"), or in old dumps the name alone. */
static struct group *group_of(struct reading *reading, const struct value *entry)
{
    const struct value *said = value_get(entry, "process_group");
    const char *name = value_text(value_item(said, 0), value_text(said, NULL));

    if (!name)
        return NULL;
    struct group *group = add_group(reading, name, value_text(value_item(said, 1), ""), "");
    if (group && group->status_key < 0)
        group->status_key = value_number(value_get(entry, "pg_id"), -1);
    return group;
}

static int read_groups(struct reading *reading, const struct value *root)
{
    const struct value *config = value_get(root, "pg_config"), *entries = value_get(root, "entries");

    for (size_t i = 0; i < value_count(config); i++) {
        const struct value *said = value_of(config, i);
        const char *name = value_text(value_get(said, "name"), value_key(config, i));
        const char *ranks = rank_list(reading, value_get(said, "ranks"));
        if (!ranks || (name && !add_group(reading, name, value_text(value_get(said, "desc"), ""), ranks)))
            return -ENOMEM;
    }
    for (size_t i = 0; i < value_count(entries); i++)
        (void)group_of(reading, value_item(entries, i));
    return 0;
}

static long number_of(const char *name)
{
    char *end;
    long number = strtol(name, &end, 10);

    return *name && !*end ? number : -1;
}

static int by_number(const void *a, const void *b)
{
    const struct group *const *left = a, *const *right = b;
    long x = number_of((*left)->name), y = number_of((*right)->name);

    return x < y ? -1 : x > y;
}

static int by_key(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

/* pg_status has numbers of its own for groups, counted in the order in which this rank made them, as their names are.
 * Entries tell some pairs; the others follow from the order, if it fits the pairs that are told. */
static void match_statuses(struct reading *reading, const struct value *status)
{
    size_t nr = value_count(status);
    struct group **groups = nr == reading->nr_groups ? calloc(nr + 1, sizeof(struct group *)) : NULL;
    int64_t *keys = groups ? calloc(nr + 1, sizeof(*keys)) : NULL;
    bool fits = keys != NULL;

    for (size_t i = 0; fits && i < nr; i++) {
        const char *key = value_key(status, i);
        groups[i] = &reading->groups[i];
        keys[i] = key ? number_of(key) : -1;
        fits = keys[i] >= 0 && number_of(groups[i]->name) >= 0;
    }
    if (fits) {
        qsort(groups, nr, sizeof(struct group *), by_number);
        qsort(keys, nr, sizeof(*keys), by_key);
    }
    for (size_t i = 0; fits && i < nr; i++)
        fits = groups[i]->status_key < 0 || groups[i]->status_key == keys[i];
    for (size_t i = 0; fits && i < nr; i++)
        groups[i]->status_key = keys[i];
    free(groups);
    free(keys);
}

static int tell_status(struct reading *reading, const struct value *status, size_t index)
{
    char key[24];
    const struct group *group = &reading->groups[index];

    (void)snprintf(key, sizeof(key), "%lld", (long long)group->status_key);
    const struct value *said = group->status_key < 0 ? NULL : value_get(status, key);
    if (!said)
        return 0;
    struct event *event = add_event(reading, EV_coll_status, reading->last_ns);
    if (!event)
        return -ENOMEM;
    event->u.coll_status.nr = index + 1;
    event->u.coll_status.entered = (uint32_t)value_number(value_get(said, "last_enqueued_collective"), -1);
    event->u.coll_status.finished = (uint32_t)value_number(value_get(said, "last_completed_collective"), -1);
    event->u.coll_status.at_ns = reading->last_ns;
    return 0;
}

static int tell_group(struct reading *reading, size_t index, uint64_t ts_ns)
{
    const struct group *group = &reading->groups[index];
    int nr_ranks, place = place_in(group->ranks, reading->rank, &nr_ranks);
    uint64_t id = map_hash(group->name, map_hash(group->ranks, reading->scope).lo).lo | 1;
    const char *shown = *group->desc && strcmp(group->desc, "undefined") != 0 ? group->desc : group->name;
    struct event *event = add_event(reading, EV_nccl_group, ts_ns);

    if (!event)
        return -ENOMEM;
    event->u.nccl_group.nr = index + 1;
    event->u.nccl_group.id = id;
    event->u.nccl_group.name = shown;
    event->u.nccl_group.ranks = group->ranks;
    event = add_event(reading, EV_nccl_comm, ts_ns);
    if (!event)
        return -ENOMEM;
    event->u.nccl_comm.state = TR_nccl_state_made;
    event->u.nccl_comm.rank = place;
    event->u.nccl_comm.nranks = nr_ranks;
    event->u.nccl_comm.device = -1;
    event->u.nccl_comm.comm = event->u.nccl_comm.nr = index + 1;
    event->u.nccl_comm.id = id;
    event->u.nccl_comm.source = TR_nccl_source_log;
    event->u.nccl_comm.name = shown;
    return 0;
}

/* ---- entries -------------------------------------------------------------------------------- */

static uint8_t type_of(const struct value *types)
{
    return torch_nccl_type(value_text(value_item(types, 0), value_text(types, "")));
}

/* Elements of all tensors: [[8192, 1, 5120], [16]]. */
static uint64_t elements(const struct value *sizes)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < value_count(sizes); i++) {
        const struct value *shape = value_item(sizes, i);
        uint64_t product = 1;
        for (size_t j = 0; j < value_count(shape); j++)
            product *= (uint64_t)value_number(value_item(shape, j), 0);
        sum += product;
    }
    return sum;
}

/* "nccl:send 0->3", "nccl:recv 0<-1": the rank, in the group, at the other end. */
static int32_t peer_of(const char *name)
{
    const char *arrow = strstr(name, "->");

    arrow = arrow ? arrow : strstr(name, "<-");
    return arrow && isdigit((unsigned char)arrow[2]) ? (int32_t)strtol(arrow + 2, NULL, 10) : -1;
}

static const char *frames_of(struct reading *reading, const struct value *frames)
{
    char text[FRAMES_BYTES] = "";
    size_t nr = 0;

    for (size_t i = 0; i < value_count(frames) && i < FRAMES_MAX && nr < sizeof(text) - 1; i++) {
        const struct value *frame = value_item(frames, i);
        int len = snprintf(text + nr, sizeof(text) - nr, "%s%s (%s:%lld)", i ? "; " : "",
                           value_text(value_get(frame, "name"), "?"), value_text(value_get(frame, "filename"), "?"),
                           (long long)value_number(value_get(frame, "line"), 0));
        nr += len > 0 ? (size_t)len : 0;
    }
    return *text ? keep(reading, text) : "";
}

static bool is_done(const struct value *entry)
{
    return strcmp(value_text(value_get(entry, "state"), ""), "completed") == 0 ||
           value_number(value_get(entry, "time_discovered_completed_ns"), 0) > 0 ||
           value_number(value_get(entry, "retired"), 0) > 0;
}

static int tell_done(struct reading *reading, const struct tr_open_coll *open, uint64_t end_ns)
{
    struct event *event = add_event(reading, EV_coll, reading->last_ns);

    if (!event)
        return -ENOMEM;
    uint64_t dur_ns = end_ns > open->start_ns ? end_ns - open->start_ns : 0;
    event->u.coll.op = open->op;
    event->u.coll.type = open->type;
    event->u.coll.how = 1;
    event->u.coll.nr = open->nr;
    event->u.coll.ordinal = open->ordinal;
    event->u.coll.peer = open->peer;
    event->u.coll.dur_ns = dur_ns < UINT32_MAX ? (uint32_t)dur_ns : UINT32_MAX;
    event->u.coll.count = open->count;
    event->u.coll.start_ns = open->start_ns;
    return 0;
}

static int tell_entry(struct reading *reading, const struct value *entry)
{
    const char *name = value_text(value_get(entry, "profiling_name"), NULL);
    const struct group *group = group_of(reading, entry);
    int64_t created_ns = value_number(value_get(entry, "time_created_ns"), -1);
    bool p2p = value_number(value_get(entry, "is_p2p"), 0) > 0;
    int64_t ordinal = value_number(value_get(entry, p2p ? "p2p_seq_id" : "collective_seq_id"),
                                   value_number(value_get(entry, "seq_id"), -1));

    if (!name || !group || created_ns < 0 || ordinal < 0) {
        reading->dump->nr_odd++;
        return 0;
    }
    struct tr_open_coll open = {
        .op = torch_coll_op(name),
        .type = type_of(value_get(entry, "input_dtypes")),
        .started = strcmp(value_text(value_get(entry, "state"), ""), "started") == 0,
        .nr = (uint32_t)(group - reading->groups) + 1,
        .ordinal = (uint32_t)ordinal,
        .peer = p2p ? peer_of(name) : -1,
        .count = elements(value_get(entry, "input_sizes")),
        .start_ns = (uint64_t)created_ns,
        .what = name,
    };
    /* Entries come in the order of the calls; the clock may have been set in between. */
    if (open.start_ns > reading->last_ns)
        reading->last_ns = open.start_ns;
    if (is_done(entry))
        return tell_done(reading, &open, (uint64_t)value_number(value_get(entry, "time_discovered_completed_ns"), 0));
    open.position = reading->nr_open++;
    open.frames = frames_of(reading, value_get(entry, "frames"));
    struct event *event = open.frames ? add_event(reading, EV_open_coll, reading->last_ns) : NULL;
    if (!event)
        return -ENOMEM;
    open.pid = open.tid = reading->pid;
    event->u.open_coll = open;
    return 0;
}

/* ---- the whole ------------------------------------------------------------------------------ */

/* A rank is in all groups of its dump; if only one number is in all of them, it is that. */
static int rank_by_groups(const struct reading *reading)
{
    int found = -1, nr = 0, ignored;
    char *end = NULL;

    for (const char *at = reading->nr_groups ? reading->groups[0].ranks : ""; *at; at = *end ? end + 1 : end) {
        int rank = (int)strtol(at, &end, 10);
        bool in_all = end != at;
        if (!in_all)
            break;
        for (size_t i = 1; in_all && i < reading->nr_groups; i++)
            in_all = !*reading->groups[i].ranks || place_in(reading->groups[i].ranks, rank, &ignored) >= 0;
        nr += in_all;
        found = in_all ? rank : found;
    }
    return nr == 1 ? found : -1;
}

static uint64_t first_time(const struct value *entries)
{
    int64_t first = INT64_MAX;

    for (size_t i = 0; i < value_count(entries); i++) {
        int64_t created = value_number(value_get(value_item(entries, i), "time_created_ns"), INT64_MAX);
        first = created >= 0 && created < first ? created : first;
    }
    return first == INT64_MAX ? 0 : (uint64_t)first;
}

static int tell_process(struct reading *reading, const struct value *root, uint64_t ts_ns)
{
    struct event *event = add_event(reading, EV_proc, ts_ns);
    const struct group *all = find_group(reading, "0");
    int world = -1;

    if (!event)
        return -ENOMEM;
    if (all && *all->ranks)
        (void)place_in(all->ranks, 0, &world);
    event->u.proc = (struct tr_proc){.pid = reading->pid,
                                     .tid = reading->pid,
                                     .how = TR_proc_how_log,
                                     .schema = TR_SCHEMA,
                                     .rank = reading->rank,
                                     .world = world,
                                     .local_rank = -1,
                                     .host = reading->job,
                                     .boot = "",
                                     .comm = "",
                                     .cmd = ""};
    const char *version = value_text(value_get(root, "nccl_version"), NULL);
    event = version ? add_event(reading, EV_attr, ts_ns) : NULL;
    if (event) {
        event->u.attr.key = "version.nccl";
        event->u.attr.value = version;
    }
    return 0;
}

int fr_dump_read(const struct value *root, int rank, uint32_t host, uint32_t pid, const char *job, struct arena *arena,
                 struct fr_dump *ret)
{
    const struct value *entries = value_get(root, "entries"), *status = value_get(root, "pg_status");
    uint64_t first_ns = first_time(entries);
    struct reading reading = {.arena = arena, .dump = ret, .host = host, .pid = pid, .rank = rank, .last_ns = first_ns};

    *ret = (struct fr_dump){0};
    reading.scope = map_hash(job, 0).lo;
    reading.job = keep(&reading, strrchr(job, '/') ? strrchr(job, '/') + 1 : job);
    int rc = reading.job ? read_groups(&reading, root) : -ENOMEM;
    if (rank < 0)
        reading.rank = rank_by_groups(&reading);
    match_statuses(&reading, status);
    rc = rc ? rc : tell_process(&reading, root, first_ns);
    for (size_t i = 0; i < reading.nr_groups && rc == 0; i++)
        rc = tell_group(&reading, i, first_ns);
    for (size_t i = 0; i < value_count(entries) && rc == 0; i++)
        rc = tell_entry(&reading, value_item(entries, i));
    for (size_t i = 0; i < reading.nr_groups && rc == 0; i++)
        rc = tell_status(&reading, status, i);
    return rc;
}
