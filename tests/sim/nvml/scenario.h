/* scenario.h - values of the node's devices from a file: lines "DEVICE NAME VALUE", DEVICE a number or `*`, # comments.
 * The file is SIM_NVML, else nvml in SIM_DIR; it is read again when it has changed, so that a job can throttle half
 * way. What it does not say has the value of an idle-free, healthy board (values.def). */
#ifndef SIM_SCENARIO_H
#define SIM_SCENARIO_H

#include <stdint.h>

enum nvml_value {
#define VALUE(name, standard) V_##name,
#include "tests/sim/nvml/values.def"
#undef VALUE
    V_MAX
};

uint64_t scenario_value(int device, enum nvml_value value);

#endif
