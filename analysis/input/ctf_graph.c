/* ctf_graph.c - source.ctf.fs of babeltrace2 and a sink of ours that takes one stream's messages at a time. */
#include "analysis/input/ctf_graph.h"

#include <babeltrace2/babeltrace.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "traces/schema.h"

#define PROVIDER "trshim:"

enum { CAUSE_MAX = 256, MEMBERS_MAX = 64 };

/* How a member of the payload becomes a field of the struct. */
enum getter { GET_UNSIGNED, GET_SIGNED, GET_STRING, GET_WORDS };

struct member {
    uint64_t index; /* in the payload */
    enum getter getter;
    enum field_type type;
    uint16_t offset; /* in struct event */
};

/* One event class of the trace as we see it. kind is EV_MAX for a foreign one or one without a clock. */
struct class_map {
    const bt_event_class *class;
    enum event_kind kind;
    uint64_t frequency;
    size_t size;       /* of struct event up to the end of its kind's fields */
    bool has_variable; /* fields whose length is not that of the struct */
    size_t nr_members;
    struct member members[MEMBERS_MAX];
    struct class_map *next;
};

struct port {
    char *name;
    bt_message_iterator *iterator;
    bt_message_array_const messages; /* the batch in hand, [at, nr) still referenced */
    uint64_t at, nr;
    bool ended, failed;
    char cause[CAUSE_MAX];
    const struct class_map *map; /* of the current event, or of the one before */
};

struct ctf_graph {
    const bt_plugin *plugin;
    bt_graph *graph;
    const bt_component_source *source;
    const bt_component_class_sink *sink_class;
    bt_self_component_sink *sink; /* ours, seen from inside */
    struct port *ports;
    size_t nr_ports;
    size_t wanted; /* port that the sink advances when it is run */
    struct class_map *classes;
};

/* ---- errors --------------------------------------------------------------------------------- */

/* Takes the thread's error. Its first cause is the one closest to what went wrong. */
static void take_error(char *cause, size_t size, const char *otherwise)
{
    const bt_error *error = bt_current_thread_take_error();

    (void)snprintf(cause, size, "%s", otherwise);
    if (!error)
        return;
    if (bt_error_get_cause_count(error) > 0)
        (void)snprintf(cause, size, "%s", bt_error_cause_get_message(bt_error_borrow_cause_by_index(error, 0)));
    bt_error_release(error);
    for (char *c = cause; *c; c++)
        if (*c == '\n' || *c == '\t' || *c == '"')
            *c = *c == '"' ? '\'' : ' ';
}

/* ---- the sink ------------------------------------------------------------------------------- */

static bt_component_class_initialize_method_status sink_initialize(bt_self_component_sink *self,
                                                                   bt_self_component_sink_configuration *configuration,
                                                                   const bt_value *params, void *data)
{
    struct ctf_graph *graph = data;
    char name[32];

    (void)configuration;
    (void)params;
    graph->sink = self;
    bt_self_component_set_data(bt_self_component_sink_as_self_component(self), graph);
    for (size_t i = 0; i < graph->nr_ports; i++) {
        (void)snprintf(name, sizeof(name), "%zu", i);
        if (bt_self_component_sink_add_input_port(self, name, NULL, NULL) < 0)
            return BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_MEMORY_ERROR;
    }
    return BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_OK;
}

/* A stream that cannot be begun must not take the others with it. */
static bt_component_class_sink_graph_is_configured_method_status sink_configured(bt_self_component_sink *self)
{
    struct ctf_graph *graph = bt_self_component_get_data(bt_self_component_sink_as_self_component(self));

    for (size_t i = 0; i < graph->nr_ports; i++) {
        struct port *port = &graph->ports[i];
        bt_self_component_port_input *input = bt_self_component_sink_borrow_input_port_by_index(self, i);
        if (port->ended)
            continue;
        if (bt_message_iterator_create_from_sink_component(self, input, &port->iterator) != 0) {
            take_error(port->cause, sizeof(port->cause), "the stream cannot be begun");
            port->ended = port->failed = true;
        }
    }
    return BT_COMPONENT_CLASS_SINK_GRAPH_IS_CONFIGURED_METHOD_STATUS_OK;
}

