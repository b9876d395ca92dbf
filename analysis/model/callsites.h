/* callsites.h - native call stacks that events refer to, as the recorder told them: files and offsets, not yet names of
 * functions (analysis/symbols). */
#ifndef TRSHIM_ANALYSIS_MODEL_CALLSITES_H
#define TRSHIM_ANALYSIS_MODEL_CALLSITES_H

#include <stddef.h>
#include <stdint.h>

#include "traces/events.h"

struct job;
struct name;
struct process;

#define CALLSITE_FRAMES 16

struct callsite {
    struct callsite *next;
    uint32_t id;
    size_t nr;
    struct callsite_frame {
        const struct name *module; /* "BUILDID PATH"; NULL unknown */
        uint64_t offset;           /* of the return address in the file as linked */
    } frames[CALLSITE_FRAMES];     /* innermost first */
};

/* Learns an event about the job's current process; again is not an error. 0 or -ENOMEM. */
int callsites_learn(struct job *job, const struct tr_callsite *event);

/* NULL if `id` is 0 or was not told. */
const struct callsite *callsite_find(const struct process *process, uint32_t id);

void callsites_free(struct callsite *first);

#endif
