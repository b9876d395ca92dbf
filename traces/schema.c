/* schema.c - the tables of schema.h, made from events.def. */
#include "traces/schema.h"

#include <string.h>

const char *const schema_channel_names[CH_MAX] = {"state", "steps", "data"};
const char *const schema_level_names[LEVEL_MAX] = {"light", "standard", "full"};

/* ENUM(color, V(color, red)) -> enum_color = {"color", {"red", NULL}} */
#define V(e, n) #n,
#define ENUM(n, values)                                                                                                \
    static const char *const values_##n[] = {values NULL};                                                             \
    static const struct schema_enum enum_##n = {#n, values_##n};
#define EVENT(channel, level, name, fields, doc)
#include "traces/events.def"
#include "traces/undefine.h"

/* EVENT(.., foo, ..) -> describe_foo(). A function, because only inside one can THIS name the struct whose offsets
 * the fields mean, and so a row stay free of repetition. */
#define ENUM(n, values)
#define FIELD(type, n, doc, en) {#n, doc, type, offsetof(THIS, n), en},
#define U8(n, doc) FIELD(FT_u8, n, doc, NULL)
#define U16(n, doc) FIELD(FT_u16, n, doc, NULL)
#define U32(n, doc) FIELD(FT_u32, n, doc, NULL)
#define U64(n, doc) FIELD(FT_u64, n, doc, NULL)
#define I32(n, doc) FIELD(FT_i32, n, doc, NULL)
#define STR(n, doc) FIELD(FT_str, n, doc, NULL)
#define E8(e, n, doc) FIELD(FT_enum, n, doc, &enum_##e)
#define SEQ64(n, doc) FIELD(FT_seq64, n, doc, NULL)
#define EVENT(ch, lvl, name, fields, doc)                                                                              \
    static const struct schema_event *describe_##name(void)                                                            \
    {                                                                                                                  \
        typedef struct tr_##name THIS;                                                                                 \
        static const struct schema_field table[] = {U32(pid, "process") U32(tid, "thread") fields};                    \
        static const struct schema_event event = {                                                                     \
            #name, doc, CH_##ch, LEVEL_##lvl, sizeof(THIS), sizeof(table) / sizeof(*table), table};                    \
        _Static_assert(sizeof(THIS) <= SCHEMA_EVENT_MAX_SIZE, "raise SCHEMA_EVENT_MAX_SIZE");                          \
        return &event;                                                                                                 \
    }
#include "traces/events.def"
#include "traces/undefine.h"
#undef FIELD

static const struct schema_event *(*const describers[EV_MAX])(void) = {
#define ENUM(n, values)
#define EVENT(ch, lvl, name, fields, doc) [EV_##name] = describe_##name,
#include "traces/events.def"
#include "traces/undefine.h"
};

const struct schema_event *schema_event(enum event_kind kind)
{
    return describers[kind]();
}

enum event_kind schema_find(const char *name)
{
    for (enum event_kind k = 0; k < EV_MAX; k++)
        if (strcmp(schema_event(k)->name, name) == 0)
            return k;
    return EV_MAX;
}

int schema_enum_number(const struct schema_enum *en, const char *value)
{
    for (int i = 0; en->values[i]; i++)
        if (strcmp(en->values[i], value) == 0)
            return i;
    return -1;
}

const char *schema_enum_name(const struct schema_enum *en, unsigned number)
{
    for (unsigned i = 0; en->values[i]; i++)
        if (i == number)
            return en->values[i];
    return NULL;
}
