/* events_md.c - prints docs/EVENTS.md: every event and field of traces/events.def, from the same tables that readers
 * decode with. `make docs/EVENTS.md` writes it; a test says when it is stale. */
#include <stdio.h>

#include "traces/schema.h"

static const char *const type_names[] = {
    [FT_u8] = "u8",   [FT_u16] = "u16",    [FT_u32] = "u32",   [FT_u64] = "u64",
    [FT_i32] = "i32", [FT_str] = "string", [FT_enum] = "enum", [FT_seq64] = "u64s",
};

static const char *const channel_docs[CH_MAX] = {
    [CH_STATE] = "What later events refer to. Sent again every 10 s and after fork; never dropped.",
    [CH_STEPS] =
        "What tells steps apart, CPU time, the life of checkpoints. Little; kept when `--max-size` drops old data.",
    [CH_DATA] = "Everything else. The oldest is dropped first.",
};

/* The values of an enum, as the meaning of the field that holds it. */
static void print_values(const struct schema_enum *en)
{
    for (unsigned i = 0; en->values[i]; i++)
        printf("%s%s %u", i ? ", " : "", en->values[i], i);
}

static void print_field(const struct schema_field *field)
{
    printf("| `%s` | %s | %s", field->name, type_names[field->type], field->doc);
    if (field->en) {
        if (field->doc[0])
            printf("; ");
        print_values(field->en);
    }
    printf(" |\n");
}

static void print_event(const struct schema_event *event)
{
    printf("\n### %s\n\n%s Recorded from level `%s`.\n\n| field | type | meaning |\n|---|---|---|\n", event->name,
           event->doc, schema_level_names[event->level]);
    for (unsigned i = 0; i < event->nr_fields; i++)
        print_field(&event->fields[i]);
}

static void print_channel(enum tr_channel channel)
{
    printf("\n## Channel `%s`\n\n%s\n", schema_channel_names[channel], channel_docs[channel]);
    for (enum event_kind kind = 0; kind < EV_MAX; kind++)
        if (schema_event(kind)->channel == channel)
            print_event(schema_event(kind));
}

int main(void)
{
    printf(
        "# Events\n\n"
        "<!-- Made from traces/events.def by `make docs/EVENTS.md`. Do not edit. -->\n\n"
        "Every event a trace can hold, schema %d. All are LTTng-UST events of the provider `trshim`: "
        "`babeltrace2 DIR` shows them,\n`trshim events DIR` prints them one a line.\n\n"
        "Times are CLOCK_MONOTONIC ns of the host. An interval is one event, emitted at its end, with `start_ns` and "
        "`dur_ns`.\n`pid` and `tid` are those of the thread the event is about. `name` fields are ids of "
        "[`name`](#name) events of the same pid;\n0 is unknown.\n",
        TR_SCHEMA);
    for (enum tr_channel channel = 0; channel < CH_MAX; channel++)
        print_channel(channel);
    return 0;
}
