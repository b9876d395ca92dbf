/* fr_dump.h - what one dump of PyTorch's flight recorder says, as events. Pure; any thread.
 *
 * A dump is what ProcessGroupNCCL writes when its watchdog gives up (TORCH_NCCL_DUMP_ON_TIMEOUT): the latest
 * collectives of one rank, with state, sizes and perhaps Python frames, and the groups it belongs to. */
#ifndef TRSHIM_ANALYSIS_FR_DUMP_H
#define TRSHIM_ANALYSIS_FR_DUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/event.h"

struct arena;
struct value;

struct fr_dump {
    struct event *events; /* in the order of their time; in the arena, as their strings */
    size_t nr_events;
    size_t nr_odd; /* entries that could not be understood */
};

/* Whether the document is such a dump. */
bool fr_dump_is_one(const struct value *root);

/* `rank` is that of the dump's file name; -1: taken from the groups where they tell it. Ranks of one job have
 * the same `job`, a path; its process is given the number `pid`. 0 or -ENOMEM. */
int fr_dump_read(const struct value *root, int rank, uint32_t host, uint32_t pid, const char *job, struct arena *arena,
                 struct fr_dump *ret);

#endif
