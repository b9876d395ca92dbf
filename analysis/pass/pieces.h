/* pieces.h - what one training thread did, piece by piece, until its window is summed up.
 *
 * What a piece means can depend on what is learned later (which process writes a pipe, which directories hold the data
 * set), so it is kept as it came and made a span of a layer only when the window is over. */
#ifndef TRSHIM_ANALYSIS_PIECES_H
#define TRSHIM_ANALYSIS_PIECES_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/event.h"

struct group;

enum piece_kind {
    PIECE_DATA_RANGE, /* a DataLoader range */
    PIECE_READ,       /* reads or look-ups of files, or receives from a peer */
    PIECE_WRITE,      /* writes to files */
    PIECE_FEED,       /* reads from a pipe */
    PIECE_WAIT,
    PIECE_FILE_OP, /* what changes files: rename, fsync, unlink */
    PIECE_CUDA,    /* inside CUDA calls that block: synchronisations, allocations */
    PIECE_COPY,    /* inside CUDA calls that ask for copies: they block or not */
    PIECE_LAUNCH,  /* another thread of the process launches kernels */
    PIECE_HELPER,  /* that thread is inside CUDA calls that block */
    PIECE_REST,    /* the instant at which it began to wait */
    PIECE_BACK,    /* the instant after that thread ended a wait, or a call that may block */
};

struct piece {
    uint64_t start_ns, end_ns;
    uint64_t busy_ns;          /* READ, WRITE, CUDA: inside the calls */
    uint64_t obj;              /* WAIT, FEED: inode of the pipe; CUDA: synchronisations; LAUNCH, REST, BACK: thread */
    const struct group *group; /* READ: where; NULL unknown */
    uint32_t waker;            /* WAIT */
    uint8_t wait_kind;         /* WAIT: enum tr_wait_kind */
    uint8_t kind;              /* enum piece_kind */
};

/* Time known by its sum only: total_ns somewhere within [start, end). */
struct spread {
    uint64_t start_ns, end_ns, total_ns;
};

/* Invariant: list[head..nr) in order of start. Zeroed is empty. */
struct pieces {
    struct piece *list; /* owned */
    size_t head, nr, capacity;
    struct spread *spreads; /* owned */
    size_t nr_spreads, capacity_spreads;
};

void pieces_done(struct pieces *pieces);
int pieces_add(struct pieces *pieces, const struct piece *piece);                          /* 0 or -ENOMEM */
int pieces_spread(struct pieces *pieces, uint64_t start_ns, uint64_t end_ns, uint64_t ns); /* 0 or -ENOMEM */

/* Number of pieces that begin before `to_ns`; they are list[head] and the following. */
size_t pieces_before(const struct pieces *pieces, uint64_t to_ns);

/* The part of all spreads that falls into [from, to). */
uint64_t pieces_spread_within(const struct pieces *pieces, uint64_t from_ns, uint64_t to_ns);

/* Forgets what ends at or before `to_ns`. */
void pieces_forget(struct pieces *pieces, uint64_t to_ns);

#endif