static bt_component_class_sink_consume_method_status sink_consume(bt_self_component_sink *self)
{
    struct ctf_graph *graph = bt_self_component_get_data(bt_self_component_sink_as_self_component(self));
    struct port *port = &graph->ports[graph->wanted];

    if (port->ended)
        return BT_COMPONENT_CLASS_SINK_CONSUME_METHOD_STATUS_OK;
    port->at = port->nr = 0;
    switch (bt_message_iterator_next(port->iterator, &port->messages, &port->nr)) {
    case BT_MESSAGE_ITERATOR_NEXT_STATUS_OK:
    case BT_MESSAGE_ITERATOR_NEXT_STATUS_AGAIN:
        break;
    case BT_MESSAGE_ITERATOR_NEXT_STATUS_END:
        port->nr = 0;
        port->ended = true;
        break;
    default:
        take_error(port->cause, sizeof(port->cause), "its data cannot be decoded");
        port->nr = 0;
        port->ended = port->failed = true;
    }
    return BT_COMPONENT_CLASS_SINK_CONSUME_METHOD_STATUS_OK;
}

/* ---- opening -------------------------------------------------------------------------------- */

static int add_source(struct ctf_graph *graph, const char *dir)
{
    const bt_component_class_source *class = bt_plugin_borrow_source_component_class_by_name_const(graph->plugin, "fs");
    bt_value *params = bt_value_map_create(), *inputs = NULL;
    int rc = -ENOMEM;

    if (!class)
        rc = -EIO;
    else if (params && bt_value_map_insert_empty_array_entry(params, "inputs", &inputs) == 0 &&
             bt_value_array_append_string_element(inputs, dir) == 0)
        rc = bt_graph_add_source_component(graph->graph, class, "source", params, BT_LOGGING_LEVEL_NONE,
                                           &graph->source) == 0
                 ? 0
                 : -EIO;
    bt_value_put_ref(params);
    return rc;
}

static int add_sink(struct ctf_graph *graph, const bt_component_sink **ret)
{
    bt_component_class_sink *class = bt_component_class_sink_create("trshim", sink_consume);

    if (!class)
        return -ENOMEM;
    graph->sink_class = class;
    if (bt_component_class_sink_set_initialize_method(class, sink_initialize) != 0 ||
        bt_component_class_sink_set_graph_is_configured_method(class, sink_configured) != 0 ||
        bt_graph_add_sink_component_with_initialize_method_data(graph->graph, class, "sink", NULL, graph,
                                                                BT_LOGGING_LEVEL_NONE, ret) != 0)
        return -EIO;
    return 0;
}

static int add_port(struct ctf_graph *graph, const char *name)
{
    struct port *ports = realloc(graph->ports, (graph->nr_ports + 1) * sizeof(*ports));

    if (!ports)
        return -ENOMEM;
    graph->ports = ports;
    ports[graph->nr_ports] = (struct port){.name = strdup(name)};
    return ports[graph->nr_ports++].name ? 0 : -ENOMEM;
}

/* The source's ports, or those asked for. */
static int choose_ports(struct ctf_graph *graph, const char *const *names, size_t nr_names)
{
    size_t nr = names ? nr_names : bt_component_source_get_output_port_count(graph->source);
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < nr; i++)
        rc = add_port(graph, names ? names[i]
                                   : bt_port_get_name(bt_port_output_as_port_const(
                                         bt_component_source_borrow_output_port_by_index_const(graph->source, i))));
    return rc;
}

static int connect(struct ctf_graph *graph, const bt_component_sink *sink)
{
    for (size_t i = 0; i < graph->nr_ports; i++) {
        const bt_port_output *out =
            bt_component_source_borrow_output_port_by_name_const(graph->source, graph->ports[i].name);
        const bt_port_input *in = bt_component_sink_borrow_input_port_by_index_const(sink, i);
        if (!out)
            graph->ports[i].ended = true;
        else if (bt_graph_connect_ports(graph->graph, out, in, NULL) != 0)
            return -EIO;
    }
    return 0;
}

