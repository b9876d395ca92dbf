/* events.h - the events of events.def as C: a struct, an enum value and enums for each.
 *
 * Used by producers (shim, plugin), which fill a struct and pass its address to TR_EMIT, and by readers, which
 * get the same struct back. Strings are borrowed: by the tracepoint until it returns, by a pass until it returns. */
#ifndef TRSHIM_TRACES_EVENTS_H
#define TRSHIM_TRACES_EVENTS_H

#include <stdint.h>

/* A field of several numbers; borrowed as strings are. More than the most are never sent, and cut by readers. */
#define TR_SEQ64_MAX 384
struct tr_seq64 {
    const uint64_t *words;
    uint32_t nr;
};

#define TR_SCHEMA 1 /* rises when the meaning of a field changes; new fields alone do not raise it */

/* ENUM(color, V(color, red)) -> enum tr_color { TR_color_red, TR_color_MAX } */
#define V(e, n) TR_##e##_##n,
#define ENUM(n, values) enum tr_##n{values TR_##n##_MAX};
#define EVENT(channel, level, name, fields, doc)
#include "traces/events.def"
#include "traces/undefine.h"

/* EVENT(.., foo, ..) -> struct tr_foo */
#define ENUM(n, values)
#define U8(n, doc) uint8_t n;
#define U16(n, doc) uint16_t n;
#define U32(n, doc) uint32_t n;
#define U64(n, doc) uint64_t n;
#define I32(n, doc) int32_t n;
#define STR(n, doc) const char *n;
#define E8(e, n, doc) uint8_t n; /* enum tr_##e */
#define SEQ64(n, doc) struct tr_seq64 n;
#define EVENT(channel, level, name, fields, doc)                                                                       \
    struct tr_##name {                                                                                                 \
        uint32_t pid, tid;                                                                                             \
        fields                                                                                                         \
    };
#include "traces/events.def"
#include "traces/undefine.h"

/* EVENT(.., foo, ..) -> EV_foo */
enum event_kind {
#define ENUM(n, values)
#define EVENT(channel, level, name, fields, doc) EV_##name,
#include "traces/events.def"
#include "traces/undefine.h"
    EV_MAX
};

enum tr_channel { CH_STATE, CH_STEPS, CH_DATA, CH_MAX };
enum tr_level { LEVEL_LIGHT, LEVEL_STANDARD, LEVEL_FULL, LEVEL_MAX };

/* tr_file_io.how */
#define TR_HOW_DEVICE_MASK 0x0f
#define TR_HOW_DEVICE_UNKNOWN 0x0f
#define TR_HOW_RANDOM 0x10

#endif
