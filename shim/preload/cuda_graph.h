/* cuda_graph.h - whether what is asked of a stream is captured into a graph, and so does not run now. */
#ifndef TRSHIM_PRELOAD_CUDA_GRAPH_H
#define TRSHIM_PRELOAD_CUDA_GRAPH_H

#include <stdatomic.h>
#include <stdbool.h>

/* Captures under way in this process, as far as their begin was seen. */
extern atomic_int captures_open;

/* Asks the runtime; the default stream is never captured, and asking for it would be an error. For the functions below,
 * which do so only while a capture is open. */
bool stream_is_captured(void *stream, const void *caller);
bool cublas_is_captured(void *handle, const void *caller);

static inline bool stream_captures(void *stream, const void *caller)
{
    return atomic_load_explicit(&captures_open, memory_order_relaxed) > 0 && stream_is_captured(stream, caller);
}

static inline bool cublas_captures(void *handle, const void *caller)
{
    return atomic_load_explicit(&captures_open, memory_order_relaxed) > 0 && cublas_is_captured(handle, caller);
}

/* A stream's capture begins (1) or ends (-1). */
static inline void captures_count(int change)
{
    int open = atomic_fetch_add(&captures_open, change) + change;
    if (open < 0) /* the begin was not seen: nobody listened then */
        atomic_compare_exchange_strong(&captures_open, &open, 0);
}

#endif
