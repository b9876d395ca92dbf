/* feeds.h - pipes that carry batches: who writes them and who reads them, by the pipe's inode.
 *
 * This is what ties workers to trainers however they were started (fork, spawn, forkserver): a worker writes the pipe
 * that its trainer, or the trainer's pin-memory thread, reads; and reads the pipe on which the trainer tells it what
 * to load. Learned from pipe_io events as they pass. */
#ifndef TRSHIM_ANALYSIS_FEEDS_H
#define TRSHIM_ANALYSIS_FEEDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/event.h"
#include "analysis/model/map.h"

struct process;
struct thread;

struct feed_end {
    struct process *process;
    struct thread *thread;               /* the last one that did */
    uint64_t calls, bytes;               /* of all scans: what kind of pipe it is */
    uint64_t survey_calls, survey_bytes; /* of these, what the survey counted: the full scan sees the same again */
    uint64_t last_ns;                    /* end of the latest burst */
};

struct feed {
    struct feed *next;
    uint32_t host;
    uint64_t inode;
    struct feed_end *writers, *readers; /* owned; few */
    size_t nr_writers, nr_readers;
};

struct feeds {
    struct map by_inode;
    struct map by_writer; /* the latest data feed of a process that brings batches */
    struct feed *all;     /* owned */
};

void feeds_done(struct feeds *feeds);

/* Learns a burst on a pipe by a thread. 0 or -ENOMEM. */
int feeds_learn(struct feeds *feeds, uint32_t host, struct process *process, struct thread *thread,
                const struct tr_pipe_io *io);

/* The survey is over; the stream is read once more from its begin. */
void feeds_end_survey(struct feeds *feeds);

/* The pipe with this inode, NULL if nothing was ever moved through it. */
const struct feed *feeds_find(const struct feeds *feeds, uint32_t host, uint64_t inode);

/* The data feed that a process writes, NULL if it brings batches to nobody. */
const struct feed *feeds_of(const struct feeds *feeds, const struct process *writer);

/* Whether batches for `trainer` come through it: the trainer reads what another process, not one it descends from,
 * writes, and the messages are no mere signals. */
bool feed_is_data(const struct feed *feed, const struct process *trainer);

/* A thread of `process` that reads a data feed, NULL if there is none: `thread` itself if it does. */
const struct feed_end *feed_reader(const struct feed *feed, const struct process *process);

/* Whether `worker` reads from it what `trainer` writes. */
bool feed_is_index(const struct feed *feed, const struct process *trainer, const struct process *worker);

#endif
