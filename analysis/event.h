/* event.h - the typed record that every pass sees.
 *
 * One struct event per event of the trace, whatever it came from. Borrowed: it and its strings are valid until the
 * callback that got it returns; what must live longer is interned (model/names.h). */
#ifndef TRSHIM_ANALYSIS_EVENT_H
#define TRSHIM_ANALYSIS_EVENT_H

#include <stdint.h>

#include "traces/events.h"

struct event {
    uint64_t ts_ns; /* when it was emitted: CLOCK_MONOTONIC ns of its host */
    uint32_t host;  /* index of the host (boot) it was recorded on, 0 .. nr_hosts-1 */
    uint32_t kind;  /* enum event_kind; picks the member of u */
    union {
        struct {
            uint32_t pid, tid;
        } who; /* common to all */
#define ENUM(n, values)
#define EVENT(channel, level, name, fields, doc) struct tr_##name name;
#include "traces/events.def"
#include "traces/undefine.h"
    } u;
};

#endif
