/* schema.h - events.def as data: what every event and field is called, its type and where it lies in its struct.
 *
 * For whoever handles events without knowing each: the session (which events go to which channel), the readers
 * (decode by name), the text form (print and parse), the documentation. */
#ifndef TRSHIM_TRACES_SCHEMA_H
#define TRSHIM_TRACES_SCHEMA_H

#include <stddef.h>
#include <stdint.h>

#include "traces/events.h"

enum field_type { FT_u8, FT_u16, FT_u32, FT_u64, FT_i32, FT_str, FT_enum, FT_seq64 };

struct schema_enum {
    const char *name;
    const char *const *values; /* NULL-terminated; index is the number */
};

struct schema_field {
    const char *name, *doc;
    enum field_type type;
    uint16_t offset;              /* in the event's struct */
    const struct schema_enum *en; /* FT_enum only */
};

struct schema_event {
    const char *name, *doc;
    enum tr_channel channel;
    enum tr_level level;
    uint16_t size;      /* of the event's struct */
    uint16_t nr_fields; /* pid and tid included, they come first */
    const struct schema_field *fields;
};

/* The description of one kind of event; static, never NULL for kind < EV_MAX. */
const struct schema_event *schema_event(enum event_kind kind);

extern const char *const schema_channel_names[CH_MAX]; /* "state", "steps", "data" */
extern const char *const schema_level_names[LEVEL_MAX];

/* The largest event struct: enough room for any. */
#define SCHEMA_EVENT_MAX_SIZE 128

/* Returns the kind of the event called `name`, or EV_MAX. */
enum event_kind schema_find(const char *name);

/* Number of a value's name in an enum, or -1. Name of a number, or NULL. */
int schema_enum_number(const struct schema_enum *en, const char *value);
const char *schema_enum_name(const struct schema_enum *en, unsigned number);

#endif
