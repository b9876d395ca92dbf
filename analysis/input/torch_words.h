/* torch_words.h - PyTorch's words for collectives and types, in events' terms: the one place that reads fr_words.def.
 * Pure; any thread. */
#ifndef TRSHIM_ANALYSIS_TORCH_WORDS_H
#define TRSHIM_ANALYSIS_TORCH_WORDS_H

#include <stdint.h>

#include "traces/events.h"

/* "nccl:all_reduce", "allreduce" */
enum tr_coll_op torch_coll_op(const char *name);

/* "Float", or as C++ calls it, "float"; 255 unknown. */
uint8_t torch_nccl_type(const char *word);

#endif
