/* driver.h - what the files of the simulated libcuda share. */
#ifndef SIM_DRIVER_H
#define SIM_DRIVER_H

#include "tests/sim/abi/cuda_abi.h"
#include "tests/sim/abi/row.h"

#define DRIVER(name, cbid, arguments, params, ...)                                                                     \
    SIM_ROW(CUresult, SIM_DRIVER_API, driver_ready, driver_finish, name, cbid, arguments, params, __VA_ARGS__)

int driver_ready(void); /* SIM_NOT_INITIALIZED before cuInit */
int driver_finish(int result);

#endif
