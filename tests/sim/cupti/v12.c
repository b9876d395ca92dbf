/* v12.c - the version that libcupti.so.12 claims to be unless told otherwise. */
#include "tests/sim/cupti/cupti.h"

const uint32_t cupti_default_version = 26; /* 12.8 */
