/* cudart.h - what the files of the simulated CUDA runtime share. The runtime finds the driver as the real one does, by
 * dlopen of libcuda.so.1 in the first call, and every call that fails leaves its error for cudaGetLastError(). */
#ifndef SIM_CUDART_H
#define SIM_CUDART_H

#include "tests/sim/abi/cuda_abi.h"
#include "tests/sim/abi/row.h"

#define RUNTIME(name, cbid, arguments, params, ...)                                                                    \
    SIM_ROW(cudaError_t, SIM_RUNTIME_API, cudart_ready, cudart_finish, name, cbid, arguments, params, __VA_ARGS__)

extern const int cudart_version; /* 12080, 13000: in v12.c and v13.c */

int cudart_ready(void);                /* 0, or why there is no device */
int cudart_finish(int result);         /* remembers an error, returns it */
void *cudart_driver(const char *name); /* a function of libcuda.so.1, NULL: not there */
int cudart_fill_properties(struct sim_properties_13 *p, int device);

#endif