static int build(struct ctf_graph *graph, const char *dir, const char *const *ports, size_t nr_ports)
{
    const bt_component_sink *sink;
    int rc;

    if (bt_plugin_find("ctf", BT_TRUE, BT_FALSE, BT_TRUE, BT_TRUE, BT_FALSE, &graph->plugin) != 0)
        return -ENOENT;
    graph->graph = bt_graph_create(0);
    if (!graph->graph)
        return -ENOMEM;
    if ((rc = add_source(graph, dir)) < 0 || (rc = choose_ports(graph, ports, nr_ports)) < 0)
        return rc;
    if (graph->nr_ports == 0)
        return 0;
    rc = add_sink(graph, &sink);
    return rc < 0 ? rc : connect(graph, sink);
}

int ctf_graph_open(const char *dir, const char *const *ports, size_t nr_ports, struct ctf_graph **ret, char *cause,
                   size_t cause_size)
{
    struct ctf_graph *graph = calloc(1, sizeof(*graph));
    int rc = graph ? build(graph, dir, ports, nr_ports) : -ENOMEM;

    if (rc == 0) {
        *ret = graph;
        return 0;
    }
    take_error(cause, cause_size,
               rc == -ENOENT ? "babeltrace2 has no 'ctf' plugin; install babeltrace2" : strerror(-rc));
    ctf_graph_free(graph);
    return rc;
}

void ctf_graph_free(struct ctf_graph *graph)
{
    if (!graph)
        return;
    for (size_t i = 0; i < graph->nr_ports; i++) {
        struct port *port = &graph->ports[i];
        for (; port->at < port->nr; port->at++)
            bt_message_put_ref(port->messages[port->at]);
        bt_message_iterator_put_ref(port->iterator);
        free(port->name);
    }
    free(graph->ports);
    for (struct class_map *next, *map = graph->classes; map; map = next) {
        next = map->next;
        free(map);
    }
    bt_graph_put_ref(graph->graph);
    bt_component_class_sink_put_ref(graph->sink_class);
    bt_plugin_put_ref(graph->plugin);
    free(graph);
}

size_t ctf_graph_nr_ports(const struct ctf_graph *graph)
{
    return graph->nr_ports;
}

const char *ctf_graph_port_name(const struct ctf_graph *graph, size_t port)
{
    return graph->ports[port].name;
}

/* ---- event classes -------------------------------------------------------------------------- */

/* A sequence of numbers of 64 bits or less; LTTng puts its length before it, as a field of its own. */
static bool is_words(const bt_field_class *class)
{
    const bt_field_class *element = bt_field_class_array_borrow_element_field_class_const(class);

    return bt_field_class_type_is(bt_field_class_get_type(element), BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER);
}

static enum getter getter_of(enum field_type type)
{
    return type == FT_str ? GET_STRING : type == FT_seq64 ? GET_WORDS : GET_UNSIGNED;
}

static bool find_getter(const bt_field_class *class, enum field_type wanted, enum getter *ret)
{
    bt_field_class_type type = bt_field_class_get_type(class);

    if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER))
        *ret = GET_UNSIGNED;
    else if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_SIGNED_INTEGER))
        *ret = GET_SIGNED;
    else if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_STRING))
        *ret = GET_STRING;
    else if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_DYNAMIC_ARRAY) && is_words(class))
        *ret = GET_WORDS;
    else
        return false;
    return (*ret == GET_SIGNED ? GET_UNSIGNED : *ret) == getter_of(wanted);
}

static const struct schema_field *find_field(const struct schema_event *schema, const char *name)
{
    for (size_t i = 0; i < schema->nr_fields; i++)
        if (strcmp(schema->fields[i].name, name) == 0)
            return &schema->fields[i];
    return NULL;
}

