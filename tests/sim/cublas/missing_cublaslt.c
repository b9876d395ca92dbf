/* missing_cublaslt.c - functions that are there to be linked to and say that they are not simulated. */
#include "tests/sim/engine/engine.h"

#define MISSING(name)                                                                                                  \
    SIM_EXPORT int name(void);                                                                                         \
    int name(void)                                                                                                     \
    {                                                                                                                  \
        sim_say_missing(#name);                                                                                        \
        return 15 /* CUBLAS_STATUS_NOT_SUPPORTED */;                                                                   \
    }
#include "tests/sim/cublas/missing_cublaslt.def"
