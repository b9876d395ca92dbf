/* v2.c - version 2 of the profiler interface. First in NCCL 2.24 and 2.25: enumerations as texts. See adapter.h. */
#define ADAPTER_VERSION 2
#include "plugin/adapter.h"
