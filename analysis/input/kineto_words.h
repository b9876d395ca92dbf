/* kineto_words.h - what rows of a Kineto trace mean, by the words in them: the only place that knows these words.
 *
 * Kineto renamed its categories in 2021 ("Kernel" became "kernel", "Runtime" "cuda_runtime"); PyTorch's own writer
 * before Kineto had none. Pure functions. */
#ifndef TRSHIM_ANALYSIS_KINETO_WORDS_H
#define TRSHIM_ANALYSIS_KINETO_WORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/input/kineto_row.h"
#include "traces/events.h"

enum kineto_what {
    KINETO_nothing, /* a row that is not read: flows, counters, python functions, GPU annotations, overhead */
    KINETO_meta,
    KINETO_range, /* an operator or annotation on a CPU: see kineto_range_kind */
    KINETO_call,  /* of the CUDA runtime or driver, or HIP's */
    KINETO_kernel,
    KINETO_copy,
    KINETO_set,
    KINETO_block, /* the allocator handed out memory of a GPU, or took it back */
};

/* What PyTorch's own writer has in place of a pid. A PyTorch built without Kineto, as Debian's, still uses it. */
#define KINETO_CPU "CPU functions"
#define KINETO_GPU "CUDA functions"

enum kineto_what kineto_what(const struct kineto_row *row);

#define KINETO_STEP "ProfilerStep#" /* and its number */

/* Ranges that are kept; single operators are not, they are many and tell little. */
enum kineto_range {
    KINETO_RANGE_none,
    KINETO_RANGE_plain,
    KINETO_RANGE_step, /* ProfilerStep#N; *ret_nr is N */
    KINETO_RANGE_optimizer,
    KINETO_RANGE_dataloader,
};

enum kineto_range kineto_range_kind(const struct kineto_row *row, uint64_t *ret_nr);

enum tr_cuda_act kineto_cuda_act(const char *function);

/* "Memcpy HtoD (Pageable -> Device)" */
void kineto_copy_kind(const char *name, uint8_t *ret_kind, uint8_t *ret_src, uint8_t *ret_dst);

/* The number of a process or thread; false if it is none. Threads may be negative: the low half of a pthread_t. */
bool kineto_id(const char *text, uint32_t *ret);

#endif
