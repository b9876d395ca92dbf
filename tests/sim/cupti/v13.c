/* v13.c - the version that libcupti.so.13 claims to be unless told otherwise. */
#include "tests/sim/cupti/cupti.h"

const uint32_t cupti_default_version = 130000; /* 13.0 */