static void map_members(struct class_map *map, const bt_field_class *payload)
{
    const struct schema_event *schema = schema_event(map->kind);
    uint64_t nr = payload ? bt_field_class_structure_get_member_count(payload) : 0;

    for (uint64_t i = 0; i < nr && map->nr_members < MEMBERS_MAX; i++) {
        const bt_field_class_structure_member *there =
            bt_field_class_structure_borrow_member_by_index_const(payload, i);
        const struct schema_field *field = find_field(schema, bt_field_class_structure_member_get_name(there));
        struct member *member = &map->members[map->nr_members];

        if (!field ||
            !find_getter(bt_field_class_structure_member_borrow_field_class_const(there), field->type, &member->getter))
            continue;
        member->index = i;
        member->type = field->type;
        member->offset = offsetof(struct event, u) + field->offset;
        map->has_variable |= member->getter == GET_STRING || member->getter == GET_WORDS;
        map->nr_members++;
    }
}

static enum event_kind known_kind(const bt_event_class *class)
{
    const char *name = bt_event_class_get_name(class);

    if (!name || strncmp(name, PROVIDER, strlen(PROVIDER)) != 0)
        return EV_MAX;
    return schema_find(name + strlen(PROVIDER));
}

static const struct class_map *make_map(struct ctf_graph *graph, const bt_event_class *class)
{
    const bt_stream_class *stream = bt_event_class_borrow_stream_class_const(class);
    const bt_clock_class *clock = bt_stream_class_borrow_default_clock_class_const(stream);
    struct class_map *map = calloc(1, sizeof(*map));

    if (!map)
        return NULL;
    map->class = class;
    map->kind = clock ? known_kind(class) : EV_MAX;
    if (map->kind != EV_MAX) {
        map->frequency = bt_clock_class_get_frequency(clock);
        map->size = (offsetof(struct event, u) + schema_event(map->kind)->size + 7) & ~(size_t)7;
        map_members(map, bt_event_class_borrow_payload_field_class_const(class));
    }
    map->next = graph->classes;
    graph->classes = map;
    return map;
}

static const bt_event *current_event(const struct port *port)
{
    return bt_message_event_borrow_event_const(port->messages[port->at]);
}

/* Sets port->map for the current event; NULL if there is no memory for it. */
static void find_map(struct ctf_graph *graph, struct port *port)
{
    const bt_event_class *class = bt_event_borrow_class_const(current_event(port));

    if (port->map && port->map->class == class)
        return;
    port->map = graph->classes;
    while (port->map && port->map->class != class)
        port->map = port->map->next;
    if (!port->map)
        port->map = make_map(graph, class);
}

/* ---- messages ------------------------------------------------------------------------------- */

static enum ctf_what classify(struct ctf_graph *graph, struct port *port)
{
    switch (bt_message_get_type(port->messages[port->at])) {
    case BT_MESSAGE_TYPE_EVENT:
        find_map(graph, port);
        return port->map && port->map->kind != EV_MAX ? CTF_EVENT : CTF_UNKNOWN;
    case BT_MESSAGE_TYPE_STREAM_BEGINNING:
        return CTF_STREAM;
    case BT_MESSAGE_TYPE_DISCARDED_EVENTS:
        return CTF_LOST_EVENTS;
    case BT_MESSAGE_TYPE_DISCARDED_PACKETS:
        return CTF_LOST_PACKETS;
    default:
        return CTF_END; /* packets and the like: of no use here */
    }
}

enum ctf_what ctf_graph_peek(struct ctf_graph *graph, size_t number)
{
    struct port *port = &graph->ports[number];

    for (;;) {
        while (port->at < port->nr) {
            enum ctf_what what = classify(graph, port);
            if (what != CTF_END)
                return what;
            ctf_graph_skip(graph, number);
        }
        if (port->ended)
            return port->failed ? CTF_ERROR : CTF_END;
        graph->wanted = number;
        if (bt_graph_run_once(graph->graph) != BT_GRAPH_RUN_ONCE_STATUS_OK) {
            take_error(port->cause, sizeof(port->cause), "babeltrace2 gave up");
            port->ended = port->failed = true;
        }
    }
}

void ctf_graph_skip(struct ctf_graph *graph, size_t number)
{
    struct port *port = &graph->ports[number];

    bt_message_put_ref(port->messages[port->at++]);
}

