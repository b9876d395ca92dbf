/* stands.h - threads that stand in one call: from open_op and stack events, until something later is heard of them.
 *
 * Fed with all events by the pass that asks. Memory grows with the threads that ever stood. */
#ifndef TRSHIM_ANALYSIS_MODEL_STANDS_H
#define TRSHIM_ANALYSIS_MODEL_STANDS_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/event.h"
#include "analysis/model/job.h"

struct stand {
    struct stand *next;
    const struct thread *thread;
    const struct name *name; /* file or peer; NULL */
    uint8_t kind;            /* enum tr_wait_kind */
    bool over;               /* it came back */
    uint64_t start_ns, age_ns;
    char *frames; /* owned; where it stands, as in stack; NULL not known */
};

struct stands {
    struct stand *first; /* owned */
};

int stands_event(struct stands *stands, const struct job *job, const struct event *event); /* 0 or -ENOMEM */
void stands_done(struct stands *stands);

/* The call the thread still stands in, as far as the trace goes; NULL none, or its process has ended. */
const struct stand *stands_of(const struct stands *stands, const struct thread *thread);

/* Where the rank's training hangs, if that is within itself: its training thread in a sleep, a file or a child, or a
 * worker of it in one while that thread waits for data. NULL: it waits for others, or goes on. */
const struct stand *stands_cause(const struct stands *stands, const struct job *job, const struct rank *rank);

#endif
