/* step_window.h - the step window of one rank that is being filled: what pass_breakdown's files share.
 *
 * window_pieces.c   what the training thread did, as pieces (events in)
 * window_spans.c    what pieces mean: spans of layers (out)
 * pass_breakdown.c  when a window is over, and its sums
 * gpu_window.h      the GPU's part
 * comm_window.h     what its communication was; the way of a window's row into the report */
#ifndef TRSHIM_ANALYSIS_PASS_STEP_WINDOW_H
#define TRSHIM_ANALYSIS_PASS_STEP_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/model/layers.h"
#include "analysis/pass/comm_window.h"
#include "analysis/pass/gpu_window.h"
#include "analysis/pass/pieces.h"
#include "analysis/report/report.h"

struct checkpoint;
struct event;
struct job;
struct rank;
struct rank_facts;

#define EXITS_MAX 64

/* What the thread that launches besides the training thread did last: launch, begin to wait, or return from that. */
struct launching {
    uint64_t thread;
    bool waits;    /* they are told of */
    bool launched; /* the last was a launch */
};

/* One rank. The current window begins at `start` and is summed up to `cursor`. */
struct window_state {
    struct rank *rank;
    uint64_t exits_ns[EXITS_MAX]; /* when its latest workers ended; a ring */
    size_t nr_exits;
    struct pieces pieces;
    struct gpu_window gpu;
    uint64_t start_ns, cursor_ns;
    uint64_t sum_ns[BC_MAX];    /* of [start, cursor) */
    uint64_t index;             /* of the current window */
    size_t next_checkpoint;     /* first that may overlap what is ahead */
    uint64_t content_ns;        /* latest end of anything the thread told of */
    bool ranges;                /* it has DataLoader ranges */
    uint32_t launcher;          /* thread that launches kernels besides the training thread; 0 none so far */
    struct launching launching; /* up to cursor */
    struct rank_facts *facts;
};

struct pass_breakdown {
    struct job *job;
    struct report *report;
    struct comm_windows comm;
    struct window_state *windows; /* owned; one per rank of job->ranks */
    bool *is_dataset;             /* owned; by group: read by loaders or inside a DataLoader range */
    struct span *spans;           /* owned; scratch */
    size_t capacity_spans;
};

/* Takes an event of the rank's training thread. 0 or -ENOMEM. */
int window_add_piece(const struct job *job, struct window_state *state, const struct event *event);

/* Takes an event about the GPU of the rank's process; `trainer`: of the training thread. 0 or -ENOMEM. */
int window_add_gpu(const struct job *job, struct window_state *state, const struct event *event, bool trainer);

/* Takes an event of the thread that launches besides the training thread. 0 or -ENOMEM. */
int window_add_return(struct window_state *state, const struct event *event);

/* Room for `nr` spans in self->spans. 0 or -ENOMEM. */
int window_reserve_spans(struct pass_breakdown *self, size_t nr);

/* What the host did in [cursor, to) as *ret_nr spans in self->spans, in order of their pieces. 0 or -ENOMEM. */
int window_spans(struct pass_breakdown *self, struct window_state *state, uint64_t to_ns, size_t *ret_nr);

/* The checkpoint that a wait of the training thread was for: another thread or process writes it. NULL none. */
struct checkpoint *window_awaited(const struct window_state *state, const struct piece *piece);

/* The checkpoint that the training thread was writing at the begin of the piece. NULL none. */
struct checkpoint *window_own_checkpoint(const struct window_state *state, const struct piece *piece);

#endif
