/* v11_8.c - the version that libcupti.so.11.8 claims to be unless told otherwise. */
#include "tests/sim/cupti/cupti.h"

const uint32_t cupti_default_version = 18; /* 11.8 */
