/* kineto_index.h - a Kineto trace file as events in order of time: what opening it leaves for scans.
 *
 * Rows lie in the file in no order, and what belongs together is apart: a kernel and the call that launched it share a
 * correlation id. The file is read once, rows that matter become records of 80 bytes, and these are sorted twice
 * outside of memory (external_sort.h): by correlation id and by thread, to join kernels with their launches and to
 * know which ranges are inside others; then by time. Memory: the sorter's, and distinct names, threads, devices. */
#ifndef TRSHIM_ANALYSIS_KINETO_INDEX_H
#define TRSHIM_ANALYSIS_KINETO_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/input/external_sort.h"
#include "analysis/input/kineto_colls.h"
#include "analysis/input/kineto_names.h"
#include "analysis/input/kineto_row.h"

#define KINETO_PROCESSES_MAX 64
#define KINETO_THREADS_MAX 4096

enum kineto_event_kind { KE_kernel, KE_copy, KE_set, KE_call, KE_range, KE_anchor, KE_block, KE_coll };

/* Times are as in the file: base_ns is to be added. */
struct kineto_event {
    int64_t start_ns, dur_ns;
    union {
        struct {
            int64_t queued_ns; /* KINETO_UNKNOWN */
            uint64_t size_bytes;
            uint32_t blocks, graph;
        } gpu; /* KE_kernel, KE_copy, KE_set */
        struct {
            uint64_t nr;             /* of a step */
            struct kineto_call call; /* KE_coll; and of a range that may become one */
            uint32_t depth;
        } range; /* KE_range, KE_anchor, KE_coll */
        struct {
            uint64_t address, size_bytes, allocated_bytes, reserved_bytes;
        } block;
    };
    uint32_t order; /* of its row in the file: makes no two equal */
    uint32_t pid, tid, device, stream, name, correlation;
    uint8_t kind;     /* enum kineto_event_kind */
    uint8_t act;      /* enum tr_cuda_act, tr_copy_kind, tr_anchor_kind or tr_segment_act, by kind */
    uint8_t src, dst; /* KE_copy: enum tr_memory_kind */
};

_Static_assert(sizeof(struct kineto_event) == 80, "what the comment above promises");

static inline int64_t kineto_end_ns(const struct kineto_event *event)
{
    return event->start_ns + event->dur_ns;
}

struct kineto_process {
    uint32_t pid;
    bool seen; /* it has rows; else only a name */
    char comm[KINETO_WORD_SIZE];
};

struct kineto_thread {
    uint32_t pid, tid;
    bool seen;
    char comm[KINETO_WORD_SIZE];
};

struct kineto_index {
    uint32_t unknown_pid;
    struct kineto_about about;
    struct sorted events; /* struct kineto_event, by end */
    struct kineto_names names;
    struct kineto_colls colls;
    struct kineto_process *processes; /* owned; one at least is seen if there are events */
    size_t nr_processes;
    struct kineto_thread *threads; /* owned */
    size_t nr_threads;
    uint64_t devices;          /* mask of those that have events */
    int64_t first_ns, last_ns; /* the earliest start and the latest end */
    uint64_t nr_rows, nr_bad;  /* rows in all; rows left out because their times make no sense */
    char *problem;             /* owned; NULL if all was readable */
};

/* Reads the file. `unknown_pid` stands for a process that the file gives no number. 0, also when only a part of it was
 * readable (see problem); -EINVAL if it is no trace, with *ret_problem (owned by the caller) set if it is damaged; or
 * -errno. Fills *ret on success only. */
int kineto_index_read(const char *path, uint32_t unknown_pid, struct kineto_index **ret, char **ret_problem);
void kineto_index_free(struct kineto_index *index); /* accepts NULL */

/* The process that GPU rows belong to when nothing says which launched them. */
uint32_t kineto_main_pid(const struct kineto_index *index);

#endif
