/* saves.h - files that were written: candidates for checkpoints, from their creation to their end.
 *
 * Fed with file_op events during the survey. What is a checkpoint is decided by behaviour once the training processes
 * are known (ranks.c): size, who wrote it, renamed or not; a name only supports it. */
#ifndef TRSHIM_ANALYSIS_SAVES_H
#define TRSHIM_ANALYSIS_SAVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/event.h"
#include "analysis/model/map.h"

struct name;
struct process;
struct thread;

/* One writing of one file. Kept if it could be a checkpoint. */
struct save {
    struct save *next; /* in order of creation */
    struct process *process;
    struct thread *thread;
    const struct name *name;              /* as created */
    const struct name *final;             /* after renames */
    const char *moved_to;                 /* new path of its directory, borrowed from a name; NULL */
    uint64_t create_ns, close_ns, end_ns; /* end: of close, fsync, rename, whichever is last */
    uint64_t bytes;
    uint64_t create_anchors, close_anchors;  /* anchors its thread had passed */
    uint64_t removed_ns;                     /* unlinked, or replaced by a later one; 0 never */
    bool closed, fsynced, renamed, in_place; /* in_place: created over an earlier one */
};

/* Failed for lack of space. */
struct save_full {
    const struct name *name; /* of the first; may be NULL */
    uint64_t count, first_ns;
    int err;
};

struct saves {
    struct save *first, *last; /* owned */
    struct map by_name;        /* struct save_slot */
    struct save_slot *slots;   /* owned */
    struct save *recent;       /* of the latest closes, newest */
    struct save_full full;
};

void saves_done(struct saves *saves);

/* Calls fn for each file that is still open for writing, in no order. */
void saves_each_open(const struct saves *saves, void (*fn)(void *arg, const struct save *save), void *arg);

/* Learns what a thread did to a file. name, name2: what the event's ids stand for, NULL unknown. 0 or -ENOMEM. */
int saves_learn(struct saves *saves, struct process *process, struct thread *thread, const struct name *name,
                const struct name *name2, const struct tr_file_op *op);

/* Whether a path looks like that of a checkpoint. */
bool save_named_so(const char *path);

#endif
