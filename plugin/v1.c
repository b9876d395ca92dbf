/* v1.c - version 1 of the profiler interface. First in NCCL 2.23: enumerations as numbers. See adapter.h. */
#define ADAPTER_VERSION 1
#include "plugin/adapter.h"
