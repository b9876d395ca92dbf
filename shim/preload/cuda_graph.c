/* cuda_graph.c - see cuda_graph.h. On the job's threads, after its own call; a capturing stream may be asked. */
#include "shim/preload/cuda_graph.h"

#include <stddef.h>
#include <stdint.h>

#include "shim/preload/library.h"

atomic_int captures_open;

bool stream_is_captured(void *stream, const void *caller)
{
    static struct library_hook hook = {.library = "libcudart.so", .name = "cudaStreamIsCapturing"};
    enum { LEGACY_STREAM = 1 };
    if ((uintptr_t)stream <= LEGACY_STREAM)
        return false;
    int (*ask)(void *, int *) = (int (*)(void *, int *))library_real(&hook, caller);
    int status = 0; /* cudaStreamCaptureStatusNone */
    return ask && ask(stream, &status) == 0 && status != 0;
}

bool cublas_is_captured(void *handle, const void *caller)
{
    static struct library_hook hook = {.library = "libcublas.so", .name = "cublasGetStream_v2"};
    int (*get)(void *, void **) = (int (*)(void *, void **))library_real(&hook, caller);
    void *stream = NULL;
    return get && get(handle, &stream) == 0 && stream_is_captured(stream, caller);
}
