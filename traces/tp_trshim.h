/* tp_trshim.h - the LTTng-UST provider `trshim`, made row by row from events.def.
 *
 * Each tracepoint takes one argument, a pointer to the event's struct: LTTng allows ten arguments, we have more
 * fields, and one pointer is cheaper to pass. Read several times by LTTng (its multi-read guard). */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER trshim
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "traces/tp_trshim.h"

#if !defined(TRSHIM_TRACES_TP_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define TRSHIM_TRACES_TP_H

#include <lttng/tracepoint.h>

#include "traces/events.h"

#define V(en, n) lttng_ust_field_enum_auto(#n)
#define ENUM(n, values) LTTNG_UST_TRACEPOINT_ENUM(trshim, n, LTTNG_UST_TP_ENUM_VALUES(values))
#define U8(n, doc) lttng_ust_field_integer(uint8_t, n, e->n)
#define U16(n, doc) lttng_ust_field_integer(uint16_t, n, e->n)
#define U32(n, doc) lttng_ust_field_integer(uint32_t, n, e->n)
#define U64(n, doc) lttng_ust_field_integer(uint64_t, n, e->n)
#define I32(n, doc) lttng_ust_field_integer(int32_t, n, e->n)
#define STR(n, doc) lttng_ust_field_string(n, e->n)
#define E8(en, n, doc) lttng_ust_field_enum(trshim, en, uint8_t, n, e->n)
#define SEQ64(n, doc) lttng_ust_field_sequence(uint64_t, n, e->n.words, uint16_t, e->n.nr)
#define EVENT(channel, level, name, fields, doc)                                                                       \
    LTTNG_UST_TRACEPOINT_EVENT(trshim, name, LTTNG_UST_TP_ARGS(const struct tr_##name *, e),                           \
                               LTTNG_UST_TP_FIELDS(U32(pid, "") U32(tid, "") fields))
#include "traces/events.def"
#include "traces/undefine.h"

#endif

#include <lttng/tracepoint-event.h>