uint64_t ctf_graph_time(struct ctf_graph *graph, size_t number)
{
    struct port *port = &graph->ports[number];
    const bt_clock_snapshot *clock = bt_message_event_borrow_default_clock_snapshot_const(port->messages[port->at]);
    uint64_t cycles = bt_clock_snapshot_get_value(clock), frequency = port->map->frequency;

    if (frequency == 1000000000)
        return cycles;
    return (unsigned __int128)cycles * 1000000000 / frequency;
}

enum event_kind ctf_graph_kind(struct ctf_graph *graph, size_t number)
{
    return graph->ports[number].map->kind;
}

static uint64_t string_length(const bt_field *field)
{
    uint64_t length = bt_field_string_get_length(field);

    return length < CTF_STRING_MAX ? length : CTF_STRING_MAX;
}

static uint64_t words_length(const bt_field *field)
{
    uint64_t length = bt_field_array_get_length(field);

    return length < TR_SEQ64_MAX ? length : TR_SEQ64_MAX;
}

/* Bytes behind the struct: of the numbers, which come first and so are aligned, and of the strings. */
static void measure(const struct class_map *map, const bt_field *payload, size_t *ret_words, size_t *ret_strings)
{
    *ret_words = *ret_strings = 0;
    for (size_t i = 0; i < map->nr_members; i++) {
        const struct member *member = &map->members[i];
        if (member->getter != GET_STRING && member->getter != GET_WORDS)
            continue;
        const bt_field *field = bt_field_structure_borrow_member_field_by_index_const(payload, member->index);
        if (member->getter == GET_STRING)
            *ret_strings += 1 + string_length(field);
        else
            *ret_words += words_length(field) * sizeof(uint64_t);
    }
}

size_t ctf_graph_event_size(struct ctf_graph *graph, size_t number)
{
    struct port *port = &graph->ports[number];
    const struct class_map *map = port->map;
    size_t size = map->size;

    if (!map->has_variable)
        return size;
    size_t words, strings;
    measure(map, bt_event_borrow_payload_field_const(current_event(port)), &words, &strings);
    return size + words + strings;
}

static void store_integer(void *to, enum field_type type, uint64_t value)
{
    switch (type) {
    case FT_u8:
    case FT_enum:
        *(uint8_t *)to = value;
        break;
    case FT_u16:
        *(uint16_t *)to = value;
        break;
    case FT_u32:
    case FT_i32:
        *(uint32_t *)to = value;
        break;
    default:
        *(uint64_t *)to = value;
    }
}

static char *store_string(const char **to, const bt_field *field, char *room)
{
    uint64_t length = string_length(field);

    memcpy(room, bt_field_string_get_value(field), length);
    room[length] = '\0';
    *to = room;
    return room + length + 1;
}

static uint64_t *store_words(struct tr_seq64 *to, const bt_field *field, uint64_t *room)
{
    uint32_t nr = words_length(field);

    for (uint32_t i = 0; i < nr; i++)
        room[i] = bt_field_integer_unsigned_get_value(bt_field_array_borrow_element_field_by_index_const(field, i));
    *to = (struct tr_seq64){.words = room, .nr = nr};
    return room + nr;
}

/* Strings that the trace lacks are "", never NULL. */
static void clear(struct event *to, const struct class_map *map)
{
    const struct schema_event *schema = schema_event(map->kind);

    memset(&to->u, 0, schema->size);
    for (size_t i = 0; i < schema->nr_fields; i++)
        if (schema->fields[i].type == FT_str)
            *(const char **)((char *)&to->u + schema->fields[i].offset) = "";
}

void ctf_graph_event_store(struct ctf_graph *graph, size_t number, struct event *to)
{
    struct port *port = &graph->ports[number];
    const struct class_map *map = port->map;
    const bt_field *payload = bt_event_borrow_payload_field_const(current_event(port));
    uint64_t *words = (uint64_t *)((char *)to + map->size);
    size_t words_size = 0, strings_size;

    if (map->has_variable)
        measure(map, payload, &words_size, &strings_size);
    char *room = (char *)words + words_size;
    to->ts_ns = ctf_graph_time(graph, number);
    to->kind = map->kind;
    clear(to, map);
    for (size_t i = 0; i < map->nr_members; i++) {
        const struct member *member = &map->members[i];
        const bt_field *field = bt_field_structure_borrow_member_field_by_index_const(payload, member->index);
        void *at = (char *)to + member->offset;

        if (member->getter == GET_STRING)
            room = store_string(at, field, room);
        else if (member->getter == GET_WORDS)
            words = store_words(at, field, words);
        else if (member->getter == GET_UNSIGNED)
            store_integer(at, member->type, bt_field_integer_unsigned_get_value(field));
        else
            store_integer(at, member->type, (uint64_t)bt_field_integer_signed_get_value(field));
    }
}

uint64_t ctf_graph_count(struct ctf_graph *graph, size_t number)
{
    struct port *port = &graph->ports[number];
    const bt_message *message = port->messages[port->at];
    uint64_t count = 1;
    bool said;

    if (bt_message_get_type(message) == BT_MESSAGE_TYPE_DISCARDED_EVENTS)
        said = bt_message_discarded_events_get_count(message, &count) == BT_PROPERTY_AVAILABILITY_AVAILABLE;
    else
        said = bt_message_discarded_packets_get_count(message, &count) == BT_PROPERTY_AVAILABILITY_AVAILABLE;
    return said && count ? count : 1;
}

const char *ctf_graph_cause(struct ctf_graph *graph, size_t number)
{
    return graph->ports[number].cause;
}

/* ---- what the trace says of itself ---------------------------------------------------------- */

static const bt_stream *current_stream(const struct port *port)
{
    return bt_message_stream_beginning_borrow_stream_const(port->messages[port->at]);
}

const char *ctf_graph_stream(struct ctf_graph *graph, size_t number)
{
    const char *path = bt_stream_get_name(current_stream(&graph->ports[number]));
    const char *slash = path ? strrchr(path, '/') : NULL;

    return slash ? slash + 1 : path ? path : "";
}

static void count_classes(const bt_trace_class *trace, struct ctf_facts *ret)
{
    for (uint64_t i = 0; i < bt_trace_class_get_stream_class_count(trace); i++) {
        const bt_stream_class *stream = bt_trace_class_borrow_stream_class_by_index_const(trace, i);
        for (uint64_t j = 0; j < bt_stream_class_get_event_class_count(stream); j++) {
            ret->nr_classes++;
            ret->nr_known += known_kind(bt_stream_class_borrow_event_class_by_index_const(stream, j)) != EV_MAX;
        }
    }
}

static void take_clock(const bt_clock_class *clock, struct ctf_facts *ret)
{
    bt_uuid uuid = bt_clock_class_get_uuid(clock);
    uint64_t frequency = bt_clock_class_get_frequency(clock), cycles;
    size_t at = 0;
    int64_t seconds;

    bt_clock_class_get_offset(clock, &seconds, &cycles);
    if (!__builtin_mul_overflow(seconds, (int64_t)1000000000, &ret->epoch_ns))
        ret->epoch_ns += (unsigned __int128)cycles * 1000000000 / frequency;
    else
        ret->epoch_ns = 0;
    for (int i = 0; uuid && i < 16; i++)
        at += snprintf(ret->clock_uuid + at, sizeof(ret->clock_uuid) - at,
                       i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", uuid[i]);
}

void ctf_graph_facts(struct ctf_graph *graph, size_t number, struct ctf_facts *ret)
{
    const bt_stream *stream = current_stream(&graph->ports[number]);
    const bt_trace *trace = bt_stream_borrow_trace_const(stream);
    const bt_value *hostname = bt_trace_borrow_environment_entry_value_by_name_const(trace, "hostname");
    const bt_clock_class *clock =
        bt_stream_class_borrow_default_clock_class_const(bt_stream_borrow_class_const(stream));

    *ret = (struct ctf_facts){.hostname = ""};
    if (hostname && bt_value_get_type(hostname) == BT_VALUE_TYPE_STRING)
        ret->hostname = bt_value_string_get(hostname);
    if (clock)
        take_clock(clock, ret);
    count_classes(bt_trace_borrow_class_const(trace), ret);
}
